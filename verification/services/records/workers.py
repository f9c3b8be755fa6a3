"""The workers that run: each keeps a row of its own up to date."""

from __future__ import annotations

import os
import socket
from datetime import timedelta

from django.conf import settings
from django.db.models import QuerySet
from django.db.models.functions import Now

from verification.models import Worker

BEAT_SECONDS = 10.0  # between two updates of a worker's row
SILENT_FOR = timedelta(seconds=60)  # the silence after which a worker counts as gone: a busy database delays beats
KEPT = timedelta(days=1)  # the row of a worker that died stays this long, for whoever looks into it


def introduce(*, threads: int, holds_connections: bool) -> Worker:
    """Return a row for this process, still unsaved."""
    return Worker(
        host=socket.gethostname()[:255],
        pid=os.getpid(),
        version=settings.VERSION,
        threads=threads,
        kinds=["messages", "connections"] if holds_connections else ["messages"],
    )


def beat(worker: Worker) -> None:
    """Note that the worker runs, by the database's clock, which all workers share."""
    if not Worker.objects.filter(pk=worker.pk).update(seen_at=Now()):
        worker.save(force_insert=True)


def leave(worker: Worker) -> None:
    Worker.objects.filter(pk=worker.pk).delete()


def running() -> QuerySet[Worker]:
    return Worker.objects.filter(seen_at__gte=Now() - SILENT_FOR).order_by("host", "pid")


def gone() -> QuerySet[Worker]:
    """Return the workers that have been silent for a day, for the purge."""
    return Worker.objects.filter(seen_at__lt=Now() - KEPT)
