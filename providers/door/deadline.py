"""One moment by which a whole conversation must be over, however slowly the other side talks."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_all_end_at: ContextVar[float] = ContextVar("all_end_at", default=math.inf)


@contextmanager
def within(seconds: float) -> Iterator[None]:
    """Inside, every deadline that this thread sets is over in so many seconds from now at the latest.

    So whoever asks a service decides how long that may take in all, be it one call or several.
    """
    token = _all_end_at.set(min(_all_end_at.get(), time.monotonic() + seconds))
    try:
        yield
    finally:
        _all_end_at.reset(token)


class Deadline:
    """A socket's own time-out starts anew with every byte; this one does not."""

    def __init__(self, seconds: float) -> None:
        self._ends_at = min(time.monotonic() + seconds, _all_end_at.get())

    def left(self) -> float:
        """Seconds left, always more than 0. Raises ``TimeoutError`` when there are none."""
        seconds = self._ends_at - time.monotonic()
        if seconds <= 0:
            raise TimeoutError("out of time")
        return seconds
