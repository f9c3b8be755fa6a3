"""What a worker does by itself, and how often: the sweep for lost wake-ups, and all work that nothing wakes it for."""

from __future__ import annotations

import threading
import time
from datetime import datetime
from typing import Any

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
from verification.services.users import invitations
from verification.worker.broker import BOTS
from verification.worker.poller import Every, PeriodicRunner, Poller

IDLE_SECONDS = 1.0  # after which the sweep takes a message: its wake-up must have been lost
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
            before_round=Every(GUARD_SECONDS, findings.sweep, share=GUARD_SHARE),  # the guard raises alerts
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
            claim=Every(PURGE_ASK_SECONDS, retention.claim_run),
            work=lambda _: retention.purge(),
        ),
        Poller(
            "the figures",
            stopping,
            claim=Every(FIGURES_ASK_SECONDS, rollups.claim_run, first_seconds=FIGURES_FIRST_SECONDS),
            work=lambda run: _count(run[1]),
        ),
        Poller(
            "the balances",
            stopping,
            claim=Every(BALANCES_ASK_SECONDS, balances.claim_run, first_seconds=BALANCES_FIRST_SECONDS),
            work=lambda _: balance_alerts.run(),
        ),
        Poller("the deletion", stopping, claim=deleted, work=deleted.carry_on),
    ]


def connection_poller(stopping: threading.Event) -> Poller[Any]:
    """Return the poller that keeps the open connections to those of the configuration. It has no rows to work on."""
    return Poller("the connections", stopping, before_round=connected.keep_open)


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
