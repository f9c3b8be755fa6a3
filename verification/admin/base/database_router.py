"""A read replica of the database, for what the panel shows and nobody decides by: lists, and the overview's figures.

Who may see which projects is asked of the primary, as are forms, actions and everything outside of the panel. Who has
just changed something reads the primary for some seconds, as the replica may not have it yet. One that is away or far
behind is not read.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from django.conf import settings
from django.db import DEFAULT_DB_ALIAS, DatabaseError, InterfaceError, connections
from django.http import HttpRequest

from verification import sql
from verification.core.caching import FRESH_SECONDS, Breaker, cached_for

log = logging.getLogger(__name__)

ALIAS = "replica"
STAY_SECONDS = 10  # how long the sender of a form reads the primary
MAX_LAG_SECONDS = 30.0  # Workers write their rows every ten seconds, so a replica that follows is not that old.
AWAY_SECONDS = 10.0  # how long a replica is left alone after it did not answer
SENT_AT = "panel_sent_at"  # the session's key
# A server that has never replayed anything may be anything.
LAG_QUERY = """
    SELECT CASE WHEN pg_is_in_recovery()
        THEN coalesce(extract(epoch FROM clock_timestamp() - pg_last_xact_replay_timestamp()), 'infinity') ELSE 0
    END::float
"""

_alias: ContextVar[str | None] = ContextVar("reading", default=None)
_away = Breaker(seconds=AWAY_SECONDS)


class ReplicaRouter:
    """Lets Django read from the replica within :func:`reading`. It is never written to, and never migrated."""

    def db_for_read(self, model: Any, **hints: Any) -> str | None:
        return _alias.get()

    def db_for_write(self, model: Any, **hints: Any) -> str | None:
        return DEFAULT_DB_ALIAS

    def allow_relation(self, one: Any, other: Any, **hints: Any) -> bool | None:
        return True

    def allow_migrate(self, db: str, app_label: str, **hints: Any) -> bool | None:
        return False if db == ALIAS else None


def record_form(request: HttpRequest) -> None:
    """Record that this user sent a form, so that the pages that follow show what it changed."""
    if ALIAS in settings.DATABASES and request.method == "POST" and request.user.is_authenticated:
        request.session[SENT_AT] = time.time()


def database_for(request: HttpRequest) -> str:
    """Return the database that a page which only shows rows is to read."""
    if ALIAS not in settings.DATABASES or request.method != "GET":
        return DEFAULT_DB_ALIAS
    if abs(time.time() - request.session.get(SENT_AT, 0)) < STAY_SECONDS:
        return DEFAULT_DB_ALIAS
    return ALIAS if _lag() < MAX_LAG_SECONDS else DEFAULT_DB_ALIAS


@contextmanager
def reading(alias: str) -> Iterator[None]:
    """Read models from this database within the context. Functions of ours stay on the primary."""
    token = _alias.set(alias)
    try:
        yield
    finally:
        _alias.reset(token)


@cached_for(FRESH_SECONDS)
def _lag() -> float:
    """Return the seconds that the replica lags behind, infinity if it is away."""
    if not _away.allow():
        return float("inf")
    connection = connections[ALIAS]
    try:
        with connection.cursor() as cursor:
            cursor.execute(LAG_QUERY)
            behind = float(cursor.fetchone()[0])
    except (DatabaseError, InterfaceError) as error:
        connection.close()
        _away.record_failure()
        log.warning("The replica does not answer; the panel reads the primary. (%s)", sql.reason(error))
        return float("inf")
    _away.record_success()
    return behind
