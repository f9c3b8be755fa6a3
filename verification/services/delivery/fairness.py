"""How many of a worker's threads each project may hold, so that those with slow providers leave room for the others.

While a process delivers for several projects, a project takes another thread only if it then holds at most three times
as many as stay free; its first one it takes wherever one is free. So one project holds three quarters at most, and what
the next one holds is measured by what the first has left. Projects that are slow hold at most half of the threads
together: those of which a delivery takes longer than two seconds, or took that within the last minute.

So any number of slow projects leaves half of the threads to the others. Only those that become slow at the same moment
may hold more, until their calls' time is over; two leave one of eight threads, or of sixteen, even then.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

PER_FREE = 3  # threads that one project may hold for each that stays free
SLOW_PART = 2  # of so many threads, all slow projects together may hold one
SLOW_SECONDS = 2.0  # a delivery that takes longer makes its project slow; mail servers may well need one
SLOW_FOR_SECONDS = 60.0  # as long as a project counts as slow after that
SHARED_SECONDS = 600.0  # so long after its last message another project still counts: as long as a manual send lives
MAX_KNOWN_SLOW = 10_000  # projects; what is beyond counts as quick

# At most so many messages, of no project of those given; with True of no other at all, else of those at last.
Take = Callable[[int, list[int], bool], list[Any]]


class Neighbours:
    """What a process knows of the projects that it delivers for: the two it delivered for last, and which are slow."""

    def __init__(self) -> None:
        self._seen_at: dict[int, float] = {}  # the latest last
        self._slow_at: dict[int, float] = {}  # likewise
        self._changing = threading.Lock()

    def note(self, project: int) -> None:
        with self._changing:
            self._seen_at.pop(project, None)
            self._seen_at[project] = time.monotonic()
            for older in list(self._seen_at)[:-2]:
                del self._seen_at[older]

    def are_several(self) -> bool:
        with self._changing:
            return len(self._seen_at) > 1 and min(self._seen_at.values()) > time.monotonic() - SHARED_SECONDS

    def note_slow(self, project: int) -> None:
        with self._changing:
            self._slow_at.pop(project, None)
            if len(self._slow_at) < MAX_KNOWN_SLOW:
                self._slow_at[project] = time.monotonic()

    def slow(self) -> set[int]:
        """The projects that were slow within the last minute."""
        since = time.monotonic() - SLOW_FOR_SECONDS
        with self._changing:
            while self._slow_at and next(iter(self._slow_at.values())) <= since:
                del self._slow_at[next(iter(self._slow_at))]
            return set(self._slow_at)


class Shares:
    """The deliveries under way in one group of a process's threads, by project, and when each began.

    A project that holds what it may comes after all others. While the process delivers for several, it is left out
    altogether: threads are kept free for what the others may send next. Without ``threads`` there are no shares.
    """

    def __init__(self, threads: int | None = None, neighbours: Neighbours | None = None) -> None:
        self.threads = math.inf if threads is None else threads
        self.neighbours = neighbours or Neighbours()
        self._running: dict[int, dict[int, float]] = {}  # by project: the moments by the identity of the message
        self._may_have_left_some = False
        self._changing = threading.Lock()
        self._claiming = threading.Lock()

    def claim(self, limit: int, take: Take) -> list[Any]:
        """Up to ``limit`` messages by ``take``: rows with a ``project_id``, each to be followed by :meth:`end`.

        While projects share, claims wait for each other: two at once could both take a project's last place.
        """
        is_shared = self.neighbours.are_several()
        claimed: list[Any] = []
        with self._claiming if is_shared else nullcontext():
            while len(claimed) < limit:
                full, places = self._places()
                wanted = int(min(limit - len(claimed), places if is_shared else limit))
                if wanted < 1:
                    break  # no thread is free
                is_leaving_out = is_shared and bool(full)
                try:
                    taken = take(wanted, full, is_leaving_out)
                except Exception:
                    if not claimed:
                        raise
                    break  # what was claimed before is delivered all the same
                self._begin(taken, is_leaving_out)
                claimed += taken
                if len(taken) < wanted and not (is_leaving_out and self._places()[0] != full):
                    break  # and no delivery ended meanwhile, whose project was left out
        return claimed

    def end(self, message: Any) -> bool:
        """A delivery is over. True if others may wait whose wake-ups came while their project held what it may."""
        with self._changing:
            of_project = self._running[message.project_id]
            began_at = of_project.pop(id(message))
            if not of_project:
                del self._running[message.project_id]
            may_have_left_some = self._may_have_left_some
        if time.monotonic() - began_at > SLOW_SECONDS:
            self.neighbours.note_slow(message.project_id)
        return may_have_left_some

    def _places(self) -> tuple[list[int], float]:
        """The projects that hold what they may, and how many messages may be taken at once, whosever they are."""
        slow = self.neighbours.slow()
        with self._changing:
            slow_since = time.monotonic() - SLOW_SECONDS
            slow |= {project for project, began in self._running.items() if min(began.values()) < slow_since}
            counts = {project: len(began) for project, began in self._running.items()}
        free = self.threads - sum(counts.values())
        room = {project: _room(held, free) for project, held in counts.items()}
        room_of_slow = max(1, self.threads // SLOW_PART) - sum(counts.get(project, 0) for project in slow)
        if slow and room_of_slow < 1:
            room.update(dict.fromkeys(slow, 0))
        full = [project for project, places in room.items() if places < 1]
        able = [places for places in room.values() if places >= 1]
        if slow and room_of_slow >= 1:
            able.append(room_of_slow)
        return full, min([_room(0, free), *able])

    def _begin(self, claimed: list[Any], is_leaving_out: bool) -> None:
        for message in claimed:
            self.neighbours.note(message.project_id)
        with self._changing:
            for message in claimed:
                self._running.setdefault(message.project_id, {})[id(message)] = time.monotonic()
            self._may_have_left_some = is_leaving_out or (self._may_have_left_some and bool(claimed))


def _room(held: int, free: float) -> float:
    """How many more threads a project may take that holds so many, while so many are free."""
    if math.isinf(free):
        return free
    more = (PER_FREE * free - held) // (PER_FREE + 1)
    return max(more, 1 if held == 0 and free >= 1 else 0)


def share_of(threads: int) -> int:
    """How many of so many threads one project may hold; of a single one, that one."""
    return int(_room(0, threads))
