"""The worker process: threads that deliver the messages they are woken for, and pollers for all other work.

One poller is the sweep. It finds the messages whose wake-ups were lost, and needs no broker: while the broker is away,
the sweep alone delivers, a second or two later than usual.

A connections worker does the same, and holds the connections of those providers that send over one.
"""

from __future__ import annotations

import logging
import signal
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any, Generic, TypeVar

import dramatiq
from django.db import DatabaseError, connections

from verification.core import addresses, process_figures
from verification.models import Worker
from verification.services.analytics import collapses, cost_budgets, digest, outages, rollups
from verification.services.delivery import connections as connected
from verification.services.delivery import dispatch, fallback, simulated
from verification.services.delivery import sweep as sweeping
from verification.services.delivery.fairness import RecentProjects, Shares
from verification.services.maintenance import retention
from verification.services.notifications import alerts, balance_alerts, events
from verification.services.projects import deletion
from verification.services.protection.guard import findings
from verification.services.providers import balances
from verification.services.records import workers
from verification.services.sessions import bot_updates
from verification.services.texts.rendering import languages
from verification.services.users import invitations
from verification.worker.broker import BOTS, ThreadFigures, broker
from verification.worker.liveness import BEAT_SECONDS, LivenessFile
from verification.worker.poller import PeriodicRunner, Poller
from verification.worker.tasks import deliver_connected, deliver_message

log = logging.getLogger(__name__)

Run = TypeVar("Run", bound=tuple[Any, ...])

IDLE_SECONDS = 1.0  # after which the sweep takes a message: its wake-up must have been lost
STOP_SECONDS = 8.0  # how long calls may go on at the end: as long as a provider's call may take; `up` kills later
SWEEP_THREADS = 8  # as are events' and bots': enough that several projects are served while one's server hangs
EVENT_THREADS = 8
BOT_THREADS = 8
ALERT_THREADS = 2  # alerts are few, and may wait for each other.
FALLBACK_BATCH = 50  # fall-backs of one round; the next round takes the others.
OUTAGE_SECONDS = 15.0  # between two looks for channels over which nothing gets out.
WIPE_SECONDS = 30.0  # between two rounds that wipe the codes of sessions that are over.
BUDGET_SECONDS = 5.0  # between two looks at the budgets of the day.
GUARD_SECONDS = 5.0  # between two sweeps of the guard, at least.
GUARD_SHARE = 0.05  # the part of the time that the guard's sweep may take at most: it runs less often.
PURGE_ASK_SECONDS = 60.0  # between two questions whether old rows are due to go
FIGURES_ASK_SECONDS = 5.0  # between two questions whether the figures are due to be counted
# Before a worker's first count. After a time without workers, what is over must be closed before its hours are counted.
FIGURES_FIRST_SECONDS = 20.0
BALANCES_ASK_SECONDS = 60.0  # between two questions whether vendors are due to be asked for their balances
BALANCES_FIRST_SECONDS = 60.0  # before a worker's first: a worker that just started has messages to deliver
DIGEST_SECONDS = 300.0  # between two looks for digests that are due
DELETION_ASK_SECONDS = 10.0  # between two looks for projects that are deleted


def run(*, threads: int, holds_connections: bool = False, alive_file: Path | None = None) -> None:
    """Deliver with ``threads`` threads until SIGTERM or SIGINT; calls under way are finished first.

    Raises :class:`OSError` where ``alive_file`` cannot be written.
    """
    alive = LivenessFile(alive_file)
    stopping = threading.Event()
    signals: SimpleQueue[int] = SimpleQueue()  # unlike an event, safe in a signal handler
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda number, _: signals.put(number))
    addresses.keep_patterns()
    languages()
    actors = [deliver_message, deliver_connected] if holds_connections else [deliver_message]
    projects = RecentProjects()
    dispatch.start_offering(Shares(threads, projects))
    worker = dramatiq.Worker(
        broker, queues={actor.queue_name for actor in actors}, worker_threads=threads, worker_timeout=1000
    )
    row = workers.introduce(threads=threads, holds_connections=holds_connections)
    polling = pollers(stopping, projects, row)
    if holds_connections:
        polling.append(connection_poller(stopping))
        with suppress(DatabaseError):  # the poller tries again
            connected.keep_open()  # before the first message needs one
    if use := process_figures.start("worker", threads=threads):
        broker.add_middleware(ThreadFigures(use))
    worker.start()
    for poller in polling:
        poller.start()
    log.info("The worker is ready with %s threads.", threads)
    while not _came(signals, BEAT_SECONDS):
        alive.beat(polling)
    log.info("The worker is stopping.")
    stopping.set()
    for poller in polling:
        poller.wake.set()
    dispatch.stop_offering()
    give_up_at = time.monotonic() + STOP_SECONDS
    worker.stop(timeout=int(STOP_SECONDS * 1000))
    for poller in polling:
        poller.join(max(0.0, give_up_at - time.monotonic()))
    connected.close_all()
    with suppress(DatabaseError):  # without this, the worker counts as gone a minute later
        workers.leave(row)
    connections.close_all()
    alive.remove()


def _came(signals: SimpleQueue[int], seconds: float) -> bool:
    """Wait for a signal for this long."""
    try:
        signals.get(timeout=seconds)
    except Empty:
        return False
    return True


class GuardSweep:
    """Has the guard look over the last hour now and then. It runs before alerts are told, as it may raise some."""

    def __init__(self) -> None:
        self.look_at = 0.0

    def __call__(self) -> None:
        began = time.monotonic()
        if began < self.look_at:
            return
        findings.sweep()
        took = time.monotonic() - began
        self.look_at = began + max(GUARD_SECONDS, took / GUARD_SHARE)


class PeriodicLease(Generic[Run]):
    """Asks ``claim_run`` now and then for the next run of recurring work. One worker of all gets it."""

    def __init__(self, claim_run: Callable[[], list[Run]], *, every_seconds: float, first_seconds: float = 0.0) -> None:
        self.claim_run, self.every_seconds = claim_run, every_seconds
        self.ask_at = time.monotonic() + first_seconds

    def __call__(self, free_threads: int, in_progress: list[Run]) -> list[Run]:
        now = time.monotonic()
        if now < self.ask_at:
            return []
        found = self.claim_run()  # what fails is asked again in the next round
        self.ask_at = now + self.every_seconds
        return found


class DeletionClaim:
    """Claims deleted projects, whose rows are to go: now and then, and at once again while there is one.

    One whose rows do not go for an error waits, so that it holds up no other.
    """

    def __init__(self) -> None:
        self.look_at = 0.0
        self.waiting: dict[int, float] = {}  # when a project's turn comes again

    def __call__(self, free_threads: int, in_progress: list[tuple[int]]) -> list[tuple[int]]:
        now = time.monotonic()
        if now < self.look_at:
            return []
        self.waiting = {project: until for project, until in self.waiting.items() if until > now}
        found = deletion.due(limit=free_threads, but=self.waiting)
        self.look_at = now if found else now + DELETION_ASK_SECONDS
        return found

    def carry_on(self, row: tuple[int]) -> None:
        try:
            deletion.carry_on(row[0])
        except Exception:
            self.waiting[row[0]] = time.monotonic() + DELETION_ASK_SECONDS
            raise


def _count(since: datetime) -> None:
    """Count the figures, and hold against them the budgets in money and what each provider delivered before."""
    rollups.count_since(since)
    cost_budgets.watch()
    collapses.watch()


def _upkeep(row: Worker) -> PeriodicRunner:
    """Return the small tasks that one thread does by turns."""
    return PeriodicRunner(
        [
            (workers.BEAT_SECONDS, lambda: workers.beat(row)),
            (0.0, lambda: fallback.send_fallbacks(limit=FALLBACK_BATCH)),
            (0.0, simulated.report),
            (0.0, sweeping.expire_messages),
            (BUDGET_SECONDS, sweeping.raise_budget_alerts),
            (OUTAGE_SECONDS, outages.watch),
            (DIGEST_SECONDS, digest.raise_due),
            (WIPE_SECONDS, sweeping.wipe_codes),
        ]
    )


def pollers(stopping: threading.Event, projects: RecentProjects, row: Worker) -> list[Poller[Any]]:
    """Return the sweep and the other pollers, whose work has threads of its own and so delays no message."""
    return [*_senders(stopping, projects), *_keepers(stopping, row)]


def _senders(stopping: threading.Event, projects: RecentProjects) -> list[Poller[Any]]:
    """Return the pollers by which something leaves the service: codes, events, alerts, invitations, bots' answers."""
    shares = Shares(SWEEP_THREADS, projects)
    return [
        Poller(
            "the sweep",
            stopping,
            claim=lambda free, _: dispatch.claim_due(limit=free, idle_seconds=IDLE_SECONDS, shares=shares),
            work=lambda message: dispatch.deliver_claimed(message, shares),
            threads=SWEEP_THREADS,
        ),
        Poller(
            "events",
            stopping,
            claim=lambda free, in_progress: events.claim_due(
                limit=free, busy=[event.project_id for event in in_progress]
            ),
            work=events.deliver,
            threads=EVENT_THREADS,
        ),
        Poller(
            "alerts",
            stopping,
            claim=lambda free, _: alerts.claim_due(limit=free),
            work=alerts.deliver,
            before_round=GuardSweep(),
            threads=ALERT_THREADS,
        ),
        Poller(
            "invitations",
            stopping,
            claim=lambda free, _: invitations.claim_due(limit=free),
            work=invitations.deliver,
        ),
        Poller(
            "the bots",
            stopping,
            claim=lambda free, in_progress: bot_updates.claim_due(
                limit=free, busy=[update.project_id for update in in_progress]
            ),
            work=bot_updates.act,
            threads=BOT_THREADS,
            queue_name=BOTS,
        ),
    ]


def _keepers(stopping: threading.Event, row: Worker) -> list[Poller[Any]]:
    """Return the pollers that keep the database in order: upkeep, purge, figures, balances, deletions of projects."""
    deleted = DeletionClaim()
    return [
        Poller("the upkeep", stopping, before_round=_upkeep(row)),
        Poller(
            "the purge",
            stopping,
            claim=PeriodicLease(retention.claim_run, every_seconds=PURGE_ASK_SECONDS),
            work=lambda _: retention.purge(),
        ),
        Poller(
            "the figures",
            stopping,
            claim=PeriodicLease(
                rollups.claim_run, every_seconds=FIGURES_ASK_SECONDS, first_seconds=FIGURES_FIRST_SECONDS
            ),
            work=lambda run: _count(run[1]),
        ),
        Poller(
            "the balances",
            stopping,
            claim=PeriodicLease(
                balances.claim_run, every_seconds=BALANCES_ASK_SECONDS, first_seconds=BALANCES_FIRST_SECONDS
            ),
            work=lambda _: balance_alerts.run(),
        ),
        Poller("the deletion", stopping, claim=deleted, work=deleted.carry_on),
    ]


def connection_poller(stopping: threading.Event) -> Poller[Any]:
    """Return the poller that keeps the open connections to those of the configuration. It has no rows to work on."""
    return Poller("the connections", stopping, before_round=connected.keep_open)
