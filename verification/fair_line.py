"""A line in which no caller has all the places: who asks for much at once waits for their own earlier requests."""

from __future__ import annotations

import threading
import time
from collections import Counter, deque
from collections.abc import Hashable
from queue import SimpleQueue
from typing import Generic, TypeVar

# After another caller's item, the time for which one place stays free of each caller. So a caller who is alone has all.
SHARED_SECONDS = 60.0

T = TypeVar("T")


class FairLine(Generic[T]):
    """Items for a number of places, first come, first served; of one caller all but one place are filled at most.

    Further items of that caller are held back until one of theirs is done. Of the caller None nothing is held back.
    """

    def __init__(self, places: int) -> None:
        self._places = places
        self._line: SimpleQueue[tuple[Hashable, T]] = SimpleQueue()
        self._held: dict[Hashable, deque[T]] = {}
        self._in_hand: Counter[Hashable] = Counter()  # by caller: in the line, or taken from it and not done
        self._latest: Hashable = None
        self._shared_until = 0.0  # by the monotonic clock
        self._changing = threading.Lock()

    def put(self, caller: Hashable, item: T) -> None:
        if caller is None:
            self._line.put((caller, item))
            return
        with self._changing:
            if caller != self._latest:
                self._shared_until = time.monotonic() + SHARED_SECONDS if self._latest is not None else 0.0
                self._latest = caller
            self._held.setdefault(caller, deque()).append(item)
            self._admit(caller)

    def get(self) -> tuple[Hashable, T]:
        """Return the next item and its caller, as soon as there is one."""
        return self._line.get()

    def done(self, caller: Hashable) -> None:
        """Give up the place that an item of this caller was taken for."""
        if caller is None:
            return
        with self._changing:
            self._in_hand[caller] -= 1
            self._admit(caller)
            if not self._in_hand[caller]:
                del self._in_hand[caller]

    def _admit(self, caller: Hashable) -> None:
        most = max(1, self._places - (time.monotonic() < self._shared_until))
        held = self._held.get(caller)
        while held and self._in_hand[caller] < most:
            self._in_hand[caller] += 1
            self._line.put((caller, held.popleft()))
        if held is not None and not held:
            del self._held[caller]
