"""PostgreSQL servers that take no writes: those that only read, which we leave, and those without room.

It is a standby after a fail-over, or has ``default_transaction_read_only``, as managed ones have whose disk is full.
PostgreSQL 14 and later tell both when a direct connection begins, without a question. Behind a pooler, and where it
changes under a connection, the first write fails, and ``health`` asks once a second.
"""

from __future__ import annotations

from typing import Any

import psycopg
from django.db import DEFAULT_DB_ALIAS, OperationalError, connection

from verification import sql

WORDS = "the server only reads"
TOLD = ("in_hot_standby", "default_transaction_read_only")  # what the server reports of each session


def refuse(connection: Any, **_: object) -> None:
    """Close a connection to such a server. A receiver of ``connection_created``.

    Raises Django's :class:`OperationalError`, as for a server that is away.
    """
    if connection.alias != DEFAULT_DB_ALIAS:  # a replica only reads
        return
    raw = connection.connection
    if any(raw.info.parameter_status(name) == "on" for name in TOLD):
        connection.close()
        raise OperationalError(WORDS) from psycopg.OperationalError(WORDS)


def is_reason(error: BaseException) -> bool:
    """Return whether one of Django's database errors came of a server that only reads."""
    return isinstance(error.__cause__, psycopg.errors.ReadOnlySqlTransaction) or str(error) == WORDS


def lacks_room(error: BaseException) -> bool:
    """Return whether an error came of a server without room: its disk is full or fails, or it lacks memory.

    Connections that are used up (53300) are of the same class, and end with the requests that hold them.
    """
    state = sql.sqlstate(error)
    return state.startswith(("53", "58")) and state != "53300"


def leave() -> None:
    """Close the thread's connection: the next one may find the server that takes writes."""
    if not connection.in_atomic_block and connection.connection is not None:
        connection.close()
