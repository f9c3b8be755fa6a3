"""The way every process connects to PostgreSQL: directly, or by a pooler that shares connections by transaction.

Each session has limits, so that no request hangs. Without a pooler a connection brings them along. A pooler gives each
transaction another session and passes no such options on: there the sessions get them from the database's role, where
``migrate`` writes them.
"""

from __future__ import annotations

import os
from typing import Any

POOLERS = ("none", "transaction")
# Milliseconds are PostgreSQL's unit of all time-outs here. A lock that is not had within three seconds ends in a 503.
# A transaction in which nothing happens for half a minute belongs to a process that hangs.
SESSION = {"lock_timeout": "3000", "idle_in_transaction_session_timeout": "30000", "TimeZone": "UTC"}
# What a statement may take in a web process, and in every session behind a pooler: a page must not hold a thread for
# ever. Elsewhere a statement takes as long as it takes; behind a pooler that holds for those within a transaction.
STATEMENT_TIMEOUT = 10_000
PREPARE_AFTER = 3  # executions of a statement on one connection, after which the server keeps its plan


def forget_libpq_variables() -> None:
    """Take what libpq reads out of the environment: it is meant for another server than our own.

    With somebody's ``PGPORT`` it would look for a socket that is not there.
    """
    for name in [name for name in os.environ if name.startswith("PG")]:
        del os.environ[name]


def connected(parsed: dict[str, Any], *, pooler: str, statement_timeout: int, name: str) -> dict[str, Any]:
    """Return Django's settings of a database from those that its URL gives.

    ``statement_timeout`` is this process's, in milliseconds, 0 for none; ``name`` is shown in ``pg_stat_activity``.
    """
    # A socket folder arrives as an option; as HOST it serves `dbshell` too.
    options = {**parsed.get("OPTIONS", {})}
    host = parsed["HOST"] or options.pop("host", "")
    own = {**SESSION, "statement_timeout": str(statement_timeout)}
    common = {**parsed, "HOST": host, "ENGINE": "config.database", "CONN_MAX_AGE": None, "POOLED": pooler != "none"}
    options |= {"application_name": name[:63]}  # bytes, PostgreSQL's limit of a name
    if pooler == "none":
        given = f"{options.get('options', '')} {' '.join(f'-c {option}={value}' for option, value in own.items())}"
        options = {"prepare_threshold": PREPARE_AFTER, **options, "options": given.strip()}
        return {**common, "OPTIONS": options, "SESSION": own, "TRANSACTION": {}}
    shared = {**SESSION, "statement_timeout": str(statement_timeout or STATEMENT_TIMEOUT)}
    return {
        **common,
        # PgBouncer before 1.22 gives a prepared statement to the wrong session. With a later one the URL may say so.
        "OPTIONS": {"prepare_threshold": None, **options},
        "DISABLE_SERVER_SIDE_CURSORS": True,  # a cursor lives in one session
        "SESSION": shared,
        "TRANSACTION": {option: value for option, value in own.items() if shared[option] != value},
    }
