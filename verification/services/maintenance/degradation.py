"""The service's condition: what waits, what is set aside, what ran last. /readyz, ``status`` and /metrics tell it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import NamedTuple

from django.core.cache import cache
from django.db import connection
from django.db.models import Count, Exists, Min, OuterRef, Q, QuerySet
from django.utils import timezone
from django_redis.exceptions import ConnectionInterrupted
from redis.exceptions import RedisError

from verification.core import valkey
from verification.core.caching import FRESH_SECONDS, cached_for
from verification.models import (
    Alert,
    BotUpdate,
    Channel,
    CircuitBreaker,
    KillSwitch,
    Message,
    MessageStatus,
    Provider,
    Upkeep,
    WebhookEvent,
    Worker,
)
from verification.services.analytics import rollups
from verification.services.maintenance import health, retention, used_limits
from verification.services.maintenance.used_limits import UsedLimit
from verification.services.records import workers
from verification.services.records.faults import last_refusal
from verification.worker.broker import BOTS, CONNECTIONS, MESSAGES, broker

GUARD = "guard"  # the name of the guard's row in Upkeep
BACKUP = "backup"  # that of the row which deploy/backup writes
GUARD_LATE = timedelta(seconds=60)  # the guard sweeps every 5 seconds, and on a busy database less often
MESSAGES_LATE = timedelta(seconds=30)  # a worker takes a message within a second or two, so this one found none
CALLBACKS_LATE = timedelta(minutes=5)  # an event that is due is told within a second, unless many are
# How late other work may be: fall-backs are due within seconds, an alert's lease lasts three minutes.
FALLBACKS_LATE, UPDATES_LATE, ALERTS_LATE = timedelta(seconds=60), timedelta(seconds=60), timedelta(minutes=5)
FIGURES_LATE = timedelta(minutes=10)  # they are counted once a minute, and budgets in money go by them
LOOKED_AT = 10_000  # waiting rows that are counted, the oldest: beyond that, more of them tell nothing new
QUEUES = (MESSAGES, CONNECTIONS, BOTS)
KNOCK, KNOCK_SECONDS = "condition", 60  # a key of the cache that nobody reads

VALKEY = (
    "If Valkey does not answer, start it again; it stores nothing that has to be restored. If it rejects writes, raise "
    "its maxmemory, free its disk, or point REDIS_URL to the primary."
)


class Part(NamedTuple):
    """A part that may be degraded: what that means, and what the operator does about it."""

    meaning: str
    remedy: str
    is_critical: bool = False


PARTS = {
    "database": Part(
        "The database refused to write within the last minute: its disk is full, or it lacks memory.",
        "Free room on PostgreSQL's disk, or give it more memory; its log says what it lacks.",
        is_critical=True,
    ),
    "broker": Part(
        "Valkey or Redis does not answer or rejects writes: the workers' sweep delivers the messages, a second or two"
        " late.",
        VALKEY,
    ),
    "cache": Part(
        "Valkey or Redis does not answer or rejects writes: each process counts limits per second and per address on"
        " its own.",
        VALKEY,
    ),
    "workers": Part(
        "No worker has reported for a minute: nothing is being delivered.",
        "Start manage.py worker. If it ends at once, its last lines say why.",
        is_critical=True,
    ),
    "channels": Part(
        "Every provider of a channel is paused after repeated failures: users get no codes over it.",
        "Run manage.py checkproviders, which tests them again, and add a second provider.",
        is_critical=True,
    ),
    "backlog": Part(
        "Messages wait for a worker: there are too few threads, or the providers are slow.",
        "Start another worker, or disable a slow provider (manage.py provider disable).",
        is_critical=True,
    ),
    "limits": Part(
        "A project or channel has used up a limit: its users get no codes until it resets or is raised.",
        "The findings limit-reached name each, and the command that raises it.",
        is_critical=True,
    ),
    "callbacks": Part(
        "Callbacks and other events wait: there are too few workers, or customers' servers are slow.",
        "Look for a slow server on the panel's Events page; if there is none, start another worker.",
    ),
    "sweep": Part(
        "The traffic guard has not swept for a minute: some blocks start late.",
        "The workers run the sweep: check that they are running and that the database is not overloaded.",
    ),
    "upkeep": Part(
        "Work that the workers do by the clock is late.",
        "Read the workers' log for what fails; if nothing does, start another worker.",
    ),
    "purge": Part("The purge of old rows has missed two periods.", "Run manage.py purge and read what it prints."),
}


@dataclass(frozen=True, slots=True)
class Queue:
    """Rows that are due and that nobody works on. ``age`` is how long the oldest is due, in seconds."""

    depth: int
    age: float


@dataclass(frozen=True, slots=True)
class Condition:
    """The condition at one moment.

    ``wake_ups`` are those that wait at the broker, None while it fails. ``faults`` has the reasons why the database,
    the broker and the cache do not do what we need of them, and what of the upkeep is late, by part. ``aside`` are the
    enabled providers that are set aside, ``alone`` those of them that no other provider stands in for.
    """

    workers: tuple[Worker, ...]
    messages: Queue
    being_sent: int
    callbacks: Queue
    aside: tuple[CircuitBreaker, ...]
    alone: tuple[CircuitBreaker, ...]
    last_purge: datetime | None
    last_guard_sweep: datetime | None
    last_backup: datetime | None
    first_project_at: datetime | None
    wake_ups: dict[str, int] | None
    faults: dict[str, str]
    limits: tuple[UsedLimit, ...]  # that are used up, or nearly
    stopped: tuple[str, ...]  # the kill switches that are on
    clock_ahead: float  # seconds by which this machine's clock is ahead of the database's

    @property
    def degraded(self) -> tuple[str, ...]:
        """The parts that are degraded, by their names in :data:`PARTS`."""
        now = timezone.now()
        found = {
            **{name: name in self.faults for name in ("database", "broker", "cache")},
            "workers": not self.workers,
            "channels": bool(self.alone),
            "backlog": self.messages.age > MESSAGES_LATE.total_seconds(),
            "limits": any(each.is_reached for each in self.limits),
            "callbacks": self.callbacks.age > CALLBACKS_LATE.total_seconds(),
            "sweep": bool(self.workers) and self._is_guard_late(now),
            "upkeep": "upkeep" in self.faults,
            "purge": retention.is_overdue(self.last_purge or self.first_project_at),
        }
        return tuple(name for name, is_so in found.items() if is_so)

    @property
    def meanings(self) -> dict[str, str]:
        """What is degraded, each with its sentence and, where a server said why, with its own words."""
        return {
            name: PARTS[name].meaning + (f" ({self.faults[name]})" if name in self.faults else "")
            for name in self.degraded
        }

    def _is_guard_late(self, now: datetime) -> bool:
        if self.last_guard_sweep is None:  # a worker that has just started sweeps at once
            return all(worker.started_at < now - GUARD_LATE for worker in self.workers)
        return self.last_guard_sweep < now - GUARD_LATE


@cached_for(FRESH_SECONDS)
def current() -> Condition:
    """Return the condition as of at most a second ago. Raises Django's database errors."""
    began = time.time()
    now = _database_clock()
    here = (began + time.time()) / 2
    runs = dict(Upkeep.objects.filter(name__in=(retention.RUN, GUARD, BACKUP)).values_list("name", "finished_at"))
    waiting = Message.objects.filter(status__in=(MessageStatus.QUEUED, MessageStatus.SENDING)).order_by("created_at")[
        :LOOKED_AT
    ]
    counts = waiting.aggregate(
        due=Count("pk", filter=Q(claimed_at=None, due_at__lte=now)),
        oldest=Min("due_at", filter=Q(claimed_at=None, due_at__lte=now)),
        being_sent=Count("pk", filter=Q(claimed_at__isnull=False)),
    )
    due_events = WebhookEvent.objects.filter(due_at__lte=now).order_by()[:LOOKED_AT]
    callbacks = due_events.aggregate(due=Count("pk"), oldest=Min("due_at"))
    running = tuple(workers.running())
    faults = _faults() | _late_work(now, running)
    aside = _aside()
    return Condition(
        workers=running,
        messages=_queue(counts["due"], counts["oldest"], now),
        being_sent=counts["being_sent"],
        callbacks=_queue(callbacks["due"], callbacks["oldest"], now),
        aside=aside,
        alone=tuple(_alone(aside)),
        last_purge=runs.get(retention.RUN),
        last_guard_sweep=runs.get(GUARD),
        last_backup=runs.get(BACKUP),
        first_project_at=retention.first_project_at(),
        wake_ups=None if "broker" in faults else {name: broker.length(name) for name in QUEUES},
        faults=faults,
        limits=used_limits.told(),
        stopped=tuple(KillSwitch.objects.order_by("subject").values_list("subject", flat=True)),
        clock_ahead=here - now.timestamp(),
    )


def _aside() -> tuple[CircuitBreaker, ...]:
    rows = CircuitBreaker.objects.filter(open_until__isnull=False, provider__in=Provider.objects.working())
    return tuple(rows.select_related("provider").order_by("provider"))


def unserved(serving: QuerySet[Provider]) -> QuerySet[Channel]:
    """Return the channels that projects offer and none of these providers serves. Test projects have their own only."""
    of_channel = serving.filter(channel=OuterRef("type"))
    own, all_have = of_channel.filter(project=OuterRef("project")), of_channel.filter(project=None)
    offered = Channel.objects.filter(is_active=True, project__is_enabled=True, project__deleted_at=None)
    lonely = offered.filter(~Exists(own) & (Q(project__is_sandbox=True) | ~Exists(all_have)))
    return lonely.select_related("project").order_by("project", "position")


def _alone(aside: tuple[CircuitBreaker, ...]) -> Iterator[CircuitBreaker]:
    """Yield those that are set aside on a channel over which nothing gets out for some project."""
    if not aside:
        return
    sound = Provider.objects.working().exclude(breaker__open_until__isnull=False)
    silent = unserved(sound).filter(type__in={each.provider.channel for each in aside})
    for breaker in aside:
        own, channel = breaker.provider.project_id, breaker.provider.channel
        if any(
            row.type == channel and (own == row.project_id or (own is None and not row.project.is_sandbox))
            for row in silent
        ):
            yield breaker


def _database_clock() -> datetime:
    with connection.cursor() as cursor:
        cursor.execute("SELECT clock_timestamp()")
        now: datetime = cursor.fetchone()[0]
    return now


def _queue(depth: int, oldest: datetime | None, now: datetime) -> Queue:
    return Queue(depth, (now - oldest).total_seconds() if oldest else 0.0)


def _late_work(now: datetime, running: tuple[Worker, ...]) -> dict[str, str]:
    """Return what else is late although workers run. Each is the first row of an index."""
    due = {
        "fall-backs": Message.objects.filter(fallback_at__lt=now - FALLBACKS_LATE),
        "users' actions in bots": BotUpdate.objects.filter(due_at__lt=now - UPDATES_LATE),
        "alerts": Alert.objects.filter(due_at__lt=now - ALERTS_LATE),
    }
    late = [name for name, rows in due.items() if rows.exists()]
    if any(worker.started_at < now - FIGURES_LATE for worker in running):
        counted = Upkeep.objects.filter(name=rollups.FIGURES, finished_at__gt=now - FIGURES_LATE)
        late += [] if counted.exists() else ["figures"]
    return {"upkeep": ", ".join(late)} if late and running else {}


def _faults() -> dict[str, str]:
    """Ask each server for what the service needs it to do, which is to write."""
    found = {"database": last_refusal() or (refusal if (refusal := health.failing()) in health.UNSERVING else "")}
    try:
        broker.knock()
    except RedisError as error:
        found |= dict.fromkeys(("broker", "cache"), valkey.reason(error))  # it is one server
    else:
        try:
            cache.set(KNOCK, "", KNOCK_SECONDS)
        except (RedisError, ConnectionInterrupted) as error:
            found["cache"] = valkey.reason(error)
    return {name: reason for name, reason in found.items() if reason}
