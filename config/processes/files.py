"""File locks that the kernel keeps, and files for their owner alone."""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path

OWNER_ONLY = 0o600


def open_private(path: str | Path, flags: int) -> int:
    """Open a file; where that makes it, it is for its owner alone."""
    return os.open(path, flags, OWNER_ONLY)


def open_lock(path: Path) -> int:
    """Return the descriptor of a lock file, made if it is missing."""
    return open_private(path, os.O_RDWR | os.O_CREAT)


@contextlib.contextmanager
def lock_file(path: Path) -> Iterator[int]:
    """Open a lock file. Closing it does not unlock: a lock that was handed to a server stays with the server."""
    descriptor = open_lock(path)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def try_lock(descriptor: int, kind: int = fcntl.LOCK_EX) -> bool:
    """Return whether the lock was had at once. ``kind`` is ``fcntl.LOCK_EX`` or ``fcntl.LOCK_SH``."""
    try:
        fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
