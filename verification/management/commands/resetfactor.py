"""``resetfactor USER``"""

from __future__ import annotations

from typing import Any

from django.contrib.auth.models import User
from django.core.management.base import CommandParser

from verification.core.errors import UserError
from verification.management.base import WatchwordCommand
from verification.services.users import second_factor


class Command(WatchwordCommand):
    help = "Remove the second factors of a user who has lost them. They set up another at their next login."
    epilog = (
        "Watchword ends their panel sessions and records this in the audit log. First make sure that the request is "
        "really theirs.\n\n"
        "example:\n"
        "  manage.py resetfactor ann"
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("user", metavar="USER", help="The user's name in the panel.")

    def handle(self, *, user: str, json: bool, **_: Any) -> None:
        found = User.objects.filter(username=user).first()
        if found is None:
            raise UserError(f"There is no user {user!r}.")
        if not second_factor.reset(found):
            raise UserError(f"{user} has no second factor.")
        self.show({"user": user}, f"Removed the second factor of {user}.", as_json=json)
