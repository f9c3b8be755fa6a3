"""``addtestlogin PROJECT TO CODE``"""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.core.management.base import CommandParser
from django.utils import timezone

from verification.management.base import MAX_SECONDS, WatchwordCommand, add_project, whole
from verification.services.projects.projects import find_project
from verification.services.projects.test_logins import CODE_FORM, add_test_login, clean_test_code


class Command(WatchwordCommand):
    help = (
        "Give a recipient a fixed code, for app reviewers and automated tests. Watchword never sends this "
        "recipient a message."
    )
    epilog = (
        "A test login for the same recipient replaces the old one. The phone number need not exist.\n\n"
        "example:\n"
        "  manage.py addtestlogin Shop +15550100001 123456 --expires-in 604800"
    )

    def add_arguments(self, parser: CommandParser) -> None:
        add_project(parser)
        parser.add_argument("to", metavar="TO", help="A phone number with its country code, or an e-mail address.")
        parser.add_argument("code", metavar="CODE", help=str(CODE_FORM))
        parser.add_argument(
            "--expires-in",
            type=whole(least=1, most=MAX_SECONDS),
            metavar="SECONDS",
            help="Default: never expires.",
        )

    def handle(self, *, project: str, to: str, code: str, expires_in: int | None, json: bool, **_: Any) -> None:
        expires_at = None if expires_in is None else timezone.now() + timedelta(seconds=expires_in)
        code = clean_test_code(code)
        login = add_test_login(project=find_project(project), to=to, code=code, expires_at=expires_at)
        self.show(
            {"test_login": login.pk, "to": login.to, "expires_at": expires_at and expires_at.isoformat()},
            f"The code of {login.to} is {code}.",
            as_json=json,
        )
