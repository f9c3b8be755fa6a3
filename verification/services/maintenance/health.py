"""Finding out whether a process can serve, for probes that ask every process every few seconds."""

from __future__ import annotations

import logging
from functools import lru_cache

from django.db import DatabaseError, InterfaceError, close_old_connections, connection
from django.db.migrations.loader import MigrationLoader

from verification import sql
from verification.core.caching import FRESH_SECONDS, LastReason, cached_for
from verification.services.maintenance import key_ring
from verification.sql import read_only

log = logging.getLogger(__name__)

_LOOK = "SELECT current_setting('transaction_read_only')::boolean, to_regclass('django_migrations') IS NOT NULL"
AWAY = "The database does not answer."
NO_ROOM = "The database cannot write: its disk is full, or it lacks memory."
TRIAL_SECONDS = 5  # between two trials to write, by all processes together
ONLY_READS = "The database is read-only: a standby, or one whose disk is full."
UNSERVING = (AWAY, ONLY_READS, NO_ROOM)  # the database itself is at fault
NOT_MIGRATED = "The database is not up to date. Run: manage.py migrate"


@lru_cache(maxsize=1)
def expected_migrations() -> frozenset[tuple[str, str]]:
    """Return the last migration of every app in this version. Later ones in the database are a newer version's."""
    return frozenset(MigrationLoader(None).graph.leaf_nodes())


_last = LastReason()


def _log_change(reason: str, sentence: str = "") -> str:
    if _last.changes_to(reason):
        if reason:
            log.error("not ready: %s (%s)", f"t{sentence.removeprefix('T').rstrip('.')}", reason)
        else:
            log.info("ready again: the database answers")
    return sentence


@cached_for(FRESH_SECONDS)
def failing() -> str:
    """Return in one sentence why the process cannot serve; empty if it can. The answer is at most a second old."""
    try:
        with connection.cursor() as cursor:
            cursor.execute(_LOOK)
            only_reads, is_there = cursor.fetchone()
            if only_reads:
                read_only.leave()
                return _log_change(read_only.WORDS, ONLY_READS)
            if not is_there:
                return NOT_MIGRATED
            cursor.execute("SELECT app, name FROM django_migrations")
            if expected_migrations() - set(cursor.fetchall()):
                return NOT_MIGRATED
        sql.call("try_to_write", at_most_every=TRIAL_SECONDS)
        wrong_keys = key_ring.refusal()
    except (DatabaseError, InterfaceError) as error:
        close_old_connections()
        return _log_change(sql.reason(error), _sentence(error))
    _log_change("")
    return wrong_keys


def _sentence(error: Exception) -> str:
    if read_only.is_reason(error):
        return ONLY_READS
    return NO_ROOM if read_only.lacks_room(error) else AWAY
