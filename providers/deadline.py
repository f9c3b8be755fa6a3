"""One moment by which a whole conversation must be over, however slowly the other side talks."""

from __future__ import annotations

import time


class Deadline:
    """A socket's own time-out starts anew with every byte; this one does not."""

    def __init__(self, seconds: float) -> None:
        self._ends_at = time.monotonic() + seconds

    def left(self) -> float:
        """Seconds left, always more than 0. Raises ``TimeoutError`` when there are none."""
        seconds = self._ends_at - time.monotonic()
        if seconds <= 0:
            raise TimeoutError("out of time")
        return seconds
