"""A line in which no caller has all the places: who asks for much at once waits for their own earlier requests.

Requests that would wait for the same row of the database take turns in it: only one of them has a place.
"""

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
Place = tuple[Hashable, Hashable] | None  # the caller and the turn that an item counts for; None counts for nobody


class FairLine(Generic[T]):
    """Items for a number of places, first come, first served; of one caller all but one place are filled at most.

    Further items of that caller are held back until one of theirs is done. Of the caller None nothing is held back.
    Items of one caller with the same turn go one after the other. Those that wait for their turn have no place, so
    the caller's other items pass them.
    """

    def __init__(self, places: int) -> None:
        self._places = places
        self._line: SimpleQueue[tuple[Place, T]] = SimpleQueue()
        self._held: dict[Hashable, deque[tuple[Place, T]]] = {}
        self._in_hand: dict[Hashable, int] = {}  # by caller: in the line, or taken from it and not done
        self._turns: dict[Place, deque[T]] = {}  # the turns that are taken, with the items that wait for each
        self._latest: Hashable = None
        self._shared_until = 0.0  # by the monotonic clock
        self._changing = threading.Lock()

    def put(self, caller: Hashable, item: T, turn: Hashable = None) -> None:
        if caller is None:
            self._line.put((None, item))
            return
        place = caller, turn
        with self._changing:
            if caller != self._latest:
                self._shared_until = time.monotonic() + SHARED_SECONDS if self._latest is not None else 0.0
                self._latest = caller
            if turn is not None:
                if place in self._turns:
                    self._turns[place].append(item)
                    return
                self._turns[place] = deque()
            self._enter(place, item)

    def get(self) -> tuple[Place, T]:
        """Return the next item and its place, as soon as there is one."""
        return self._line.get()

    def done(self, place: Place) -> None:
        """Give up the place of an item, and its turn."""
        if place is None:
            return
        caller, turn = place
        with self._changing:
            in_hand = self._in_hand[caller] - 1
            if in_hand:
                self._in_hand[caller] = in_hand
            else:
                del self._in_hand[caller]
            if turn is not None:
                if self._turns[place]:
                    self._enter(place, self._turns[place].popleft())
                else:
                    del self._turns[place]
            if caller in self._held:
                self._admit(caller)

    def _enter(self, place: tuple[Hashable, Hashable], item: T) -> None:
        """Put an item that has its turn into the line, or hold it back where its caller has enough there."""
        caller = place[0]
        in_hand = self._in_hand.get(caller, 0)
        if in_hand < self._most() and caller not in self._held:  # as nearly always
            self._in_hand[caller] = in_hand + 1
            self._line.put((place, item))
        else:
            self._held.setdefault(caller, deque()).append((place, item))
            self._admit(caller)

    def _admit(self, caller: Hashable) -> None:
        """Let what is held back of this caller into the line, as far as its places go."""
        held, in_hand, most = self._held[caller], self._in_hand.get(caller, 0), self._most()
        while held and in_hand < most:
            in_hand += 1
            self._line.put(held.popleft())
        if in_hand:
            self._in_hand[caller] = in_hand
        if not held:
            del self._held[caller]

    def _most(self) -> int:
        """Return how many places one caller may have now."""
        return max(1, self._places - (time.monotonic() < self._shared_until))
