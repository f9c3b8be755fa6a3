"""The web server as a process of its own: granian with our settings, which ends with whoever started it.

Where its processes are forked they share what is loaded before, which saves them a second and most of their memory.
"""

import argparse
import importlib
import multiprocessing
import os
import signal

from granian import Granian
from granian.constants import HTTPModes, Interfaces, Loops
from granian.log import LogLevels

from verification.management import lifeline

APPLICATION = "config.wsgi"
BLOCKING_THREADS = 4  # each has a database connection of its own
BACKLOG = 1024
KILL_SECONDS = 8  # less than the supervisor's patience


def serve(*, host: str, port: int, workers: int) -> None:
    if multiprocessing.get_start_method() == "fork":
        importlib.import_module(APPLICATION)  # opens no connection
    # A fork inherits the server's handlers, which would swallow a SIGTERM that comes while it still loads.
    os.register_at_fork(after_in_child=_default_signals)
    Granian(
        f"{APPLICATION}:application",
        address=host,
        port=port,
        interface=Interfaces.WSGI,
        workers=workers,
        blocking_threads=BLOCKING_THREADS,
        loop=Loops.asyncio,
        http=HTTPModes.http1,
        websockets=False,
        backlog=BACKLOG,
        log_level=LogLevels.warning,
        respawn_failed_workers=True,
        workers_kill_timeout=KILL_SECONDS,
    ).serve()


def _default_signals() -> None:
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, signal.SIG_DFL)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--host", required=True)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--workers", type=int, required=True)
    lifeline.hold()
    serve(**vars(parser.parse_args()))
