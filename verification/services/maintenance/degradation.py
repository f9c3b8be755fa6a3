"""The service's condition: what waits, what is set aside, what ran last. /readyz, ``status`` and /metrics tell it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.core.cache import cache
from django.db import connection
from django.db.models import Count, Min, Q
from django.utils import timezone
from django_redis.exceptions import ConnectionInterrupted
from redis.exceptions import RedisError

from verification.core.caching import FRESH_SECONDS, cached_for
from verification.models import Channel, CircuitBreaker, Message, MessageStatus, Provider, Upkeep, WebhookEvent, Worker
from verification.services.maintenance import retention
from verification.services.records import workers
from verification.worker.broker import BOTS, CONNECTIONS, MESSAGES, broker

GUARD = "guard"  # the name of the guard's row in Upkeep
GUARD_LATE = timedelta(seconds=60)  # the guard sweeps every 5 seconds, and on a busy database less often
MESSAGES_LATE = timedelta(seconds=30)  # a worker takes a message within a second or two, so this one found none
CALLBACKS_LATE = timedelta(minutes=5)  # an event that is due is told within a second, unless many are
LOOKED_AT = 10_000  # waiting rows that are counted, the oldest: beyond that, more of them tell nothing new
QUEUES = (MESSAGES, CONNECTIONS, BOTS)
KNOCK = "condition"  # a key of the cache that nobody writes

# The parts that may be degraded, with what that means.
DEGRADED = {
    "broker": "Valkey or Redis does not answer: the workers' sweep delivers the messages, a second or two late.",
    "cache": "Valkey or Redis does not answer: each process counts limits per second and per address on its own.",
    "workers": "No worker has reported for a minute: nothing is being delivered.",
    "channels": "Every provider of a channel is paused after repeated failures: users get no codes over it.",
    "backlog": "Messages wait for a worker: there are too few threads, or the providers are slow.",
    "callbacks": "Callbacks and other events wait: there are too few workers, or customers' servers are slow.",
    "sweep": "The traffic guard has not swept for a minute: some blocks start late.",
    "purge": "The purge of old rows has missed two periods.",
}


@dataclass(frozen=True, slots=True)
class Queue:
    """Rows that are due and that nobody works on. ``age`` is how long the oldest is due, in seconds."""

    depth: int
    age: float


@dataclass(frozen=True, slots=True)
class Condition:
    """The condition at one moment.

    ``wake_ups`` are those that wait at the broker, None while it is away. ``aside`` are the enabled providers that are
    set aside, ``alone`` those of them that no other provider stands in for.
    """

    workers: tuple[Worker, ...]
    messages: Queue
    being_sent: int
    callbacks: Queue
    aside: tuple[CircuitBreaker, ...]
    alone: tuple[CircuitBreaker, ...]
    last_purge: datetime | None
    last_guard_sweep: datetime | None
    first_project_at: datetime | None
    wake_ups: dict[str, int] | None
    has_cache: bool
    clock_ahead: float  # seconds by which this machine's clock is ahead of the database's

    @property
    def degraded(self) -> tuple[str, ...]:
        """The parts that are degraded, by their names in :data:`DEGRADED`."""
        now = timezone.now()
        found = {
            "broker": self.wake_ups is None,
            "cache": not self.has_cache,
            "workers": not self.workers,
            "channels": bool(self.alone),
            "backlog": self.messages.age > MESSAGES_LATE.total_seconds(),
            "callbacks": self.callbacks.age > CALLBACKS_LATE.total_seconds(),
            "sweep": bool(self.workers) and self._is_guard_late(now),
            "purge": retention.is_overdue(self.last_purge or self.first_project_at),
        }
        return tuple(name for name, is_so in found.items() if is_so)

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
    runs = dict(Upkeep.objects.filter(name__in=(retention.RUN, GUARD)).values_list("name", "finished_at"))
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
    wake_ups = _wake_ups()
    aside = _aside()
    return Condition(
        workers=tuple(workers.running()),
        messages=_queue(counts["due"], counts["oldest"], now),
        being_sent=counts["being_sent"],
        callbacks=_queue(callbacks["due"], callbacks["oldest"], now),
        aside=aside,
        alone=tuple(_alone(aside)),
        last_purge=runs.get(retention.RUN),
        last_guard_sweep=runs.get(GUARD),
        first_project_at=retention.first_project_at(),
        wake_ups=wake_ups,
        has_cache=wake_ups is not None and _has_cache(),
        clock_ahead=here - now.timestamp(),
    )


def _aside() -> tuple[CircuitBreaker, ...]:
    rows = CircuitBreaker.objects.filter(open_until__isnull=False, provider__in=Provider.objects.working())
    return tuple(rows.select_related("provider").order_by("provider"))


def _alone(aside: tuple[CircuitBreaker, ...]) -> Iterator[CircuitBreaker]:
    """Yield those that are set aside on a channel over which nothing gets out for some project."""
    if not aside:
        return
    channels = {each.provider.channel for each in aside}
    sound = Provider.objects.working().filter(channel__in=channels).exclude(breaker__open_until__isnull=False)
    serving: set[tuple[int | None, str]] = set(sound.values_list("project_id", "channel"))
    offered = Channel.objects.filter(
        type__in=channels, is_active=True, project__is_enabled=True, project__deleted_at=None
    ).values_list("project", "type", "project__is_sandbox")
    silent = {
        (project, channel, is_sandbox)
        for project, channel, is_sandbox in offered
        if (project, channel) not in serving and (is_sandbox or (None, channel) not in serving)
    }
    for breaker in aside:
        own, channel = breaker.provider.project_id, breaker.provider.channel
        if any(
            channel == lost and (own == project or (own is None and not is_sandbox))
            for project, lost, is_sandbox in silent
        ):
            yield breaker


def _database_clock() -> datetime:
    with connection.cursor() as cursor:
        cursor.execute("SELECT clock_timestamp()")
        now: datetime = cursor.fetchone()[0]
    return now


def _queue(depth: int, oldest: datetime | None, now: datetime) -> Queue:
    return Queue(depth, (now - oldest).total_seconds() if oldest else 0.0)


def _wake_ups() -> dict[str, int] | None:
    try:
        return {name: broker.length(name) for name in QUEUES}
    except RedisError:
        return None


def _has_cache() -> bool:
    try:
        cache.get(KNOCK)
    except (RedisError, ConnectionInterrupted):
        return False
    return True
