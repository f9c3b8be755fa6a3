"""File locks that the kernel keeps, and files that are written whole or not at all."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

OWNER_ONLY = 0o600


def open_lock(path: Path) -> int:
    """Return the descriptor of a lock file, made if it is missing."""
    return os.open(path, os.O_RDWR | os.O_CREAT, OWNER_ONLY)


def try_lock(descriptor: int, kind: int = fcntl.LOCK_EX) -> bool:
    """Return whether the lock was had at once. ``kind`` is ``fcntl.LOCK_EX`` or ``fcntl.LOCK_SH``."""
    try:
        fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
