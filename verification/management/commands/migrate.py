"""``migrate``: Django's, one at a time, and without holding up the processes that run meanwhile."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from django.core.management.base import CommandError
from django.core.management.commands import migrate
from django.db import OperationalError, connections
from psycopg.errors import DeadlockDetected, LockNotAvailable

from verification.management.commands.makemigrations import SchemaAutodetector

MIGRATE_LOCK = 7_294_003  # an advisory lock of our own, beside that of sql/install.py, which is taken within it
# A statement that waits for a table holds up every request that comes after it. It gives up before PostgreSQL looks for
# a deadlock, after a second, as that might end a request.
LOCK_MILLISECONDS = 500
PAUSE_SECONDS = 1.0  # in which the requests that waited are served, before the migration is tried again
TRY_SECONDS = 300  # for a table that is in use all the time, such as by a dump
IN_USE = (LockNotAvailable, DeadlockDetected)


class Command(migrate.Command):
    autodetector = SchemaAutodetector

    def handle(self, *args: Any, **options: Any) -> None:
        alias = options["database"]
        with one_at_a_time(alias), connections[alias].execute_wrapper(give_up_soon):
            self._try(*args, **options)

    def _try(self, *args: Any, **options: Any) -> None:
        """Migrate, and go on with the migration that found a table in use. Those before it are done."""
        give_up_at = time.monotonic() + TRY_SECONDS
        while True:
            try:
                super().handle(*args, **options)
                return
            except OperationalError as error:
                if not isinstance(error.__cause__, IN_USE):
                    raise
                if time.monotonic() > give_up_at:
                    raise CommandError(
                        "Something uses a table all the time, such as a dump. Run migrate again when it has finished."
                    ) from None
                self.stdout.write("\n  A table is in use; retrying.")
                time.sleep(PAUSE_SECONDS)


def give_up_soon(execute: Callable[..., Any], sql: str, params: Any, many: bool, context: dict[str, Any]) -> Any:
    """Bound the wait for locks of a transaction's next statement, and not its time, which a pooler's sessions have.
    Outside of one, as for an index that is built beside the traffic, a statement waits as its session says."""
    if context["connection"].in_atomic_block:
        limits = f"SET LOCAL lock_timeout = {LOCK_MILLISECONDS}; SET LOCAL statement_timeout = 0"
        context["cursor"].cursor.execute(limits)
    return execute(sql, params, many, context)


@contextmanager
def one_at_a_time(alias: str) -> Iterator[None]:
    """Wait for other processes that migrate this database, as when several containers start at once.

    The lock is held by a transaction on a connection of its own, which a pooler leaves alone until its end. It is asked
    for again and again: a statement that waited for it would hold a snapshot, for whose end an index that is built
    beside the traffic waits in turn.
    """
    connection = connections[alias].copy()
    try:
        with connection.cursor() as cursor:
            connection.set_autocommit(False)
            for limit in ("lock_timeout", "statement_timeout", "idle_in_transaction_session_timeout"):
                cursor.execute(f"SET LOCAL {limit} = 0")  # a migration takes as long as it takes
            while not _has_turn(cursor):
                time.sleep(PAUSE_SECONDS)
            yield
    finally:
        connection.close()


def _has_turn(cursor: Any) -> bool:
    cursor.execute("SELECT pg_try_advisory_xact_lock(%s)", [MIGRATE_LOCK])
    return bool(cursor.fetchone()[0])
