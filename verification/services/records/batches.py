"""Work on many rows of one job, each by itself: one that fails is told in the log and keeps no other from its turn."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from operator import attrgetter
from typing import Any, TypeVar

from django.db import Error as DatabaseFailure
from django.db import connection

from verification import sql
from verification.sql import read_only

log = logging.getLogger(__name__)

Row = TypeVar("Row")
Found = TypeVar("Found")


def run_each(
    rows: Iterable[Row], work: Callable[[Row], Found], *, job: str, name: Callable[[Row], Any] = attrgetter("pk")
) -> list[Found]:
    """Return what ``work`` returned for each row but those with which it failed, which the log tells by ``name``.

    Raises Django's database errors while there is no database to work on, or only one to read: no row is at fault then.
    """
    found = []
    for row in rows:
        try:
            found.append(work(row))
        except Exception as error:
            if isinstance(error, DatabaseFailure) and (_is_disconnected() or read_only.is_reason(error)):
                raise
            fields = {"job": job, "row": name(row), "error": sql.reason(error)}
            log.error("a row of a job failed; the others had their turn", extra=fields)
    return found


def _is_disconnected() -> bool:
    return connection.connection is None or connection.connection.closed
