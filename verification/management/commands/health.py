"""``health [--worker]``"""

from __future__ import annotations

import socket
from typing import Any

from django.core.management.base import CommandParser
from django.db import connection

from verification.core.errors import UserError
from verification.management.base import WatchwordCommand
from verification.services.maintenance import health
from verification.services.records import workers


class Command(WatchwordCommand):
    help = "Check whether the database answers and is up to date: exit code 0, or 1 with the reason. For health checks."
    epilog = (
        "For a web process use HTTP instead: /livez says that it runs, /readyz that it can serve.\n\n"
        "example, in a worker's container:\n"
        "  manage.py health --worker"
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--worker", action="store_true", help="Also check that a worker of this machine, or container, is running."
        )

    def handle(self, *, worker: bool, json: bool, **_: Any) -> None:
        connection.ensure_connection()  # its error says in one line why the database is away
        if reason := health.failing():
            raise UserError(reason)
        here = workers.running().filter(host=socket.gethostname()).count()
        if worker and not here:
            raise UserError("No worker runs on this machine, or it has not reported for a minute.")
        self.show({"ok": True, "workers": here}, f"The database is up to date. Workers here: {here}.", as_json=json)
