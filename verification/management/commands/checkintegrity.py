"""``checkintegrity``"""

from __future__ import annotations

from typing import Any

from verification.core.errors import UserError
from verification.management.base import WatchwordCommand, aligned
from verification.services.maintenance.integrity import violations


class Command(WatchwordCommand):
    help = "Look over the rows that verifications write, for any that break a rule. It reads all of them."
    epilog = (
        "These rows have no foreign keys and no checks, as those cost a sixth of the database's time.\n"
        "The functions that write them hold the rules. A row that breaks one was written by hand, or shows a\n"
        "fault: please report it."
    )

    def handle(self, *, json: bool, **_: Any) -> None:
        found = violations()
        text = (
            aligned((name, f"{count} rows") for name, count in found.items()) if found else "Every row keeps the rules."
        )
        self.show({"violations": found}, text, as_json=json)
        if found:
            raise UserError("Some rows break a rule.")
