"""A line in which no caller has all the places: who asks for much at once waits for their own earlier requests."""

from __future__ import annotations

import threading
import time
from collections import deque
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
        self._in_hand: dict[Hashable, int] = {}  # by caller: in the line, or taken from it and not done
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
            in_hand = self._in_hand.get(caller, 0)
            if in_hand < self._most() and caller not in self._held:  # as nearly always
                self._in_hand[caller] = in_hand + 1
                self._line.put((caller, item))
            else:
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
            in_hand = self._in_hand[caller] - 1
            if in_hand:
                self._in_hand[caller] = in_hand
            else:
                del self._in_hand[caller]
            if caller in self._held:
                self._admit(caller)

    def _admit(self, caller: Hashable) -> None:
        """Let what is held back of this caller into the line, as far as its places go."""
        held, in_hand, most = self._held[caller], self._in_hand.get(caller, 0), self._most()
        while held and in_hand < most:
            in_hand += 1
            self._line.put((caller, held.popleft()))
        if in_hand:
            self._in_hand[caller] = in_hand
        if not held:
            del self._held[caller]

    def _most(self) -> int:
        """Return how many places one caller may have now."""
        return max(1, self._places - (time.monotonic() < self._shared_until))
