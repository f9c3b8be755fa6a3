"""``revokekey ID``"""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser

from verification.core.errors import UserError
from verification.management.base import WatchwordCommand
from verification.services.projects.keys import revoke_key


class Command(WatchwordCommand):
    help = "Revoke a key. Every process rejects it within a second; you cannot undo this."
    epilog = "The panel lists the ids, and issuekey prints one.\n\nexample:\n  manage.py revokekey 12"

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("key", metavar="ID", type=int, help="The key's id.")

    def handle(self, *, key: int, json: bool, **_: Any) -> None:
        if not revoke_key(key):
            raise UserError(f"There is no key {key}, or it was revoked already.")
        self.show({"key": key}, f"Revoked key {key}.", as_json=json)
