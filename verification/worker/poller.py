"""The worker's pollers: threads that claim rows that are due, and work on them in threads of their own."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from concurrent import futures
from typing import Any, Generic, TypeVar

from django.db import close_old_connections, connections
from redis.exceptions import RedisError

from verification import sql
from verification.services.records import faults
from verification.worker.broker import AWAY_SECONDS, broker

log = logging.getLogger(__name__)

POLL_SECONDS = 1.0  # between two rounds of a poller that nothing calls earlier
MAX_PAUSE_SECONDS = 5.0  # between two rounds that fail
RETRY_SECONDS = 30.0  # until a periodic job that failed is tried again: each failure slows the others down for a round
TELL_AGAIN_SECONDS = 600.0  # between two lines about one reason: a dozen pollers fail while the database is away
MAX_WAKE_UPS = 100  # taken off their queue at once; each says no more than that there is something

Row = TypeVar("Row", bound=tuple[Any, ...])
Found = TypeVar("Found")


class Poller(threading.Thread, Generic[Row]):
    """Claims rows that are due and works on them in threads of its own.

    - ``claim`` gets the number of free threads and the rows in progress. It returns at most that many more rows, or
      None.
    - ``work`` gets one row.
    - ``before_round`` runs before each round.
    - ``wake`` is set to start a round at once, as by each wake-up that comes over ``queue_name``.
    """

    def __init__(
        self,
        name: str,
        stopping: threading.Event,
        *,
        claim: Callable[[int, list[Row]], list[Row] | None] = lambda free_threads, in_progress: None,
        work: Callable[[Row], object] = lambda row: None,
        before_round: Callable[[], object] = lambda: None,
        threads: int = 1,
        queue_name: str = "",
    ) -> None:
        super().__init__(name=name, daemon=True)
        self.stopping = stopping
        self.claim, self.work, self.before_round, self.threads = claim, work, before_round, threads
        self.pool = futures.ThreadPoolExecutor(threads, thread_name_prefix=name)
        self.in_progress: dict[futures.Future[None], Row] = {}
        self.wake = threading.Event()
        self.queue_name = queue_name
        self.round_began = time.monotonic()

    def is_at_work(self, round_seconds: float) -> bool:
        """Return whether the thread lives, and its present round is no older than this."""
        return self.is_alive() and time.monotonic() - self.round_began < round_seconds

    def run(self) -> None:
        if self.queue_name:
            WakeUpListener(self.queue_name, self.wake, self.stopping).start()
        pause, logged, tell_at = 0.0, "", 0.0
        while not self.stopping.wait(pause):
            self.round_began = time.monotonic()
            try:
                self._round()
                if logged:
                    log.info("%s: works again.", self.name)
                pause, logged = 0.0, ""
            except Exception as error:  # the database may be away, or not migrated yet
                faults.heed(error)
                pause = min(max(POLL_SECONDS, 2 * pause), MAX_PAUSE_SECONDS)
                reason = sql.reason(error)
                if reason != logged or time.monotonic() >= tell_at:
                    again = (
                        f"Watchword retries at least every {MAX_PAUSE_SECONDS:.0f} s; the log says when it works again."
                    )
                    log.error("%s failed: %s. %s", self.name, reason, again)
                    logged, tell_at = reason, time.monotonic() + TELL_AGAIN_SECONDS
            finally:
                close_old_connections()
        self.pool.shutdown(wait=True)
        connections.close_all()

    def _round(self) -> None:
        """Hand out rows, and wait until the next round is due or ``wake`` is set, as by a thread that ends."""
        self.wake.clear()
        try:
            self.before_round()
        finally:  # rows are handed out also where that failed
            self._hand_out()
        close_old_connections()  # the next round gets another for one that broke
        if not self.stopping.is_set():
            self.wake.wait(POLL_SECONDS)

    def _hand_out(self) -> None:
        self.in_progress = {future: row for future, row in self.in_progress.items() if not future.done()}
        if free_threads := self.threads - len(self.in_progress):
            for row in self.claim(free_threads, list(self.in_progress.values())) or ():
                future = self.pool.submit(self._work, row)
                self.in_progress[future] = row
                future.add_done_callback(lambda _: self.wake.set())

    def _work(self, row: Row) -> None:
        try:
            self.work(row)
        except Exception as error:  # the row's lease ends, and it is claimed again
            faults.heed(error)
            fields = {"poller": self.name, "row": row[0], "error": sql.reason(error)}
            log.error("a row of a poller failed", extra=fields)
        finally:
            close_old_connections()


class WakeUpListener(threading.Thread):
    """Waits at a queue of wake-ups and starts a poller's round for each, so that it finds what is due at once."""

    def __init__(self, queue_name: str, wake: threading.Event, stopping: threading.Event) -> None:
        super().__init__(name=f"wake-ups of {queue_name}", daemon=True)
        self.queue_name, self.wake, self.stopping = queue_name, wake, stopping

    def run(self) -> None:
        while not self.stopping.is_set():
            try:
                if broker.pop(self.queue_name, MAX_WAKE_UPS, seconds=POLL_SECONDS):
                    self.wake.set()
            except RedisError:  # the poller looks by itself, and the broker's consumers say that it is away
                self.stopping.wait(AWAY_SECONDS)


class Every(Generic[Found]):
    """Calls ``work`` once in so many ``seconds``. Between two turns a call does nothing and returns None.

    - ``first_seconds`` pass before the first turn.
    - ``share`` is the part of the time that the work may take: after a slow turn the next one comes later.
    - ``retry_seconds`` are waited, at most, after a turn that failed; without them the next call tries again.
    """

    def __init__(
        self,
        seconds: float,
        work: Callable[[], Found],
        *,
        first_seconds: float = 0.0,
        share: float = 1.0,
        retry_seconds: float = 0.0,
    ) -> None:
        self.seconds, self.work, self.share, self.retry_seconds = seconds, work, share, retry_seconds
        self.due_at = time.monotonic() + first_seconds

    def __call__(self, *_: object) -> Found | None:
        began = time.monotonic()
        if began < self.due_at:
            return None
        try:
            found = self.work()
        except Exception:
            self.due_at = time.monotonic() + min(self.seconds, self.retry_seconds)
            raise
        ended = time.monotonic()
        self.due_at = max(ended + self.seconds, began + (ended - began) / self.share)
        return found


class PeriodicRunner:
    """Runs ``jobs``, functions with the seconds until the next turn of each.

    One that fails keeps no other from running, and is tried again after half a minute or at its next turn.
    """

    def __init__(self, jobs: list[tuple[float, Callable[[], object]]]) -> None:
        self.jobs = [Every(seconds, job, retry_seconds=RETRY_SECONDS) for seconds, job in jobs]

    def __call__(self) -> None:
        failure = None
        for job in self.jobs:
            try:
                job()
            except Exception as error:
                failure = error
        if failure:
            raise failure
