"""Fairness: how many of a worker's threads each project may hold.

While a process delivers for several projects, each leaves threads free. A project may take one more thread only if it
then holds at most three for each that stays free. So one project holds three quarters of the threads at most. The next
project is measured by what the first has left; its first thread it gets wherever one is free. A project is slow while
one of its deliveries takes longer than two seconds, and for a minute after such a delivery. All slow projects together
hold at most half of the threads. So any number of slow projects leaves half of the threads to the others. Only projects
that become slow at the same moment may hold more, until their calls' time is over. Even then two of them leave one
thread of eight, or of sixteen. A project that is alone may hold all threads.

:class:`Shares` counts the deliveries under way. Each claim goes through :meth:`Shares.claim`, which works out an
:class:`Allowance`: how many messages may be claimed, and which projects are at their share (full). The claim then
passes these over. The thread that ends a delivery claims again if messages may have been passed over.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable
from contextlib import nullcontext
from typing import NamedTuple

from verification.sql.rows import ClaimedMessage

PER_FREE = 3  # threads that one project may hold for each thread that stays free
SLOW_PART = 2  # all slow projects together may hold one of this many threads.
SLOW_SECONDS = 2.0  # a delivery that takes longer makes its project slow; mail servers may well need one second.
SLOW_FOR_SECONDS = 60.0  # how long a project counts as slow after such a delivery.
SHARED_SECONDS = 600.0  # how long a project counts as present after its last message: as long as a manual send lives
MAX_KNOWN_SLOW = 10_000  # projects that are remembered as slow, to bound the memory; any more count as quick


class Allowance(NamedTuple):
    """The bounds of one claim: up to ``messages``, and those of ``full_projects`` last.

    With ``others_only`` the claim takes none of ``full_projects``.
    """

    messages: int
    full_projects: list[int]
    others_only: bool


class RecentProjects:
    """The projects that a process delivers for: the last two of them, and which ones are slow."""

    def __init__(self) -> None:
        self._seen_at: dict[int, float] = {}  # project → time of its last claim, the latest last
        self._slow_at: dict[int, float] = {}  # project → end of its last slow delivery, the latest last
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
        """Return the projects that had a slow delivery within the last minute."""
        since = time.monotonic() - SLOW_FOR_SECONDS
        with self._changing:
            while self._slow_at and next(iter(self._slow_at.values())) <= since:
                del self._slow_at[next(iter(self._slow_at))]
            return set(self._slow_at)


class Shares:
    """The deliveries under way in one group of a process's threads, and the projects' shares of these threads.

    Without ``threads`` every claim is allowed. Groups of one process share their ``projects``.
    """

    def __init__(self, threads: int | None = None, projects: RecentProjects | None = None) -> None:
        self.threads = math.inf if threads is None else threads
        self.projects = projects or RecentProjects()
        self._began_at: dict[int, dict[int, float]] = {}  # project → id() of a message under way → when it began
        self._may_have_passed_over = False
        self._changing = threading.Lock()
        self._claiming = threading.Lock()

    def claim(self, limit: int, take: Callable[[Allowance], list[ClaimedMessage]]) -> list[ClaimedMessage]:
        """Claim up to ``limit`` messages by calls of ``take``. Each is to be followed by :meth:`end`.

        A full project is served last. If this process serves several projects, it is not served at all until one of its
        deliveries ends. Then claims wait for each other: two at once could both take a project's last thread.
        """
        is_shared = self.projects.are_several()
        claimed: list[ClaimedMessage] = []
        with self._claiming if is_shared else nullcontext():
            while len(claimed) < limit:
                full, free = self._full_and_free()
                wanted = int(min(limit - len(claimed), free if is_shared else limit))
                if wanted < 1:
                    break
                allowed = Allowance(wanted, full, others_only=is_shared and bool(full))
                try:
                    taken = take(allowed)
                except Exception:
                    if not claimed:
                        raise
                    break  # deliver what was claimed before
                self._begin(taken, allowed)
                claimed += taken
                is_exhausted = len(taken) < wanted
                got_room = allowed.others_only and self._full_and_free()[0] != full
                if is_exhausted and not got_room:
                    break  # nothing more is due, and no project that was passed over got a thread meanwhile
        return claimed

    def end(self, message: ClaimedMessage) -> bool:
        """Note that a delivery is over. Return whether messages may wait whose wake-ups were passed over."""
        with self._changing:
            of_project = self._began_at[message.project_id]
            began_at = of_project.pop(id(message))
            if not of_project:
                del self._began_at[message.project_id]
            may_have_passed_over = self._may_have_passed_over
        if time.monotonic() - began_at > SLOW_SECONDS:
            self.projects.note_slow(message.project_id)
        return may_have_passed_over

    def _full_and_free(self) -> tuple[list[int], float]:
        """Return the projects that may hold no more, and how many messages one claim may take.

        That number is safe whichever projects the messages belong to: it is the smallest room that a project has which
        is not full, and that of a project without a thread. The slow ones count as one.
        """
        slow = self.projects.slow()
        with self._changing:
            slow_since = time.monotonic() - SLOW_SECONDS
            slow |= {project for project, began in self._began_at.items() if min(began.values()) < slow_since}
            held = {project: len(began) for project, began in self._began_at.items()}
        free = self.threads - sum(held.values())
        room = {project: _room(count, free) for project, count in held.items()}
        room_of_slow = max(1, self.threads / SLOW_PART) - sum(held.get(project, 0) for project in slow)
        if slow and room_of_slow < 1:
            room.update(dict.fromkeys(slow, 0))
        full = [project for project, places in room.items() if places < 1]
        able = [places for places in room.values() if places >= 1]
        if slow and room_of_slow >= 1:
            able.append(room_of_slow)
        return full, min([_room(0, free), *able])

    def _begin(self, claimed: list[ClaimedMessage], allowed: Allowance) -> None:
        for message in claimed:
            self.projects.note(message.project_id)
        with self._changing:
            for message in claimed:
                self._began_at.setdefault(message.project_id, {})[id(message)] = time.monotonic()
            # A claim that passes nobody over and finds nothing shows that nobody waits.
            self._may_have_passed_over = allowed.others_only or (self._may_have_passed_over and bool(claimed))


def _room(held: int, free: float) -> float:
    """Return how many more threads a project may take that holds ``held``, while ``free`` are free."""
    if math.isinf(free):
        return free
    more = (PER_FREE * free - held) // (PER_FREE + 1)
    return max(more, 1 if held == 0 and free >= 1 else 0)


def share_of(threads: int) -> int:
    """Return how many of ``threads`` one project may hold while there are others; of a single thread, that one."""
    return int(_room(0, threads))
