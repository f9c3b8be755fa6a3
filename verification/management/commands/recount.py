"""``recount [--days N]``"""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser

from verification.management.base import WatchwordCommand, whole
from verification.services.analytics import rollups
from verification.services.analytics.ranges import DAYS_KEPT

MAX_DAYS = DAYS_KEPT.days
DEFAULT_DAYS = 30


class Command(WatchwordCommand):
    help = "Recount the figures of the last days from the rows. The workers do this for the last hours."
    epilog = (
        "Figures of hours whose rows a project has purged stay as they are. A recount leaves out people who were "
        "erased since.\n\n"
        "example:\n"
        "  manage.py recount --days 90"
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--days",
            type=whole(least=1, most=MAX_DAYS),
            default=DEFAULT_DAYS,
            metavar="N",
            help=f"Whole days (UTC) before today. Default: {DEFAULT_DAYS}.",
        )

    def handle(self, *, days: int, json: bool, **_: Any) -> None:
        hours = rollups.recount(days=days)
        self.show({"days": days, "hours": hours}, f"Recounted {hours:,} hours.", as_json=json)
