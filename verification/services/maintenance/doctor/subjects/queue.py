"""The queue and its workers, as ``manage.py status`` and /readyz see them, and the workers' versions and kinds."""

from __future__ import annotations

from collections.abc import Iterator

from django.conf import settings

from providers import registry
from verification.models import Provider
from verification.services.maintenance import degradation
from verification.services.maintenance.doctor.findings import Aims, Finding, Severity, critical, warning

CONNECTIONS = "connections"  # the kind of a worker that holds connections to providers
# What to do about each part of condition.DEGRADED, and how bad it is.
REMEDIES = {
    "broker": (Severity.WARNING, "Start Valkey again; it stores nothing that has to be restored. Check REDIS_URL."),
    "cache": (Severity.WARNING, "Start Valkey again; it stores nothing that has to be restored. Check REDIS_URL."),
    "workers": (Severity.CRITICAL, "Start manage.py worker. If it ends at once, its last lines say why."),
    "channels": (Severity.CRITICAL, "Run manage.py checkproviders, which tests them again, and add a second provider."),
    "backlog": (Severity.CRITICAL, "Start another worker, or disable a slow provider (manage.py provider disable)."),
    "callbacks": (
        Severity.WARNING,
        "Look for a slow server on the panel's Events page; if there is none, start another worker.",
    ),
    "sweep": (
        Severity.WARNING,
        "The workers run the sweep: check that they are running and that the database is not overloaded.",
    ),
    "purge": (Severity.WARNING, "Run manage.py purge and read what it prints."),
}


def nothing_is_degraded(aims: Aims) -> Iterator[Finding]:
    for name in degradation.current().degraded:
        severity, remedy = REMEDIES[name]
        yield Finding(severity, f"degraded-{name}", degradation.DEGRADED[name], remedy)


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


CHECKS = (nothing_is_degraded, workers_have_one_version, connections_are_held)
