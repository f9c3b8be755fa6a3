"""How many of a worker's threads each project may hold, so that one with a slow provider leaves room for the others."""

from __future__ import annotations

import math
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

RESERVED_PART = 4  # one thread in four is out of reach for any one project
SHARED_SECONDS = 600.0  # so long after its last message another project still counts: as long as a manual send lives

# At most so many messages, of no project of those given; with True of no other at all, else of those at last.
Take = Callable[[int, list[int], bool], list[Any]]


class Neighbours:
    """Whether a process delivers for several projects: the two that it delivered for last, and when."""

    def __init__(self) -> None:
        self._seen_at: dict[int, float] = {}  # the latest last
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


class Shares:
    """The deliveries under way in one group of a process's threads, by project.

    A project that holds its share comes after all others. While the process delivers for several, it is left out
    altogether: threads are kept free for what the others may send next. Without ``threads`` there are no shares.
    """

    def __init__(self, threads: int | None = None, neighbours: Neighbours | None = None) -> None:
        self.share = math.inf if threads is None else share_of(threads)
        self.neighbours = neighbours or Neighbours()
        self._running: Counter[int] = Counter()
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
        """A delivery is over. True if others may wait whose wake-ups came while their project had its share."""
        with self._changing:
            self._running[message.project_id] -= 1
            if not self._running[message.project_id]:
                del self._running[message.project_id]
            return self._may_have_left_some

    def _places(self) -> tuple[list[int], float]:
        """The projects that have their share, and how many messages each of the others still has a place for."""
        with self._changing:
            full = [project for project, running in self._running.items() if running >= self.share]
            most = max((running for running in self._running.values() if running < self.share), default=0)
        return full, self.share - most

    def _begin(self, claimed: list[Any], is_leaving_out: bool) -> None:
        for message in claimed:
            self.neighbours.note(message.project_id)
        with self._changing:
            self._running.update(message.project_id for message in claimed)
            self._may_have_left_some = is_leaving_out or (self._may_have_left_some and bool(claimed))


def share_of(threads: int) -> int:
    """How many of so many threads one project may hold; of a single one, that one."""
    return max(1, threads - max(1, threads // RESERVED_PART))
