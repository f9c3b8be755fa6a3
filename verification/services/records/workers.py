"""Who delivers: each worker keeps a row of its own up to date while it runs."""

from __future__ import annotations

import os
import socket
from datetime import timedelta

from django.conf import settings
from django.db.models import QuerySet
from django.db.models.functions import Now

from verification.models import Worker

BEAT_SECONDS = 10.0
SILENT_FOR = timedelta(seconds=60)  # without a beat, until a worker counts as gone: a busy database may eat a few
KEPT = timedelta(days=1)  # the row of one that ended without a word, for who looks into it


def introduce(*, threads: int, holds_connections: bool) -> Worker:
    """The row of this process, still unsaved."""
    return Worker(
        host=socket.gethostname()[:255],
        pid=os.getpid(),
        version=settings.VERSION,
        threads=threads,
        kinds=["messages", "connections"] if holds_connections else ["messages"],
    )


def beat(worker: Worker) -> None:
    """Tell that it runs. The database's clock says when, so that all workers go by one."""
    if not Worker.objects.filter(pk=worker.pk).update(seen_at=Now()):
        worker.save(force_insert=True)


def leave(worker: Worker) -> None:
    Worker.objects.filter(pk=worker.pk).delete()


def running() -> QuerySet[Worker]:
    return Worker.objects.filter(seen_at__gte=Now() - SILENT_FOR).order_by("host", "pid")


def gone() -> QuerySet[Worker]:
    """Those long silent, for the purge."""
    return Worker.objects.filter(seen_at__lt=Now() - KEPT)
