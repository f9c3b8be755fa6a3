"""``worker [--threads N] [--connections]``"""

from __future__ import annotations

import logging
from typing import Any

from django.core.management.base import CommandParser

from config.processes import lifeline
from verification.management.base import WatchwordCommand, add_threads


class Command(WatchwordCommand):
    help = "Deliver messages until SIGTERM or Ctrl-C; what is being sent then is finished first."
    epilog = (
        "Run as many as you like, on as many machines, and one of them with --connections where a provider sends over\n"
        "a connection that is kept (SMPP). `up` runs one such by itself."
    )
    prints_data = False
    requires_system_checks = ["watchword"]  # the others load all pages, of which a worker shows none

    def add_arguments(self, parser: CommandParser) -> None:
        add_threads(parser)
        parser.add_argument(
            "--connections",
            action="store_true",
            help="Also hold the connections of the providers that need one. Each such worker opens its own.",
        )

    def handle(self, *, threads: int, connections: bool, **_: Any) -> None:
        if lifeline.is_held():  # `up` says itself that all is ready
            logging.getLogger("verification.worker").setLevel(logging.WARNING)
        lifeline.hold()
        from verification import worker  # connects to the broker, which --help does not need

        worker.run(threads=threads, holds_connections=connections)
