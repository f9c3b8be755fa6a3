"""``checkintegrity``"""

from __future__ import annotations

from typing import Any

from verification.core.errors import UserError
from verification.management.base import WatchwordCommand, aligned
from verification.services.maintenance.integrity import rows, violations


class Command(WatchwordCommand):
    help = "Check the rows of verifications for any that break a rule. It reads all of them."
    epilog = (
        "These rows have no foreign keys and no check constraints, which would cost a sixth of the database's time.\n"
        "The functions that write them enforce the rules. If a row breaks one, somebody wrote it by hand, or there is\n"
        "a bug: please report it."
    )

    def handle(self, *, json: bool, **_: Any) -> None:
        found, read = violations(), rows()
        if found:
            verdict = aligned((name, f"{count} rows") for name, count in found.items())
        elif any(read.values()):
            verdict = "All rows are consistent."
        else:
            verdict = "There are no rows, so nothing was checked. If you restored a backup, look whether it is here."
        counts = aligned((name, f"{count:,}") for name, count in read.items())
        self.show({"violations": found, "rows": read}, f"Rows read:\n{counts}\n\n{verdict}", as_json=json)
        if found:
            raise UserError("Some rows break a rule.")
