"""A memory for what a process reads from the database at most once a second."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Generic, TypeVar

CACHE_SECONDS = 0.8  # the age at which a value is read anew. Every change holds in every process within a second.
KEPT_SECONDS = 60.0  # how long a value that nobody asks for is held in memory
MAX_AGE_SECONDS = 1.0  # the age that a value may have while another thread renews it

K = TypeVar("K")
V = TypeVar("V")


class Remembered(Generic[K, V]):
    """Values by key. Of many threads that need one at once, a single thread asks the database.

    The first thread that finds a value too old renews it. The others go on with the old one until it is a second old.
    """

    def __init__(self) -> None:
        self._values: dict[K, tuple[float, float, V]] = {}  # when it was read, its age from which one thread renews it
        self._swept_at = time.monotonic()

    def get(self, key: K, load: Callable[[], V]) -> V:
        """Return the value of ``key``, by ``load`` if there is none that is fresh enough."""
        now = time.monotonic()
        found = self._values.get(key)
        if found is not None:
            read_at, good_seconds, value = found
            if now - read_at < good_seconds:
                return value
            self._values[key] = read_at, MAX_AGE_SECONDS, value
        value = load()
        self._sweep(now)
        self._values[key] = now, CACHE_SECONDS, value
        return value

    def clear(self) -> None:
        """Read every value anew at its next use."""
        self._values.clear()

    def _sweep(self, now: float) -> None:
        """Drop, once a minute, the values that were not read within the last minute."""
        if now - self._swept_at < KEPT_SECONDS:
            return
        self._swept_at = now
        for key, (read_at, _, _) in list(self._values.items()):
            if read_at < now - KEPT_SECONDS:
                self._values.pop(key, None)
