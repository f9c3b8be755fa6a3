"""The worker process: threads that deliver what they are woken for, and a sweep that finds what nobody woke them for.

A connections worker does the same, and holds the connections of those providers that send over one.

The sweep needs no broker. With the broker away, it alone delivers, a second or two later than usual.
"""

from __future__ import annotations

import logging
import signal
import threading
import time
from collections.abc import Callable
from concurrent import futures
from contextlib import suppress
from queue import SimpleQueue
from typing import Any

import dramatiq
from django.db import DatabaseError, close_old_connections, connections
from redis.exceptions import RedisError

from verification import addresses, sql
from verification.broker import AWAY_SECONDS, BOTS, broker
from verification.models import Worker
from verification.services.delivery import connections as connected
from verification.services.delivery import dispatch, fallback
from verification.services.delivery import sweep as sweeping
from verification.services.delivery.fairness import RecentProjects, Shares
from verification.services.notices import alerts, callbacks
from verification.services.oversight import outages
from verification.services.projects import deletion
from verification.services.protection.guard import findings
from verification.services.records import workers
from verification.services.sessions import bot_updates
from verification.services.texts.rendering import languages
from verification.services.upkeep import retention
from verification.tasks import deliver_connected, deliver_message

log = logging.getLogger(__name__)

ROUND_SECONDS = 1.0
MAX_PAUSE_SECONDS = 5.0  # between two rounds that fail
IDLE_SECONDS = 1.0  # a message due for this long was forgotten by its wake-up
OUTAGE_SECONDS = 15.0  # between two looks at the channels over which nothing gets out
WIPE_SECONDS = 30.0
BUDGET_SECONDS = 5.0  # between two looks at the budgets of the day
STOP_SECONDS = 8.0  # longer than a provider call may take, and less than `up` waits before it kills
GUARD_SECONDS = 5.0
GUARD_SHARE = 0.05  # of the time at most: with much to count, it is counted less often
SWEEP_THREADS = 8
CALLBACK_THREADS = 8
BOT_THREADS = 8
MAX_RINGS = 100  # wake-ups that are taken off their line at once; each says no more than that there is something
ALERT_THREADS = 2
FALLBACK_BATCH = 50
PURGE_ASK_SECONDS = 60.0
DELETION_ASK_SECONDS = 10.0  # between two looks for projects that are deleted


def run(*, threads: int, holds_connections: bool = False) -> None:
    """Deliver with ``threads`` threads until SIGTERM or SIGINT; what is being sent then is finished first."""
    stopping = threading.Event()
    signals: SimpleQueue[int] = SimpleQueue()  # which, unlike an event, a signal handler may touch at any moment
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda number, _: signals.put(number))
    addresses.keep_patterns()
    languages()
    actors = [deliver_message, deliver_connected] if holds_connections else [deliver_message]
    projects = RecentProjects()
    dispatch.share_threads(Shares(threads, projects))
    worker = dramatiq.Worker(
        broker, queues={actor.queue_name for actor in actors}, worker_threads=threads, worker_timeout=1000
    )
    row = workers.introduce(threads=threads, holds_connections=holds_connections)
    polling = pollers(stopping, projects, row)
    if holds_connections:
        polling.append(keeper(stopping))
        with suppress(DatabaseError):  # the keeper tries again
            connected.keep()  # so that the first message finds them
    worker.start()
    for poller in polling:
        poller.start()
    log.info("The worker is ready with %s threads.", threads)
    signals.get()
    log.info("The worker is stopping.")
    stopping.set()
    for poller in polling:
        poller.bell.set()
    dispatch.stop_offering()
    give_up_at = time.monotonic() + STOP_SECONDS
    worker.stop(timeout=int(STOP_SECONDS * 1000))
    for poller in polling:
        poller.join(max(0.0, give_up_at - time.monotonic()))
    connected.close_all()
    with suppress(DatabaseError):  # it counts as gone a minute later
        workers.leave(row)
    connections.close_all()


class Poller(threading.Thread):
    """Claims rows that are due and works on them in threads of its own.

    ``claim`` is asked for at most so many rows as there are free threads, and told of those that are being worked on;
    ``work`` gets one row; ``tidy`` runs before each round. ``bell`` is rung for a round at once, also by each
    wake-up that comes over ``queue_name``.
    """

    def __init__(
        self,
        name: str,
        stopping: threading.Event,
        *,
        claim: Callable[[int, list[Any]], list[Any]] = lambda room, at_work: [],
        work: Callable[[Any], object] = lambda row: None,
        tidy: Callable[[], None] = lambda: None,
        threads: int = 1,
        queue_name: str = "",
    ) -> None:
        super().__init__(name=name, daemon=True)
        self.stopping = stopping
        self.claim, self.work, self.tidy, self.threads = claim, work, tidy, threads
        self.pool = futures.ThreadPoolExecutor(threads, thread_name_prefix=name)
        self.in_hand: dict[futures.Future[None], Any] = {}
        self.bell = threading.Event()
        self.queue_name = queue_name

    def run(self) -> None:
        if self.queue_name:
            Ringing(self.queue_name, self.bell, self.stopping).start()
        pause = 0.0
        while not self.stopping.wait(pause):
            try:
                self._round()
                pause = 0.0
            except Exception as error:  # the database may be away, or not migrated yet
                pause = min(max(ROUND_SECONDS, 2 * pause), MAX_PAUSE_SECONDS)
                log.error("%s failed: %s. The next try is in %.0f s.", self.name, sql.reason(error), pause)
            finally:
                close_old_connections()
        self.pool.shutdown(wait=True)
        connections.close_all()

    def _round(self) -> None:
        """Ends when the next one is due: after a while, or at once when a thread has become free or the bell rings."""
        self.bell.clear()
        try:
            self.tidy()
        finally:  # whatever becomes of that
            self._hand_out()
        if not self.stopping.is_set():
            self.bell.wait(ROUND_SECONDS)

    def _hand_out(self) -> None:
        self.in_hand = {future: row for future, row in self.in_hand.items() if not future.done()}
        if room := self.threads - len(self.in_hand):
            claimed = self.claim(room, list(self.in_hand.values()))
            for row in claimed:
                future = self.pool.submit(self._work, row)
                self.in_hand[future] = row
                future.add_done_callback(lambda _: self.bell.set())

    def _work(self, row: Any) -> None:
        try:
            sql.drop_dead_connection()  # the database may have been restarted since this thread last asked it
            self.work(row)
        except Exception as error:  # its lease ends and it is claimed again
            log.error("%s: %s failed with %s", self.name, row[0], sql.reason(error))
        finally:
            close_old_connections()


class Ringing(threading.Thread):
    """Waits at a line of wake-ups and rings a poller's bell for them, so that it finds what is due at once."""

    def __init__(self, queue_name: str, bell: threading.Event, stopping: threading.Event) -> None:
        super().__init__(name=f"wake-ups of {queue_name}", daemon=True)
        self.queue_name, self.bell, self.stopping = queue_name, bell, stopping

    def run(self) -> None:
        while not self.stopping.is_set():
            try:
                if broker.pop(self.queue_name, MAX_RINGS, seconds=ROUND_SECONDS):
                    self.bell.set()
            except RedisError:  # the poller looks by itself, and the broker's consumers say that it is away
                self.stopping.wait(AWAY_SECONDS)


class Upkeep:
    """What has to be done now and then: ``jobs`` are functions, each with the seconds until its next turn. One that
    fails keeps no other from its turn.
    """

    def __init__(self, jobs: list[tuple[float, Callable[[], object]]]) -> None:
        self.jobs = jobs
        self.due_at = [0.0] * len(jobs)

    def __call__(self) -> None:
        failure = None
        for number, (seconds, job) in enumerate(self.jobs):
            if time.monotonic() < self.due_at[number]:
                continue
            try:
                job()
            except Exception as error:
                failure = error
            self.due_at[number] = time.monotonic() + seconds
        if failure:
            raise failure


class Guarding:
    """Lets the guard look over the last hour now and then, before the alerts that it may raise are told."""

    def __init__(self) -> None:
        self.look_at = 0.0

    def __call__(self) -> None:
        began = time.monotonic()
        if began < self.look_at:
            return
        findings.sweep()
        took = time.monotonic() - began
        self.look_at = began + max(GUARD_SECONDS, took / GUARD_SHARE)


class Purging:
    """Asks now and then whether old rows are due to go; of all workers one is told so."""

    def __init__(self) -> None:
        self.ask_at = 0.0

    def __call__(self, room: int, at_work: list[Any]) -> list[tuple[str]]:
        now = time.monotonic()
        if now < self.ask_at:
            return []
        self.ask_at = now + PURGE_ASK_SECONDS
        return retention.claim_run()


class Deleting:
    """Looks now and then for projects to remove, and at once again while there is one."""

    def __init__(self) -> None:
        self.look_at = 0.0

    def __call__(self, room: int, at_work: list[Any]) -> list[tuple[int]]:
        now = time.monotonic()
        if now < self.look_at:
            return []
        found = deletion.due(limit=room)
        self.look_at = now if found else now + DELETION_ASK_SECONDS
        return found


def pollers(stopping: threading.Event, projects: RecentProjects, row: Worker) -> list[Poller]:
    """The sweep; what else is to be done has threads of its own, so that it cannot slow down a message."""
    shares = Shares(SWEEP_THREADS, projects)
    sweep = Poller(
        "the sweep",
        stopping,
        claim=lambda room, _: dispatch.claim_due(limit=room, idle_seconds=IDLE_SECONDS, shares=shares),
        work=lambda message: dispatch.deliver_claimed(message, shares),
        threads=SWEEP_THREADS,
    )
    upkeep = Upkeep(
        [
            (workers.BEAT_SECONDS, lambda: workers.beat(row)),
            (0.0, lambda: fallback.send_fallbacks(limit=FALLBACK_BATCH)),
            (0.0, sweeping.expire_messages),
            (BUDGET_SECONDS, sweeping.raise_budget_alerts),
            (OUTAGE_SECONDS, outages.watch),
            (WIPE_SECONDS, sweeping.wipe_codes),
        ]
    )
    calls = Poller(
        "callbacks",
        stopping,
        claim=lambda room, at_work: callbacks.claim_due(limit=room, busy=[row.project_id for row in at_work]),
        work=callbacks.deliver,
        threads=CALLBACK_THREADS,
    )
    news = Poller(
        "alerts",
        stopping,
        claim=lambda room, _: alerts.claim_due(limit=room),
        work=alerts.deliver,
        tidy=Guarding(),
        threads=ALERT_THREADS,
    )
    purge = Poller("the purge", stopping, claim=Purging(), work=lambda _: retention.purge())
    bots = Poller(
        "the bots",
        stopping,
        claim=lambda room, at_work: bot_updates.claim_due(limit=room, busy=[row.project_id for row in at_work]),
        work=bot_updates.act,
        threads=BOT_THREADS,
        queue_name=BOTS,
    )
    deleting = Poller("the deletion", stopping, claim=Deleting(), work=lambda row: deletion.carry_on(row[0]))
    return [sweep, Poller("the upkeep", stopping, tidy=upkeep), calls, news, bots, purge, deleting]


def keeper(stopping: threading.Event) -> Poller:
    """What holds the connections to the configuration. It has no rows to work on."""
    return Poller("the connections", stopping, tidy=connected.keep)
