"""The threads of a web process, and how one of them asks outside without keeping its place from the others.

A process works on so many requests at once, each in a slot with a database connection. A request that has to wait for
somebody outside (an account that is checked, a vendor of challenges, a customer's server) gives its slot to another
thread meanwhile, and takes one again afterwards. So who does not answer holds a spare thread, and neither a slot nor a
connection. How many may be outside at once is limited, for each project and for the process; beyond that the caller is
told to try again.

A thread keeps its slot from one request to the next: a request that asks nobody outside costs nothing more.
"""

from __future__ import annotations

import logging
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future
from contextlib import contextmanager
from dataclasses import dataclass
from queue import SimpleQueue
from typing import Any

from django.db import DEFAULT_DB_ALIAS, connections
from django.db.backends.base.base import BaseDatabaseWrapper

from verification.errors import Refusal

log = logging.getLogger(__name__)

RETRY_SECONDS = 1  # after which who was told to try again may


@dataclass(frozen=True, slots=True)
class Room:
    """How many requests of a process may be outside at once, with those of every kind."""

    of_project: int
    in_all: int


# Whoever owns a project's servers can let them hang; what several such projects take leaves room for the vendors.
TENANTS_SERVER = Room(of_project=4, in_all=12)
CHALLENGE_VENDOR = Room(of_project=8, in_all=16)  # whom the operator trusts, and users wait for
SPARE_THREADS = max(TENANTS_SERVER.in_all, CHALLENGE_VENDOR.in_all)

Job = tuple[Future[Any], Callable[..., Any], tuple[Any, ...], dict[str, Any]]
_local = threading.local()


class Busy(Refusal):
    """Too many requests are outside already."""

    def __init__(self) -> None:
        super().__init__(
            "service_unavailable",
            "Too many requests are waiting for other servers at this moment. Try again in a moment.",
            retry_after=RETRY_SECONDS,
        )


@dataclass(slots=True)
class Slot:
    """The right to work on a request, with the database connection to do it by."""

    connection: BaseDatabaseWrapper | None = None


class WebThreads(Executor):
    """As many threads work at once as there are slots; those to spare start to work while others are outside."""

    def __init__(self, slots: int, *, spare: int = SPARE_THREADS) -> None:
        self._jobs: SimpleQueue[Job | None] = SimpleQueue()  # None asks for a slot, for a thread that is back
        self._free: SimpleQueue[Slot] = SimpleQueue()
        self._asked_for: SimpleQueue[Slot] = SimpleQueue()
        self._unstarted = slots + spare
        self._outside: Counter[int | None] = Counter()  # by project; None for what belongs to no project
        self._changing = threading.Lock()
        for _ in range(slots):
            self._free.put(Slot())

    def submit(self, function: Callable[..., Any], /, *arguments: Any, **options: Any) -> Future[Any]:
        if self._unstarted:
            self._start()  # not before: a web process is a fork of one that has loaded this, and threads are not forked
        future: Future[Any] = Future()
        self._jobs.put((future, function, arguments, options))
        return future

    def go_outside(self, project_id: int | None, room: Room) -> None:
        """Count one more who is outside, and give its slot away. Raises :class:`Busy`."""
        with self._changing:
            if self._outside[project_id] >= room.of_project or self._outside.total() >= room.in_all:
                raise Busy
            self._outside[project_id] += 1
        self._leave(self._free)

    def come_back(self, project_id: int | None) -> None:
        """Take the next slot whose thread is through with its request, in the order of the requests that wait."""
        self._jobs.put(None)
        self._enter(self._asked_for)
        with self._changing:
            self._outside[project_id] -= 1

    def _start(self) -> None:
        with self._changing:
            number, self._unstarted = self._unstarted, 0
        for _ in range(number):
            threading.Thread(target=self._work, name="web", daemon=True).start()

    def _work(self) -> None:
        _local.threads = self
        self._enter(self._free)
        while True:
            job = self._jobs.get()
            if job is None:
                self._leave(self._asked_for)
                self._enter(self._free)
            else:
                _run(*job)
            del job  # a thread that waits keeps nothing of its last request alive

    def _enter(self, slots: SimpleQueue[Slot]) -> None:
        slot = slots.get()
        for connection in connections.all(initialized_only=True):
            connection.close()  # of what was asked outside of a slot after all
        if slot.connection is None:
            slot.connection = connections.create_connection(DEFAULT_DB_ALIAS)
            slot.connection.inc_thread_sharing()  # by one thread after the other
        connections[DEFAULT_DB_ALIAS] = slot.connection
        _local.slot = slot

    def _leave(self, slots: SimpleQueue[Slot]) -> None:
        slot, _local.slot = _local.slot, None
        del connections[DEFAULT_DB_ALIAS]
        slots.put(slot)


@contextmanager
def outside(project_id: int | None, room: Room = TENANTS_SERVER) -> Iterator[None]:
    """Inside, others work in this thread's slot, so nothing is to be asked of the database; ``project_id`` is on whose
    behalf. Raises :class:`Busy`. In a thread that is no web process's, such as a worker's, it does nothing.

    Nobody else can work with a connection that is in the middle of a transaction: then the slot is kept.
    """
    threads: WebThreads | None = getattr(_local, "threads", None)
    if threads is None or _local.slot is None:  # the latter inside of another ``outside``
        yield
        return
    if connections[DEFAULT_DB_ALIAS].in_atomic_block:
        log.error("A request waits for somebody outside in the middle of a transaction.")
        yield
        return
    threads.go_outside(project_id, room)
    try:
        yield
    finally:
        threads.come_back(project_id)


def _run(
    future: Future[Any], function: Callable[..., Any], arguments: tuple[Any, ...], options: dict[str, Any]
) -> None:
    if not future.set_running_or_notify_cancel():
        return
    try:
        result = function(*arguments, **options)
    except BaseException as error:
        future.set_exception(error)
    else:
        future.set_result(result)
