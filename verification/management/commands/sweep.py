"""``sweep``"""

from __future__ import annotations

import contextlib
import sys
from typing import Any

from django.core.management.base import CommandParser

from verification.core.errors import UserError
from verification.management.base import WatchwordCommand, aligned
from verification.services.analytics import rollups
from verification.services.delivery.sweep import sweep_once

DEFAULT_LIMIT = 500


class Command(WatchwordCommand):
    help = (
        "Run once what every worker does all the time: expire sessions, wipe codes, handle bots' updates, deliver, "
        "count the figures."
    )
    epilog = "Use it if no worker runs, for instance from a timer."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--limit",
            type=int,
            default=DEFAULT_LIMIT,
            metavar="N",
            help=f"Maximum messages to deliver. Default: {DEFAULT_LIMIT}.",
        )

    def handle(self, *, limit: int, json: bool, **_: Any) -> None:
        if limit < 1:
            raise UserError("--limit is a whole number from 1.")
        with contextlib.redirect_stdout(sys.stderr):  # where a console provider prints
            counts = sweep_once(limit=limit)
        rollups.count_due()
        self.show(dict(counts), aligned((name.capitalize(), count) for name, count in counts.items()), as_json=json)
