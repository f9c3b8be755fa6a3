"""A process's memory of who calls: the keys of the last minute, and one snapshot for each of their projects."""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import Q
from django.utils import timezone

from verification import sql
from verification.core.caching import TTLCache
from verification.models import ApiKey
from verification.services.projects.snapshot import ProjectConfig

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


class Callers:
    """Keys by digest, and the snapshots that keys of one project share."""

    def __init__(self) -> None:
        self._keys: TTLCache[bytes, _Key] = TTLCache(MAX_KEYS)
        self._projects: TTLCache[int, ProjectConfig] = TTLCache()  # by id

    def remembered(self, digest: bytes) -> Caller | None:
        """Return who holds the key, as far as it was read within a second."""
        key = self._keys.recent(digest)
        project = self._projects.recent(key.project_id) if key else None
        if key is None or project is None:
            return None
        return Caller(key.id, key.kind, project, key.expires_at)

    def project_of(self, digest: bytes) -> int | None:
        """Return the id of the project whose key was read last under this digest, however long ago."""
        key = self._keys.last(digest)
        return key.project_id if key else None

    def read(self, digest: bytes) -> Caller | None:
        """Return who holds the key, by the database; None for one that is unknown, over or of a disabled project.

        A project's snapshot that another key has just brought is not asked for again.
        """
        now = time.monotonic()  # how old the answer is
        before = self._keys.last(digest)
        project = self._projects.recent(before.project_id) if before else None
        row = sql.call("load_caller", digest=digest, known_project=project and project.id)
        if row is None:
            self._keys.drop(digest)
            return None
        if project is None or row.project is not None:
            project = ProjectConfig(row.project)
            self._projects.put(row.project_id, project, read_at=now)
        self._keys.put(digest, _Key(row.key_id, row.kind, row.project_id, row.expires_at), read_at=now)
        if row.is_use_due:
            _note_use(row.key_id)
        return Caller(row.key_id, row.kind, project, row.expires_at)


def _note_use(key_id: int) -> None:
    """Keep ``last_used_at`` to the minute: of all processes, one writes it once a minute."""
    now = timezone.now()
    due = Q(last_used_at=None) | Q(last_used_at__lt=now - timedelta(minutes=1))
    ApiKey.objects.filter(due, pk=key_id).update(last_used_at=now)
