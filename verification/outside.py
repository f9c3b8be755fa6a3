"""The threads of a web process, and how a request waits for an outside server without holding up other requests.

A process works on a fixed number of requests at once, each in a slot with a database connection. Some requests wait
for an outside server: one that checks an account, a vendor of challenges, a customer's. Such a request gives its slot
to another thread meanwhile, and takes a slot again afterwards. So a server that does not answer holds a spare thread,
and neither a slot nor a connection. The number of requests outside is limited, for each project and for the process;
beyond that the caller is told to try again.

Where several callers ask, none of them has all slots (``fair_line.py``). A request that is outside takes up none.
Requests for one recipient take turns, as they would wait for the recipient's row with a slot in hand.
A thread keeps its slot from one request to the next, so a request that asks no outside server costs nothing more.
"""

from __future__ import annotations

import logging
import threading
from collections import Counter
from collections.abc import Callable, Hashable, Iterator
from concurrent.futures import Executor, Future
from contextlib import contextmanager
from dataclasses import dataclass
from queue import SimpleQueue
from typing import Any

from django.db import DEFAULT_DB_ALIAS, connections
from django.db.backends.base.base import BaseDatabaseWrapper

from verification.errors import Refusal
from verification.fair_line import FairLine

log = logging.getLogger(__name__)

RETRY_SECONDS = 1  # how long a refused caller is told to wait; a place may be free by then


@dataclass(frozen=True, slots=True)
class Room:
    """The limits for one kind of request. Both count the requests outside of every kind."""

    of_project: int
    in_all: int


# The owner of a project can let its servers hang. Several such projects together still leave room for the vendors.
TENANTS_SERVER = Room(of_project=4, in_all=12)
CHALLENGE_VENDOR = Room(of_project=8, in_all=16)  # the operator trusts it, and users wait for it
SPARE_THREADS = max(TENANTS_SERVER.in_all, CHALLENGE_VENDOR.in_all)

Job = tuple[Callable[..., Any], tuple[Any, ...]]
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
    """The threads of a web process: one works in each slot, and spare ones take the slots of those outside."""

    def __init__(self, slots: int, *, spare: int = SPARE_THREADS) -> None:
        self._jobs: FairLine[Job | None] = FairLine(slots)  # None: a thread that is back asks for a slot
        self._free: SimpleQueue[Slot] = SimpleQueue()
        self._asked_for: SimpleQueue[Slot] = SimpleQueue()
        self._unstarted = slots + spare
        self._outside: Counter[int | None] = Counter()  # by project; None for requests of no project
        self._changing = threading.Lock()
        for _ in range(slots):
            self._free.put(Slot())

    def start(self, caller: Hashable, function: Callable[..., None], *arguments: Any, turn: Hashable = None) -> None:
        """Have a thread call ``function``, which never raises, as soon as this caller may have a slot.

        Calls of one caller with the same turn go one after the other, but for the time that one of them is outside.
        It costs less than a future that nobody waits for.
        """
        if self._unstarted:
            self._start_threads()  # not earlier: a web process is forked after this is made, and a fork has no threads
        self._jobs.put(caller, (function, arguments), turn)

    def submit(self, function: Callable[..., Any], /, *arguments: Any, **options: Any) -> Future[Any]:
        future: Future[Any] = Future()
        self.start(None, _run, future, function, arguments, options)
        return future

    def go_outside(self, project_id: int | None, room: Room) -> None:
        """Count one more request outside, and give its slot away. Raises :class:`Busy`."""
        with self._changing:
            if self._outside[project_id] >= room.of_project or self._outside.total() >= room.in_all:
                raise Busy
            self._outside[project_id] += 1
        place, _local.place = _local.place, None
        self._jobs.done(place)
        self._leave(self._free)

    def come_back(self, project_id: int | None) -> None:
        """Take the next slot that becomes free. Requests that come back and new ones wait in one line."""
        self._jobs.put(None, None)
        self._enter(self._asked_for)
        with self._changing:
            self._outside[project_id] -= 1

    def _start_threads(self) -> None:
        with self._changing:
            number, self._unstarted = self._unstarted, 0
        for _ in range(number):
            threading.Thread(target=self._work, name="web", daemon=True).start()

    def _work(self) -> None:
        _local.threads = self
        self._enter(self._free)
        while True:
            _local.place, job = self._jobs.get()
            if job is None:
                self._leave(self._asked_for)
                self._enter(self._free)
            else:
                function, arguments = job
                function(*arguments)
                self._jobs.done(_local.place)
                del function, arguments
            del job  # a thread that waits keeps nothing of its last request alive

    def _enter(self, slots: SimpleQueue[Slot]) -> None:
        slot = slots.get()
        for connection in connections.all(initialized_only=True):
            connection.close()  # opened without a slot, by a query made while outside
        if slot.connection is None:
            slot.connection = connections.create_connection(DEFAULT_DB_ALIAS)
            slot.connection.inc_thread_sharing()  # one thread after the other uses it
        connections[DEFAULT_DB_ALIAS] = slot.connection
        _local.slot = slot

    def _leave(self, slots: SimpleQueue[Slot]) -> None:
        slot, _local.slot = _local.slot, None
        del connections[DEFAULT_DB_ALIAS]
        slots.put(slot)


@contextmanager
def outside(project_id: int | None, room: Room = TENANTS_SERVER) -> Iterator[None]:
    """Give this thread's slot away while the block runs, on behalf of ``project_id``. Raises :class:`Busy`.

    The block must not use the database. Outside a web process, such as in a worker, this does nothing. In the middle of
    a transaction the slot is kept, as no other request can use that connection.
    """
    threads: WebThreads | None = getattr(_local, "threads", None)
    if threads is None or _local.slot is None:  # no slot: inside another ``outside``
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
