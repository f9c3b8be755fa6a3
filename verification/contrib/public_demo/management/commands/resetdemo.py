"""``resetdemo [--every SECONDS]``"""

from __future__ import annotations

import time
from typing import Any

from django.core.management.base import CommandParser
from django.db import OperationalError, connections

from verification.contrib.public_demo import world
from verification.management.base import WatchwordCommand, whole
from verification.services.maintenance.demo import path


class Command(WatchwordCommand):
    help = "Make what the public demo holds, if it is missing, and remove what visitors have left there."
    prints_data = False

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--every",
            type=whole(least=1, most=86_400),
            metavar="SECONDS",
            help="Go on doing so after each of these times.",
        )

    def handle(self, *, every: int | None, **_: Any) -> None:
        demo = world.ensure(path(), self.say)
        while True:
            try:
                self.say(f"Removed {world.reset(demo.project):,} rows of visitors.")
            except OperationalError:  # a deadlock, or the database is away
                if every is None:
                    raise
                self.say("Visitors' rows could not be removed now; the next time they are.")
            if every is None:
                return
            connections.close_all()
            time.sleep(every)

    def say(self, text: str) -> None:
        self.stdout.write(text)
        self.stdout.flush()
