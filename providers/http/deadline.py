"""Deadlines: one moment by which a whole exchange must be over, however slowly the other side talks."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_all_end_at: ContextVar[float] = ContextVar("all_end_at", default=math.inf)


@contextmanager
def within(seconds: float) -> Iterator[None]:
    """Bound every deadline that this thread sets inside: all end at most ``seconds`` from now.

    So the caller decides how long it may take to ask a service, in one call or in several.
    """
    token = _all_end_at.set(min(_all_end_at.get(), time.monotonic() + seconds))
    try:
        yield
    finally:
        _all_end_at.reset(token)


def seconds_left() -> float:
    """Return the seconds that :func:`within` leaves, always more than 0. Raises ``TimeoutError`` if none are left."""
    return _until(_all_end_at.get())


class Deadline:
    """A moment that every wait of an exchange respects. A socket's own time-out starts anew with every byte."""

    def __init__(self, seconds: float) -> None:
        self._ends_at = min(time.monotonic() + seconds, _all_end_at.get())

    def left(self) -> float:
        """Return the seconds left, always more than 0. Raises ``TimeoutError`` if none are."""
        return _until(self._ends_at)


def _until(moment: float) -> float:
    seconds = moment - time.monotonic()
    if seconds <= 0:
        raise TimeoutError("out of time")
    return seconds
