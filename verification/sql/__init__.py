"""The statements written by hand: what decides races and speed, each one function and one round trip.

The files beside this one are the single truth. They are installed after every migrate, with ``CREATE OR REPLACE``; a
function whose signature changes gets a new name, so that old and new code can run side by side during an upgrade.
"""

from __future__ import annotations

import re
import select
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from functools import cache
from typing import Any, TypeVar

import orjson
import psycopg
from django.db import DEFAULT_DB_ALIAS, Error, InterfaceError, InternalError, OperationalError, connections
from psycopg.abc import Buffer
from psycopg.adapt import Loader
from psycopg.rows import BaseRowFactory, class_row, namedtuple_row, scalar_row
from psycopg.types.json import Jsonb

__all__ = [
    "Jsonb",
    "call",
    "call_many",
    "is_away",
    "now",
    "reason",
    "sqlstate",
    "take_removal_turn",
    "text",
    "unless_away",
    "value",
]

Row = TypeVar("Row")

REMOVAL_LOCK = 7_294_004  # the first half of an advisory lock of our own; the second is a project's id
_UNSTORABLE = re.compile("[\0\ud800-\udfff]")


def call(function: str, **arguments: Any) -> Any:
    """Call one of our functions in a transaction of its own and return its row, as a named tuple.

    Inside ``transaction.atomic`` it joins that transaction. Raises Django's database errors.
    """
    rows = _execute(function, arguments, namedtuple_row)
    return rows[0] if rows else None


def value(function: str, **arguments: Any) -> Any:
    """Call a function of one row and one column, as :func:`call`, and return its value."""
    return _execute(function, arguments, scalar_row)[0]


def call_many(row_type: type[Row], function: str, /, **arguments: Any) -> list[Row]:
    """Call a function that returns any number of rows; each comes as a ``row_type``, a type of ``sql/rows.py``.

    Raises :class:`TypeError` for a row whose columns are other than the type's fields.
    """
    return _execute(function, arguments, class_row(row_type))


def take_removal_turn(project_id: int) -> None:
    """Wait until nobody else removes rows of this project. The turn ends with the transaction.

    Erasing a recipient, the purge and the deletion of a project remove the same rows by different ways.
    """
    with connections[DEFAULT_DB_ALIAS].cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s, %s)", [REMOVAL_LOCK, project_id % 2**31])


def now() -> datetime:
    """The time by the database's clock, which whatever is compared with its rows goes by."""
    moment: datetime = value("clock_timestamp")
    return moment


def text(value: str, max_length: int) -> str:
    """Return a text from outside as a column can hold it: cut, and without NUL and lone surrogates."""
    return _UNSTORABLE.sub("\ufffd", value[:max_length])


class _JsonLoader(Loader):
    """Reads documents. The connections leave them as texts, which Django's fields expect."""

    def load(self, data: Buffer) -> Any:
        return orjson.loads(data)


def _execute(function: str, arguments: dict[str, Any], rows: BaseRowFactory[Row]) -> list[Row]:
    """Return the function's rows by a cursor that binds on the server, unlike Django's, so that it can prepare."""
    connection = connections[DEFAULT_DB_ALIAS]
    if connection.connection is not None and not connection.in_atomic_block and _has_ended(connection.connection):
        connection.close()
    connection.ensure_connection()
    try:
        with connection.wrap_database_errors, psycopg.Cursor(connection.connection, row_factory=rows) as cursor:
            cursor.adapters.register_loader("jsonb", _JsonLoader)
            return cursor.execute(_statement(function, tuple(arguments)), tuple(arguments.values())).fetchall()
    except InternalError as error:
        if is_away(error):
            raise OperationalError(*error.args) from error.__cause__
        raise


def _has_ended(connection: psycopg.Connection[Any]) -> bool:
    """Return whether the connection broke in an earlier statement, or the server has closed it, as when it restarts.

    Its farewell waits on the socket then, so this asks nobody. Django's own check asks the server each time: 50 to
    70 µs of CPU, and twice as long to wait.
    """
    if connection.closed:
        return True
    socket = select.poll()
    socket.register(connection.fileno(), select.POLLIN)
    return bool(socket.poll(0))


@cache
def _statement(function: str, names: tuple[str, ...]) -> str:
    # The names are written in our own calls; what comes from outside are the values.
    return f"SELECT * FROM {function}({', '.join(f'p_{name} => %s' for name in names)})"  # noqa: S608


def is_away(error: Exception) -> bool:
    """Return whether one of Django's database errors means that the server is away or busy.

    Where a connection ended and brought no result, psycopg raises an ``InternalError`` of its own, without a SQLSTATE.
    """
    if isinstance(error, InternalError):
        return isinstance(error.__cause__, psycopg.InternalError) and error.__cause__.sqlstate is None
    return isinstance(error, OperationalError | InterfaceError)


@contextmanager
def unless_away() -> Iterator[None]:
    """Go on after the block without its result, if the server is away or busy."""
    try:
        yield
    except Error as error:
        if not is_away(error):
            raise


def sqlstate(error: BaseException) -> str:
    """Return the SQLSTATE of an error that PostgreSQL reported; empty for any other."""
    return getattr(error.__cause__ or error, "sqlstate", None) or ""


def reason(error: BaseException) -> str:
    """An error for the log: its kind with the SQLSTATE, and what the client library says where the connection itself
    has failed, which names the server and the user. Any other text is left out, as it may quote a row."""
    cause = error.__cause__ or error
    if type(cause) is not psycopg.OperationalError:
        state = sqlstate(error)
        return f"{type(cause).__name__} ({state})" if state else type(cause).__name__
    return str(cause).strip().partition("\n")[0]
