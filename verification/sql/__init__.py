"""The statements written by hand: what decides races and speed, each one function and one round trip.

The files beside this one are the single truth. They are installed after every migrate, with ``CREATE OR REPLACE``; a
function whose signature changes gets a new name, so that old and new code can run side by side during an upgrade.
"""

from __future__ import annotations

import re
from datetime import datetime
from typing import Any, TypeVar

import psycopg
from django.db import DEFAULT_DB_ALIAS, connections
from django.db.backends.base.base import BaseDatabaseWrapper
from psycopg.types.json import Jsonb as json

from verification.sql.calls import Calls

__all__ = ["call", "call_many", "drop_dead_connection", "json", "now", "reason", "take_removal_turn", "text"]

Row = TypeVar("Row")

KEPT_AS = "watchword_calls"  # the attribute of a connection of psycopg
REMOVAL_LOCK = 7_294_004  # the first half of an advisory lock of our own; the second is a project's id
_UNSTORABLE = re.compile("[\0\ud800-\udfff]")


def call(function: str, **arguments: Any) -> Any:
    """Call one of our functions in a transaction of its own and return its row, as a named tuple.

    Inside ``transaction.atomic`` it joins that transaction. Raises Django's database errors.
    """
    rows = _execute(function, arguments)
    return rows[0] if rows else None


def call_many(row_type: type[Row], function: str, /, **arguments: Any) -> list[Row]:
    """Call a function that returns any number of rows; each comes as a ``row_type``, a type of ``sql/rows.py``.

    Raises :class:`TypeError` where the type and the function's columns differ.
    """
    return _execute(function, arguments, row_type)


def take_removal_turn(project_id: int) -> None:
    """Wait until nobody else removes rows of this project. The turn ends with the transaction.

    Erasing a recipient, the purge and the deletion of a project remove the same rows by different ways.
    """
    with connections[DEFAULT_DB_ALIAS].cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s, %s)", [REMOVAL_LOCK, project_id % 2**31])


def now() -> datetime:
    """The time by the database's clock, which whatever is compared with its rows goes by."""
    moment: datetime = call("clock_timestamp").clock_timestamp
    return moment


def text(value: str, max_length: int) -> str:
    """Return a text from outside as a column can hold it: cut, and without NUL and lone surrogates."""
    return _UNSTORABLE.sub("\ufffd", value[:max_length])


def _execute(function: str, arguments: dict[str, Any], row_type: type | None = None) -> list[Any]:
    connection = drop_dead_connection()
    connection.ensure_connection()
    with connection.wrap_database_errors:
        return _calls(connection.connection).call(function, arguments, row_type)


def _calls(raw: psycopg.Connection[Any]) -> Calls:
    """Return the calls over this connection. They are kept on it, as they end with it."""
    kept = vars(raw)
    calls: Calls = kept.get(KEPT_AS) or kept.setdefault(KEPT_AS, Calls(raw))
    return calls


def drop_dead_connection() -> BaseDatabaseWrapper:
    """Close the thread's connection if the server has hung up, without a round trip. Return Django's wrapper of it.

    Otherwise the first request of every thread after a restart of PostgreSQL would fail.
    """
    connection = connections[DEFAULT_DB_ALIAS]  # once: the proxy that is imported elsewhere finds it at every touch
    held = connection.connection
    if held is None or connection.in_atomic_block:
        return connection
    try:
        is_dead = _calls(held).is_dead()
    except (OSError, ValueError, psycopg.Error):
        is_dead = True
    if is_dead:
        connection.close()
    return connection


def reason(error: Exception) -> str:
    """An error for the log: its kind, and what the client library says where the connection itself has failed, which
    names the server and the user. Any other text is left out, as it may quote a row."""
    cause = error.__cause__ or error
    if type(cause) is not psycopg.OperationalError:
        return type(cause).__name__
    return str(cause).strip().partition("\n")[0]
