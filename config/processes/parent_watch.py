"""Children that end with their parent, however it ends.

The parent keeps one end of a pipe and never writes. The kernel closes it when the parent is gone, be it by ``kill -9``;
the children read the other end and know. A pipe, because it works alike on Linux and macOS.
"""

import os
import signal
import threading
import time

VARIABLE = "WATCHWORD_PARENT_PIPE"  # the number of the descriptor that a child reads
GRACE_SECONDS = 10.0


def is_watched() -> bool:
    """Return whether a parent started this process that it is to end with."""
    return VARIABLE in os.environ


def start() -> None:
    """Stop this process when its parent is gone. Without a parent that watches over it, do nothing."""
    descriptor = os.environ.pop(VARIABLE, None)
    if descriptor is not None:
        threading.Thread(target=_wait, args=(int(descriptor),), name="parent watch", daemon=True).start()


def _wait(descriptor: int) -> None:
    os.read(descriptor, 1)
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(GRACE_SECONDS)
    os.killpg(0, signal.SIGKILL)  # we lead a group of our own, see supervisor.py
