"""The web server as a process of its own: granian with our settings, which ends with whoever started it.

Where its processes are forked they share what is loaded before, which saves them a second and most of their memory.
"""

import argparse
import importlib
import json
import multiprocessing
import os
import resource
import signal
from pathlib import Path

from django.conf import settings
from granian import Granian
from granian.constants import HTTPModes, Interfaces, Loops
from granian.http import HTTP1Settings
from granian.log import LogLevels

from config.processes import lifeline

APPLICATION = "config.processes.rsgi"
JSON_LOG = Path(__file__).parents[2] / "config" / "granian.json"  # the server's own lines in the form of ours
BACKLOG = 1024  # connections that wait to be accepted
CONNECTIONS = 8192  # that a process holds at once. One that is idle or slow costs little more than its socket.
HEADER_MILLISECONDS = 10_000  # for a client's headers, and for its pause between two requests
KILL_SECONDS = 8  # from SIGTERM to SIGKILL: less than the supervisor waits


def serve(*, host: str, port: int, workers: int) -> None:
    if multiprocessing.get_start_method() == "fork":
        importlib.import_module(APPLICATION)  # opens no connection
    _allow_sockets()
    # A fork inherits the server's handlers, which would swallow a SIGTERM that comes while it still loads.
    os.register_at_fork(after_in_child=_default_signals)
    Granian(
        f"{APPLICATION}:application",
        address=host,
        port=port,
        interface=Interfaces.RSGI,
        workers=workers,
        loop=Loops.uvloop,
        http=HTTPModes.http1,
        http1_settings=HTTP1Settings(header_read_timeout=HEADER_MILLISECONDS),
        websockets=False,
        backlog=BACKLOG,
        backpressure=CONNECTIONS,
        log_level=LogLevels.warning,
        log_dictconfig=json.loads(JSON_LOG.read_text()) if settings.LOG_FORMAT == "json" else None,
        respawn_failed_workers=True,
        workers_kill_timeout=KILL_SECONDS,
    ).serve()


def _allow_sockets() -> None:
    """Raise the soft limit of open files, usually 1,024: we hold more connections than that."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def _default_signals() -> None:
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, signal.SIG_DFL)


if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    parser = argparse.ArgumentParser()
    parser.add_argument("--host", required=True)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--workers", type=int, required=True)
    lifeline.hold()
    serve(**vars(parser.parse_args()))
