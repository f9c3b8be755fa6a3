"""``migrate``: Django's, one at a time."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.core.management.commands import migrate
from django.db import connections

MIGRATE_LOCK = 7_294_003  # an advisory lock of our own, beside that of sql/install.py, which is taken within it


class Command(migrate.Command):
    def handle(self, *args: Any, **options: Any) -> None:
        connection: Any = connections[options["database"]]
        with one_at_a_time(options["database"]):
            has_old_sessions = connection.give_limits()
            super().handle(*args, **options)
        if has_old_sessions:
            connection.end_idle_sessions()


@contextmanager
def one_at_a_time(alias: str) -> Iterator[None]:
    """Wait for other processes that migrate this database, as when several containers start at once.

    The lock is held by a transaction on a connection of its own, which a pooler leaves alone until its end.
    """
    connection = connections[alias].copy()
    try:
        with connection.cursor() as cursor:
            connection.set_autocommit(False)
            for limit in ("lock_timeout", "statement_timeout", "idle_in_transaction_session_timeout"):
                cursor.execute(f"SET LOCAL {limit} = 0")  # a migration takes as long as it takes
            cursor.execute("SELECT pg_advisory_xact_lock(%s)", [MIGRATE_LOCK])
            yield
    finally:
        connection.close()
