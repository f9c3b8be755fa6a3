"""The text that Prometheus reads: the counts of all processes of this machine, and what the database tells now."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import takewhile
from pathlib import Path

from django.conf import settings
from django.db import DatabaseError, InterfaceError, connection
from django.db.models import Sum
from django.utils import timezone

from verification.core import metrics
from verification.models import Decision, Provider
from verification.services.maintenance import degradation, health, used_limits

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
MAX_NAMED = metrics.MAX_PROVIDERS  # providers with lines of their own; an installation with more shows the first ones
MAX_ANSWERS = 5  # of one provider that are looked at: more in a row tell an operator nothing new
DECISION_HOURS = 2  # this hour's rows and the last one's
Samples = Sequence[tuple[Sequence[str], float]]
_DATABASE = """
    SELECT count(*) FILTER (WHERE backend_type = 'client backend'),
           count(*) FILTER (WHERE backend_type = 'client backend' AND state = 'idle in transaction'),
           coalesce(max(extract(epoch FROM clock_timestamp() - xact_start))
                    FILTER (WHERE datname = current_database()), 0),
           current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int,
           pg_database_size(current_database())
    FROM pg_stat_activity
"""
_TRAFFIC = """
    SELECT xact_commit, xact_rollback, deadlocks, temp_bytes, blks_read, blks_hit
    FROM pg_stat_database WHERE datname = current_database()
"""


# The last answers of each provider, the newest first. Those before a day ago, or before a check that found its settings
# good, tell nothing of the present.
_ANSWERS = """
    SELECT p.id, array_agg(last.outcome ORDER BY last.created_at DESC)
    FROM verification_provider AS p CROSS JOIN LATERAL (
        SELECT outcome, created_at FROM verification_deliveryattempt
        WHERE provider_id = p.id AND created_at > greatest(p.checked_at, now() - interval '1 day')
        ORDER BY created_at DESC LIMIT %s
    ) AS last
    WHERE p.id = ANY(%s) GROUP BY p.id
"""


@dataclass(frozen=True, slots=True)
class DatabaseLoad:
    """Connections in use and the most of them that we may have; seconds of the oldest transaction; bytes."""

    used: int
    idle_in_transaction: int
    oldest: float
    most: int
    size: int


def text() -> bytes:
    """Return all metrics. While the database is away, the counts, the machine's and ``watchword_up``."""
    return _write(_Gauges())


def counted() -> bytes:
    """Return the counts of this machine's processes alone, without a question to the database."""
    return _write()


def _write(*collectors: _Gauges) -> bytes:
    from prometheus_client import CollectorRegistry, generate_latest
    from prometheus_client.multiprocess import MultiProcessCollector

    registry = CollectorRegistry()
    if metrics.is_on() and metrics.folder().is_dir():
        metrics.forget_ended()
        MultiProcessCollector(registry, path=str(metrics.folder()))  # type: ignore[no-untyped-call]
    for collector in collectors:
        registry.register(collector)  # type: ignore[arg-type]  # which asks for the one method that it has
    found: bytes = generate_latest(registry)
    return found


class _Gauges:
    """The collector of what is read at the scrape."""

    def collect(self) -> Iterator[object]:
        yield from _of_machine()
        try:
            families = list(_read())
        except (DatabaseError, InterfaceError):
            families = [_gauge("up", "Whether a part answers and takes writes.", "part", [(("database",), 0)])]
        yield from families


def _gauge(name: str, meaning: str, labels: str, values: Samples) -> object:
    """Return a gauge. ``labels`` are their names, separated by spaces."""
    from prometheus_client.core import GaugeMetricFamily

    family = GaugeMetricFamily(f"watchword_{name}", meaning, labels=labels.split())
    for given, value in values:
        family.add_metric(given, value)
    return family


def _counter(name: str, meaning: str, labels: str, values: Samples) -> object:
    from prometheus_client.core import CounterMetricFamily

    family = CounterMetricFamily(f"watchword_{name}", meaning, labels=labels.split())
    for given, value in values:
        family.add_metric(given, value)
    return family


def _read() -> Iterator[object]:
    yield from _of_condition(degradation.current())
    yield from _of_providers()
    yield _of_decisions()
    yield from _of_database()


def _of_machine() -> Iterator[object]:
    """What needs no database: a full disk may be why it is away."""
    sizes: list[tuple[tuple[str, str], float]] = []
    for name, folder in disks().items():
        disk = shutil.disk_usage(folder)
        sizes += [((name, "free"), disk.free), ((name, "all"), disk.total)]
    yield _gauge("disk_bytes", "The disks of WATCHWORD_HOME and METRICS_DIR.", "folder state", sizes)
    yield _gauge("build_info", "The version that answers.", "version", [((settings.VERSION,), 1)])


def disks() -> dict[str, Path]:
    """Return the folders of ours by their settings' names, one of each disk."""
    found = {"WATCHWORD_HOME": _there(settings.HOME_DIR)}
    if settings.METRICS_TOKEN:
        counted_in = _there(settings.METRICS_DIR)
        if counted_in.stat().st_dev != found["WATCHWORD_HOME"].stat().st_dev:
            found["METRICS_DIR"] = counted_in
    return found


def _there(folder: Path) -> Path:
    """Return the folder, or the nearest one above it that exists."""
    return next(each for each in (folder, *folder.absolute().parents) if each.is_dir())


def _of_condition(now: degradation.Condition) -> Iterator[object]:
    parts = {
        "database": health.failing() not in health.UNSERVING,
        "broker": "broker" not in now.faults,
        "cache": "cache" not in now.faults,
    }
    yield _gauge(
        "up", "Whether a part answers and takes writes.", "part", [((name,), is_up) for name, is_up in parts.items()]
    )
    degraded = [((name,), float(name in now.degraded)) for name in degradation.PARTS]
    yield _gauge("degraded", "Whether a part is degraded, as /readyz says.", "part", degraded)
    versions: dict[tuple[str, ...], float] = {}
    for worker in now.workers:
        versions[(worker.version,)] = versions.get((worker.version,), 0) + 1
    yield _gauge("workers", "Worker processes that run.", "version", list(versions.items()) or [(("none",), 0)])
    yield _gauge("worker_threads", "Their threads.", "", [((), sum(worker.threads for worker in now.workers))])
    queues = {"messages": now.messages, "callbacks": now.callbacks}
    depths = [((name,), float(queue.depth)) for name, queue in queues.items()]
    yield _gauge("queue_depth", "Rows that are due and that nobody works on.", "queue", depths)
    ages = [((name,), queue.age) for name, queue in queues.items()]
    yield _gauge("queue_age_seconds", "How long the oldest of them is due.", "queue", ages)
    yield _gauge("messages_being_sent", "Messages that a worker has claimed.", "", [((), now.being_sent)])
    wake_ups = [((name,), float(number)) for name, number in (now.wake_ups or {}).items()]
    yield _gauge("wake_ups", "Wake-ups that wait at the broker.", "queue", wake_ups)
    runs = {"purge": now.last_purge, "guard": now.last_guard_sweep}
    ends = [((name,), since.timestamp()) for name, at in runs.items() if (since := at or now.first_project_at)]
    if now.last_backup:
        ends.append(((degradation.BACKUP,), now.last_backup.timestamp()))
    meaning = "When recurring work last ended; the first project's creation where it never did."
    yield _gauge("last_run_timestamp_seconds", meaning, "work", ends)
    used = [
        ((str(each.project_id), each.project, each.channel, each.limit), each.share)
        for each in used_limits.in_use()[:MAX_NAMED]
    ]
    meaning = "How much of a limit is used, 1 where it is used up; the fullest ones."
    yield _gauge("limit_used_ratio", meaning, "project name channel limit", used)
    yield _gauge("clock_ahead_seconds", "This machine's clock against the database's.", "", [((), now.clock_ahead)])


def _of_providers() -> Iterator[object]:
    rows = Provider.objects.exclude(project__deleted_at__isnull=False).order_by("pk")
    rows = rows.select_related("project", "breaker")[:MAX_NAMED]
    info, aside = [], []
    now = timezone.now()
    for row in rows:
        project = row.project.name if row.project else ""
        info.append(((str(row.pk), row.name, row.type, row.channel, project), float(row.is_enabled)))
        until = row.breaker.open_until if hasattr(row, "breaker") else None
        aside.append(((str(row.pk),), _breaker(until, now)))
    labels = "provider name type channel project"
    yield _gauge("provider_info", "The providers; 0 for one that is switched off.", labels, info)
    yield _gauge(
        "breaker", "0: in use. 1: paused. 0.5: the pause has ended, the next message is a probe.", "provider", aside
    )
    yield _of_answers([row.pk for row in rows])


def _of_answers(providers: list[int]) -> object:
    with connection.cursor() as cursor:
        cursor.execute(_ANSWERS, [MAX_ANSWERS, providers])
        answers = cursor.fetchall()
    in_a_row = [((str(pk), last[0]), len(list(takewhile(last[0].__eq__, last)))) for pk, last in answers]
    meaning = "How many of its last five answers were the newest one's, without another between."
    return _gauge("provider_answers_in_a_row", meaning, "provider outcome", in_a_row)


def _breaker(until: datetime | None, now: datetime) -> float:
    if until is None:
        return 0.0
    return 1.0 if until > now else 0.5


def _of_decisions() -> object:
    since = timezone.now().replace(minute=0, second=0, microsecond=0) - timedelta(hours=DECISION_HOURS - 1)
    rows = (
        Decision.objects.filter(hour__gte=since).order_by().values_list("rule").annotate(Sum("refused"), Sum("count"))
    )
    words = ("refused", "all")
    values = [((rule, word), float(number)) for rule, *both in rows for word, number in zip(words, both, strict=True)]
    return _gauge("decisions", "Lines of the decision log, of this hour and the last.", "rule which", values)


def database_load() -> DatabaseLoad:
    """Ask the PostgreSQL server for its connections, and for its oldest transaction in this database."""
    with connection.cursor() as cursor:
        cursor.execute(_DATABASE)
        return DatabaseLoad(*cursor.fetchone())


def _of_database() -> Iterator[object]:
    load = database_load()
    with connection.cursor() as cursor:
        cursor.execute(_TRAFFIC)
        traffic = cursor.fetchone()
    states = [(("used",), load.used), (("idle_in_transaction",), load.idle_in_transaction), (("most",), load.most)]
    yield _gauge("database_connections", "Connections to the PostgreSQL server.", "state", states)
    yield _gauge("database_oldest_transaction_seconds", "The oldest open transaction.", "", [((), float(load.oldest))])
    yield _gauge("database_size_bytes", "The database.", "", [((), load.size)])
    names = ("commits", "rollbacks", "deadlocks", "temporary_bytes", "blocks_read", "blocks_hit")
    values = [((name,), float(number)) for name, number in zip(names, traffic, strict=True)]
    yield _counter("database_events", "PostgreSQL's own counts, since its statistics were reset.", "event", values)
