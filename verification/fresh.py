"""What a process reads from the database now and then and remembers in between, never for longer than a second."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Generic, TypeVar

CACHE_SECONDS = 0.8  # every change takes effect on every process within a second
KEPT_SECONDS = 60.0  # that a value nobody asks for is held, in memory alone
MAX_AGE_SECONDS = 1.0  # that a value may have where another thread is just renewing it

K = TypeVar("K")
V = TypeVar("V")


class Remembered(Generic[K, V]):
    """Values by key. Who finds one too old renews it; the others go on with it meanwhile, but not beyond its second.

    So of many threads that need it at once, one asks the database.
    """

    def __init__(self) -> None:
        self._values: dict[K, tuple[float, float, V]] = {}  # when it was read, its age from which one thread renews it
        self._swept_at = time.monotonic()

    def get(self, key: K, load: Callable[[], V]) -> V:
        """The value of ``key``, by ``load`` if there is none that is fresh enough."""
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
        """Drop, once a minute, what was not read within the last."""
        if now - self._swept_at < KEPT_SECONDS:
            return
        self._swept_at = now
        for key, (read_at, _, _) in list(self._values.items()):
            if read_at < now - KEPT_SECONDS:
                self._values.pop(key, None)
