"""The queue and its workers, as ``manage.py status`` and /readyz see them, and the workers' versions and kinds."""

from __future__ import annotations

from collections.abc import Iterator

from django.conf import settings

from providers import registry
from verification.models import ALL_SENDING, Provider
from verification.services.maintenance import degradation
from verification.services.maintenance.doctor.findings import Aims, Finding, Severity, critical, warning

HOOKS = "hooks_per_second"  # the rule behind HOOKS_PER_SECOND, which no project sets
CONNECTIONS = "connections"  # the kind of a worker that holds connections to providers
VALKEY = (
    "If Valkey does not answer, start it again; it stores nothing that has to be restored. If it rejects writes, raise "
    "its maxmemory, free its disk, or point REDIS_URL to the primary."
)
# What to do about each part of condition.DEGRADED, and how bad it is.
REMEDIES = {
    "database": (
        Severity.CRITICAL,
        "Free room on PostgreSQL's disk, or give it more memory; its log says what it lacks.",
    ),
    "broker": (Severity.WARNING, VALKEY),
    "cache": (Severity.WARNING, VALKEY),
    "workers": (Severity.CRITICAL, "Start manage.py worker. If it ends at once, its last lines say why."),
    "channels": (Severity.CRITICAL, "Run manage.py checkproviders, which tests them again, and add a second provider."),
    "backlog": (Severity.CRITICAL, "Start another worker, or disable a slow provider (manage.py provider disable)."),
    "limits": (Severity.CRITICAL, "The findings limit-reached name each, and the command that raises it."),
    "callbacks": (
        Severity.WARNING,
        "Look for a slow server on the panel's Events page; if there is none, start another worker.",
    ),
    "sweep": (
        Severity.WARNING,
        "The workers run the sweep: check that they are running and that the database is not overloaded.",
    ),
    "upkeep": (Severity.WARNING, "Read the workers' log for what fails; if nothing does, start another worker."),
    "purge": (Severity.WARNING, "Run manage.py purge and read what it prints."),
}


def nothing_is_degraded(aims: Aims) -> Iterator[Finding]:
    for name, meaning in degradation.current().meanings.items():
        severity, remedy = REMEDIES[name]
        yield Finding(severity, f"degraded-{name}", meaning, remedy)


def limits_leave_room(aims: Aims) -> Iterator[Finding]:
    for used in degradation.current().limits:
        where = f"{used.project}, {used.channel}" if used.channel else used.project
        remedy = (
            "Raise HOOKS_PER_SECOND, or start another web process."
            if used.limit == HOOKS
            else f"If it is the project's own traffic: manage.py setproject {used.project_id} {used.setting}=…"
        )
        if used.is_reached:
            yield critical("limit-reached", f"{where}: {used.words}. That is the limit ({used.limit}).", remedy)
        else:
            yield warning("limit-near", f"{where}: {used.words} ({used.limit}).", remedy)


def nothing_is_stopped(aims: Aims) -> Iterator[Finding]:
    for name in degradation.current().stopped:
        yield warning(
            "sending-stopped",
            f"A kill switch stops {'all sending' if name == ALL_SENDING else f'everything over the channel {name}'}.",
            f"Once sending may go on: manage.py killswitch resume {name}",
        )


def workers_have_one_version(aims: Aims) -> Iterator[Finding]:
    others = sorted({worker.version for worker in degradation.current().workers} - {settings.VERSION})
    if others:
        yield warning(
            "worker-version-differs",
            f"Workers run version {', '.join(others)}, and this command is version {settings.VERSION}.",
            "The upgrade is not finished: manage.py status lists the workers. Stop the old ones with SIGTERM.",
        )


def connections_are_held(aims: Aims) -> Iterator[Finding]:
    """Look for a worker that holds connections, where a provider needs one (SMPP)."""
    running = degradation.current().workers
    if not running or any(CONNECTIONS in worker.kinds for worker in running):
        return
    needing = Provider.objects.working().filter(type__in=registry.connected_types())
    if names := sorted({row.name for row in needing}):
        yield critical(
            "no-connections-worker",
            f"No worker opens connections, but these providers need one: {', '.join(names)}.",
            "Start one worker with --connections.",
        )


CHECKS = (nothing_is_degraded, limits_leave_room, nothing_is_stopped, workers_have_one_version, connections_are_held)
