"""``web [--host H] [--port N] [--workers N] [--preload]``"""

from __future__ import annotations

import os
from typing import Any

from django.conf import settings
from django.core.management.base import CommandParser

from config.processes.web import require_free, server_command
from verification.core.errors import UserError
from verification.management.base import WatchwordCommand, whole

MAX_PORT = 65_535
MAX_WORKERS = 256  # processes; more than any machine has use for


class Command(WatchwordCommand):
    help = (
        "Serve API, panel and pages until SIGTERM or Ctrl-C, in production; SIGHUP starts processes with the code that "
        "is there now. For a laptop use `up`, which runs its own web server."
    )
    epilog = "example:\n  manage.py web --port 8000 --workers 4"
    prints_data = False

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--host",
            default="127.0.0.1",
            help="Default: 127.0.0.1, only this machine. `::` is every address, of IPv4 as well.",
        )
        parser.add_argument(
            "--port", type=whole(least=1, most=MAX_PORT), default=8000, metavar="N", help="Default: 8000."
        )
        parser.add_argument(
            "--workers",
            type=whole(least=1, most=MAX_WORKERS),
            default=os.cpu_count() or 1,
            metavar="N",
            help="Web processes. Default: one per core.",
        )
        parser.add_argument(
            "--preload",
            action="store_true",
            help="Load the service once for all processes: this halves the memory, but SIGHUP then loads no new code.",
        )

    def handle(self, *, host: str, port: int, workers: int, preload: bool, **_: Any) -> None:
        if settings.IS_EMBEDDED:
            raise UserError(
                "The embedded servers end with the command that started them: use `up`, which serves as well."
            )
        require_free(host, port)
        folders = [str(settings.BASE_DIR), os.environ.get("PYTHONPATH", "")]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, folders))}
        threads = settings.WEB_THREADS
        command = server_command(host=host, port=port, workers=workers, threads=threads, preload=preload)
        # In this process's place: gunicorn's parent has loaded nothing of the service.
        os.execve(command[0], command, environment)  # noqa: S606  (no shell)
