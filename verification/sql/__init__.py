"""The statements written by hand: what decides races and speed, each one function and one round trip.

The files beside this one are the single truth. They are installed after every migrate, with ``CREATE OR REPLACE``; a
function whose signature changes gets a new name, so that old and new code can run side by side during an upgrade.
"""

from __future__ import annotations

import re
import select
import weakref
from collections.abc import Callable
from datetime import datetime
from functools import lru_cache
from typing import Any, TypeVar

import orjson
import psycopg
from django.db import DEFAULT_DB_ALIAS, connections
from django.db.backends.base.base import BaseDatabaseWrapper
from psycopg.rows import namedtuple_row
from psycopg.types.json import Jsonb as json
from psycopg.types.json import set_json_loads

__all__ = ["call", "call_many", "drop_dead_connection", "json", "now", "reason", "take_removal_turn", "text"]

Row = TypeVar("Row")

REMOVAL_LOCK = 7_294_004  # the first half of an advisory lock of our own; the second is a project's id
_UNSTORABLE = re.compile("[\0\ud800-\udfff]")


def call(function: str, **arguments: Any) -> Any:
    """Call one of our functions in a transaction of its own and return its row, as a named tuple.

    Inside ``transaction.atomic`` it joins that transaction. Raises Django's database errors.
    """
    return _execute(function, arguments).fetchone()


def call_many(row_type: Callable[..., Row], function: str, /, **arguments: Any) -> list[Row]:
    """Call a function that returns any number of rows; each comes as a ``row_type``, a type of ``sql/rows.py``.

    Raises :class:`TypeError` where the type and the function's columns differ.
    """
    return [row_type(**row._asdict()) for row in _execute(function, arguments)]


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


def _execute(function: str, arguments: dict[str, Any]) -> psycopg.Cursor[Any]:
    connection = drop_dead_connection()
    connection.ensure_connection()
    with connection.wrap_database_errors:
        return _cursor(connection.connection).execute(_statement(function, tuple(arguments)), tuple(arguments.values()))


_cursors: weakref.WeakKeyDictionary[psycopg.Connection[Any], psycopg.Cursor[Any]] = weakref.WeakKeyDictionary()


def _cursor(raw: psycopg.Connection[Any]) -> psycopg.Cursor[Any]:
    """The connection's cursor for our calls: bound and prepared on the server, unlike Django's, and with JSON read."""
    cursor = _cursors.get(raw)
    if cursor is None:
        cursor = psycopg.Cursor(raw, row_factory=namedtuple_row)
        set_json_loads(orjson.loads, cursor)
        _cursors[raw] = cursor
    return cursor


@lru_cache(maxsize=64)
def _statement(function: str, names: tuple[str, ...]) -> str:
    # The names are written in our own calls; what comes from outside are the values.
    return f"SELECT * FROM {function}({', '.join(f'p_{name} => %s' for name in names)})"  # noqa: S608


def drop_dead_connection() -> BaseDatabaseWrapper:
    """Notice, without a round trip, that the server has hung up: then its farewell waits on the socket. Returns the
    thread's connection.

    Otherwise the first request of every thread after a restart of PostgreSQL would fail.
    """
    connection = connections[DEFAULT_DB_ALIAS]  # once: the proxy that is imported elsewhere finds it at every touch
    held = connection.connection
    if held is None or connection.in_atomic_block:
        return connection
    try:
        poller = select.poll()
        poller.register(held.pgconn.socket, select.POLLIN)
        is_dead = held.closed or bool(poller.poll(0))
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
