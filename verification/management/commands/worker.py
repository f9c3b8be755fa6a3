"""``worker [--threads N] [--connections] [--alive-file PATH]``"""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from config.processes import parent_watch
from verification.core.errors import UserError
from verification.management.base import WatchwordCommand, add_threads
from verification.services.maintenance import key_ring


class Command(WatchwordCommand):
    help = "Deliver messages until SIGTERM, SIGHUP or Ctrl-C; the worker first finishes what it is sending."
    epilog = (
        "Run as many as you like, on as many machines, and one of them with --connections if a provider needs a\n"
        "persistent connection (SMPP). `up` runs one such worker."
    )
    prints_data = False
    requires_system_checks = ["watchword"]  # the others load all pages, of which a worker shows none

    def add_arguments(self, parser: CommandParser) -> None:
        add_threads(parser)
        parser.add_argument(
            "--connections",
            action="store_true",
            help="Also open the connections of the providers that need one. Each such worker opens its own.",
        )
        parser.add_argument(
            "--alive-file",
            type=Path,
            metavar="PATH",
            help="Touch this file every five seconds while the worker is running, for a probe that checks its age.",
        )

    def handle(self, *, threads: int, connections: bool, alive_file: Path | None, **_: Any) -> None:
        if parent_watch.is_watched():  # `up` says itself that all is ready
            logging.getLogger("verification.worker.runner").setLevel(logging.WARNING)
        parent_watch.start()
        from verification.worker import runner  # connects to the broker, which --help does not need

        if reason := key_ring.refusal_at_start():
            raise UserError(reason)

        try:
            runner.run(threads=threads, holds_connections=connections, alive_file=alive_file)
        except OSError as error:
            if alive_file is None or error.filename != str(alive_file):
                raise
            raise UserError(f"--alive-file: cannot write {alive_file}: {error.strerror}.") from None
