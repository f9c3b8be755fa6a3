"""``purge [--days N]``"""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser

from verification.management.base import WatchwordCommand, aligned
from verification.services import retention


class Command(WatchwordCommand):
    help = "Delete old sessions, messages and recipients of whom nothing is left. Run it daily from a timer."
    epilog = "example:\n  manage.py purge --days 90"

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--days",
            type=int,
            default=retention.DEFAULT_DAYS,
            metavar="N",
            help=f"What is younger is kept. Default: {retention.DEFAULT_DAYS}, at least {retention.MIN_DAYS}.",
        )

    def handle(self, *, days: int, json: bool, **_: Any) -> None:
        counts = retention.purge(days=days)
        shown = aligned((name.replace("_", " ").capitalize(), count) for name, count in counts.items())
        self.show(dict(counts), f"Deleted, of what is older than {days} days:\n\n{shown}", as_json=json)
