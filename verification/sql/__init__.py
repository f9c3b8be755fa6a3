"""The statements written by hand: what decides races and speed, each one function and one round trip.

The files beside this one are the single truth. They are installed after every migrate, with ``CREATE OR REPLACE``; a
function whose signature changes gets a new name, so that old and new code can run side by side during an upgrade.
"""

from __future__ import annotations

import select
from functools import lru_cache
from typing import Any

import psycopg
from django.db import connection
from psycopg.rows import namedtuple_row


def call(function: str, **arguments: Any) -> Any:
    """Call one of our functions in a transaction of its own and return its row, as a named tuple.

    Inside ``transaction.atomic`` it joins that transaction. Raises Django's database errors.
    """
    return _execute(function, arguments).fetchone()


def call_many(function: str, **arguments: Any) -> list[Any]:
    """As :func:`call`, for a function that returns any number of rows."""
    return _execute(function, arguments).fetchall()


def _execute(function: str, arguments: dict[str, Any]) -> psycopg.Cursor[Any]:
    _drop_dead_connection()
    connection.ensure_connection()
    with connection.wrap_database_errors:
        cursor = psycopg.Cursor(connection.connection, row_factory=namedtuple_row)
        return cursor.execute(_statement(function, tuple(arguments)), tuple(arguments.values()))


@lru_cache(maxsize=64)
def _statement(function: str, names: tuple[str, ...]) -> str:
    return f"SELECT * FROM {function}({', '.join(f'p_{name} => %s' for name in names)})"


def _drop_dead_connection() -> None:
    """Notice, without a round trip, that the server has hung up: then its farewell waits on the socket.

    Otherwise the first request of every thread after a restart of PostgreSQL would fail.
    """
    held = connection.connection
    if held is None or connection.in_atomic_block:
        return
    try:
        poller = select.poll()
        poller.register(held.pgconn.socket, select.POLLIN)
        is_dead = held.closed or bool(poller.poll(0))
    except (OSError, ValueError, psycopg.Error):
        is_dead = True
    if is_dead:
        connection.close()
