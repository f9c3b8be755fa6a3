"""How the processes connect to PostgreSQL: directly, or by a pooler that shares sessions by transaction.

Each session has limits, so that no request hangs. Without a pooler a connection brings them along. A pooler gives each
transaction another session and passes no such options on: there the sessions get them from the database's role, as
docs/engineering/scale.md says, and a system check finds those that lack them.
"""

from __future__ import annotations

import os
from typing import Any

POOLERS = ("none", "transaction")
# Milliseconds are PostgreSQL's unit of all time-outs here. A lock that is not had within three seconds ends in a 503.
# A transaction in which nothing happens for half a minute belongs to a process that hangs.
LIMITS = {"lock_timeout": "3000", "idle_in_transaction_session_timeout": "30000"}
# What a statement may take in a web process, and in every session behind a pooler: a page must not hold a thread for
# ever. Elsewhere a statement takes as long as it takes.
STATEMENT_TIMEOUT = 10_000
PREPARE_AFTER = 3  # executions of a statement on one connection, after which the server keeps its plan


def forget_libpq_variables() -> None:
    """Take what libpq reads out of the environment: it is meant for another server than our own.

    With somebody's ``PGPORT`` it would look for a socket that is not there.
    """
    for name in [name for name in os.environ if name.startswith("PG")]:
        del os.environ[name]


def limits(*, pooler: str, statement_timeout: int) -> dict[str, str]:
    """Return the options that a session is to have. ``statement_timeout`` is this process's, in milliseconds, 0 for
    none."""
    if pooler != "none":
        statement_timeout = statement_timeout or STATEMENT_TIMEOUT  # all processes share the sessions
    return {**LIMITS, "statement_timeout": str(statement_timeout)}


def connected(
    parsed: dict[str, Any],
    *,
    pooler: str,
    statement_timeout: int,
    name: str,
) -> dict[str, Any]:
    """Return Django's settings of a database from those that its URL gives. ``name`` is shown in ``pg_stat_activity``.

    Each thread keeps its connection. A pool with as many connections as threads would save none, and taking one out
    costs 12 to 15 µs of CPU (docs/engineering/performance.md).
    """
    # A socket folder arrives as an option; as HOST it serves `dbshell` too.
    options = {**parsed.get("OPTIONS", {})}
    host = parsed["HOST"] or options.pop("host", "")
    options |= {"application_name": name[:63]}  # bytes, PostgreSQL's limit of a name
    if pooler == "none":
        own = {**limits(pooler=pooler, statement_timeout=statement_timeout), "TimeZone": "UTC"}
        given = f"{options.get('options', '')} {' '.join(f'-c {option}={value}' for option, value in own.items())}"
        options = {"prepare_threshold": PREPARE_AFTER, **options, "options": given.strip()}
    else:
        # PgBouncer before 1.22 gives a prepared statement to the wrong session. With a later one the URL may say so.
        options = {"prepare_threshold": None, **options}
    return {
        **parsed,
        "HOST": host,
        "ENGINE": "django.db.backends.postgresql",
        "CONN_MAX_AGE": None,
        "CONN_HEALTH_CHECKS": True,  # for the ORM; sql/__init__.py looks itself, for less
        "DISABLE_SERVER_SIDE_CURSORS": pooler != "none",  # a cursor lives in one session
        "OPTIONS": options,
    }
