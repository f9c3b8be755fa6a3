"""A process's memory of who calls: the keys of the last minute, and one snapshot for each of their projects."""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db.models import Q
from django.utils import timezone

from verification import sql
from verification.fresh import CACHE_SECONDS
from verification.models import ApiKey
from verification.services.projects.snapshot import ProjectConfig

KEPT_SECONDS = 60.0  # from the last reading; what nobody uses is dropped then, so that it holds no memory
MAX_KEYS = 10_000  # that are remembered at once, a few hundred bytes each


@dataclass(frozen=True, slots=True)
class Caller:
    """Whose request this is: the key, its kind, and the project as it was configured a moment ago."""

    key_id: int
    kind: str
    project: ProjectConfig
    expires_at: datetime | None


@dataclass(frozen=True, slots=True)
class _Key:
    id: int
    kind: str
    project_id: int
    expires_at: datetime | None
    read_at: float


@dataclass(frozen=True, slots=True)
class _Snapshot:
    project: ProjectConfig
    read_at: float


class Callers:
    """Keys by digest, and the snapshots that keys of one project share."""

    def __init__(self) -> None:
        self._keys: dict[bytes, _Key] = {}
        self._snapshots: dict[int, _Snapshot] = {}
        self._swept_at = time.monotonic()

    def remembered(self, digest: bytes) -> Caller | None:
        """Return who holds the key, as far as it was read within a second."""
        key = self._keys.get(digest)
        snapshot = self._snapshots.get(key.project_id) if key else None
        if key is None or snapshot is None:
            return None
        oldest = time.monotonic() - CACHE_SECONDS
        if key.read_at < oldest or snapshot.read_at < oldest:
            return None
        return Caller(key.id, key.kind, snapshot.project, key.expires_at)

    def read(self, digest: bytes) -> Caller | None:
        """Return who holds the key, by the database; None for one that is unknown, over or of a disabled project.

        A project's snapshot that another key has just brought is not asked for again.
        """
        now = time.monotonic()  # how old the answer is
        before = self._keys.get(digest)
        snapshot = self._snapshots.get(before.project_id) if before else None
        if snapshot is not None and snapshot.read_at < now - CACHE_SECONDS:
            snapshot = None
        row = sql.call("load_caller", digest=digest, known_project=snapshot and snapshot.project.id)
        self._sweep(now)
        if row is None:
            self._keys.pop(digest, None)
            return None
        if snapshot is None or row.project is not None:
            snapshot = self._snapshots[row.project_id] = _Snapshot(ProjectConfig(row.project), now)
        if len(self._keys) >= MAX_KEYS:
            self.clear()
        self._keys[digest] = _Key(row.key_id, row.kind, row.project_id, row.expires_at, now)
        self._snapshots[row.project_id] = snapshot
        if row.is_use_due:
            _note_use(row.key_id)
        return Caller(row.key_id, row.kind, snapshot.project, row.expires_at)

    def clear(self) -> None:
        self._keys.clear()
        self._snapshots.clear()

    def _sweep(self, now: float) -> None:
        """Drop, once a minute, what was not read within the last."""
        if now - self._swept_at < KEPT_SECONDS:
            return
        self._swept_at = now
        kept: Any
        for kept in (self._keys, self._snapshots):
            for name, entry in list(kept.items()):
                if entry.read_at < now - KEPT_SECONDS:
                    kept.pop(name, None)


def _note_use(key_id: int) -> None:
    """Keep ``last_used_at`` to the minute: of all processes, one writes it once a minute."""
    now = timezone.now()
    due = Q(last_used_at=None) | Q(last_used_at__lt=now - timedelta(minutes=1))
    ApiKey.objects.filter(due, pk=key_id).update(last_used_at=now)
