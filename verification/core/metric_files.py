"""The files that the metrics are counted in, with every block of theirs allocated before it is mapped.

prometheus_client makes sparse files. To write to a mapped page that has no block on a full disk ends the process by
SIGBUS, which nothing can catch. Here the want of space is an :class:`OSError` before anything is written.
"""

from __future__ import annotations

import os
from typing import Any

from prometheus_client import values
from prometheus_client.mmap_dict import MmapedDict

FIRST_BYTES = 1 << 16  # the size that prometheus_client gives a new file; it doubles a full one
ENTRY_BYTES = 4 + 8 + 16  # of an entry beside its key, at most: its length, its padding, value and time


class AllocatedDict(MmapedDict):
    """prometheus_client's file of values. Raises :class:`OSError` where the disk has no room for it."""

    def __init__(self, filename: str, read_mode: bool = False) -> None:
        if not read_mode:
            _allocate(filename)
        super().__init__(filename, read_mode)  # type: ignore[no-untyped-call]

    def _init_value(self, key: str) -> None:
        capacity = self._capacity
        while self._used + len(key.encode()) + ENTRY_BYTES > capacity:
            capacity *= 2
        if capacity > self._capacity:
            os.posix_fallocate(self._f.fileno(), 0, capacity)
        super()._init_value(key)  # type: ignore[no-untyped-call]


def use() -> None:
    """Have prometheus_client make its files so, from now on."""
    library: Any = values
    library.MmapedDict = AllocatedDict


def _allocate(filename: str) -> None:
    """Allocate a new file's blocks, or those that an older version left out."""
    descriptor = os.open(filename, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        size = os.fstat(descriptor).st_size
        try:
            os.posix_fallocate(descriptor, 0, max(size, FIRST_BYTES))
        except OSError:
            if not size:
                os.unlink(filename)  # an empty file could not be read at a scrape
            raise
    finally:
        os.close(descriptor)
