"""Finding out whether a process can serve, for probes that ask every process every few seconds."""

from __future__ import annotations

import logging
from functools import lru_cache

from django.db import DatabaseError, InterfaceError, close_old_connections, connection
from django.db.migrations.loader import MigrationLoader

from verification import sql
from verification.core.caching import FRESH_SECONDS, Memory, cached_for
from verification.services.maintenance import key_ring
from verification.sql import read_only

log = logging.getLogger(__name__)

_LOOK = "SELECT current_setting('transaction_read_only')::boolean, to_regclass('django_migrations') IS NOT NULL"
AWAY = "The database does not answer."
ONLY_READS = "The database is read-only: a standby, or one whose disk is full."
NOT_MIGRATED = "The database is not up to date. Run: manage.py migrate"


@lru_cache(maxsize=1)
def expected_migrations() -> frozenset[tuple[str, str]]:
    """Return the last migration of every app in this version. Later ones in the database are a newer version's."""
    return frozenset(MigrationLoader(None).graph.leaf_nodes())


class _LastReason(Memory):
    """The reason that was last logged: probes ask every few seconds, and only a change is logged."""

    def forget(self) -> None:
        self.reason = ""


_last_reason = _LastReason()


def _log_change(reason: str) -> None:
    if reason and reason != _last_reason.reason:
        log.error("not ready: the database does not answer (%s)", reason)
    elif _last_reason.reason and not reason:
        log.info("ready again: the database answers")
    _last_reason.reason = reason


@cached_for(FRESH_SECONDS)
def failing() -> str:
    """Return in one sentence why the process cannot serve; empty if it can. The answer is at most a second old."""
    try:
        with connection.cursor() as cursor:
            cursor.execute(_LOOK)
            only_reads, is_there = cursor.fetchone()
            if only_reads:
                read_only.leave()
                _log_change(read_only.WORDS)
                return ONLY_READS
            if not is_there:
                return NOT_MIGRATED
            cursor.execute("SELECT app, name FROM django_migrations")
            missing = expected_migrations() - set(cursor.fetchall())
        wrong_keys = "" if missing else key_ring.refusal()
    except (DatabaseError, InterfaceError) as error:
        _log_change(sql.reason(error))
        close_old_connections()
        return ONLY_READS if read_only.is_reason(error) else AWAY
    _log_change("")
    return NOT_MIGRATED if missing else wrong_keys
