"""``purge [--days N]``"""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser

from verification.management.base import WatchwordCommand, aligned, whole
from verification.services.maintenance import retention

MAX_DAYS = 36_500  # a hundred years


class Command(WatchwordCommand):
    help = "Delete, or hash, what projects no longer keep. The workers do this four times a day."
    epilog = "example:\n  manage.py purge --days 90"

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--days",
            type=whole(least=retention.MIN_DAYS, most=MAX_DAYS),
            metavar="N",
            help=f"Keep what is younger, at least {retention.MIN_DAYS}. Default: each project's retention_days.",
        )

    def handle(self, *, days: int | None, json: bool, **_: Any) -> None:
        counts = retention.purge(days=days)
        shown = aligned((name.replace("_", " ").capitalize(), count) for name, count in counts.items())
        self.show(
            dict(counts),
            f"Of what is older than {f'{days} days' if days else 'its project keeps it'}:\n\n{shown}",
            as_json=json,
        )
