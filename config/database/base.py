"""Django's PostgreSQL backend, which sees to it that the limits of a session hold with a pooler between as well."""

from __future__ import annotations

import logging
from contextlib import suppress
from typing import Any

import psycopg
from django.db import DatabaseError
from django.db.backends.postgresql import base
from psycopg import sql

log = logging.getLogger(__name__)

USE = "set DATABASE_POOLER=transaction, as docs/operate.md says"
REFUSED = f"DATABASE_URL leads to a pooler that refuses the limits of a session: {USE}."
DROPPED = f"DATABASE_URL leads to a pooler that drops the limits of a session (%s): {USE}."
LACKING = (
    "The sessions behind the pooler lack limits (%s). Run manage.py migrate with the same user and settings, and then"
    " RECONNECT in the pooler's console."
)

WRITTEN_TO_ROLE = """
    SELECT unnest(setconfig) FROM pg_db_role_setting
    WHERE setrole = current_user::regrole AND setdatabase = (
        SELECT oid FROM pg_database WHERE datname = current_database()
    )
"""
# A pooler keeps idle ones for the next transaction. The session that asks is the last to go.
END_IDLE_SESSIONS = """
    SELECT pg_terminate_backend(pid) FROM (
        SELECT pid FROM pg_stat_activity
        WHERE usename = current_user AND datname = current_database()
        AND (state = 'idle' OR pid = pg_backend_pid())
        ORDER BY pid = pg_backend_pid()
    ) AS unlimited
"""


class DatabaseWrapper(base.DatabaseWrapper):
    """A connection. What its session should have is looked at once in a process."""

    is_looked_at = False

    def get_new_connection(self, conn_params: dict[str, Any]) -> psycopg.Connection[Any]:
        try:
            connection: psycopg.Connection[Any] = super().get_new_connection(conn_params)
        except psycopg.OperationalError as error:
            if "unsupported startup parameter" in str(error):
                raise psycopg.OperationalError(REFUSED) from None
            raise
        if not DatabaseWrapper.is_looked_at:
            self._look_at(connection)
        return connection

    def _look_at(self, connection: psycopg.Connection[Any]) -> None:
        connection.autocommit = True
        lacking = ", ".join(sorted(different(connection, self.settings_dict["SESSION"])))
        if lacking and not self.settings_dict["POOLED"]:
            connection.close()
            raise psycopg.OperationalError(DROPPED % lacking)
        DatabaseWrapper.is_looked_at = True
        if lacking:
            log.warning(LACKING, lacking)

    def lacking_limits(self) -> list[str]:
        """Return the names of the limits that the present session lacks."""
        self.ensure_connection()
        return sorted(different(self.connection, self.settings_dict["SESSION"]))

    def give_limits(self) -> bool:
        """Write the limits to this user's role, for a pooler's sessions. Any user may do so for themselves.

        Return True if any was not there: sessions that began before lack it, until ``end_idle_sessions``.
        """
        self.ensure_connection()
        if not self.settings_dict["POOLED"]:
            return False
        wanted = {f"{name}={value}" for name, value in self.settings_dict["SESSION"].items()}
        if wanted <= {setting for (setting,) in self.connection.execute(WRITTEN_TO_ROLE)}:
            return False
        database = sql.Identifier(self.connection.info.dbname)
        for name, value in self.settings_dict["SESSION"].items():
            self.connection.execute(
                sql.SQL("ALTER ROLE CURRENT_USER IN DATABASE {} SET {} = {}").format(
                    database, sql.Identifier(name), sql.Literal(value)
                )
            )
        return True

    def end_idle_sessions(self) -> None:
        """End this user's sessions that do nothing, and this one. The pooler and its callers open others."""
        self.ensure_connection()
        with suppress(psycopg.OperationalError):  # our own end
            self.connection.execute(END_IDLE_SESSIONS)
        self.close()

    def _set_autocommit(self, autocommit: bool) -> None:
        """Begin a transaction with the limits of this process, where all processes share their sessions."""
        super()._set_autocommit(autocommit)  # type: ignore[misc]  # django-stubs leave it out
        if autocommit or not self.settings_dict["TRANSACTION"]:
            return
        try:
            with self.wrap_database_errors:
                for name, value in self.settings_dict["TRANSACTION"].items():
                    self.connection.execute(
                        sql.SQL("SET LOCAL {} = {}").format(sql.Identifier(name), sql.Literal(value))
                    )
        except DatabaseError:
            with suppress(psycopg.Error):  # or what comes next would be part of a transaction that nobody ends
                self.connection.close()
            raise


def different(connection: psycopg.Connection[Any], wanted: dict[str, str]) -> list[str]:
    """Return the names of options whose value in this session is not the wanted one."""
    names = {name.lower(): name for name in wanted}
    rows = connection.execute(
        "SELECT name, setting FROM pg_settings WHERE lower(name) = ANY(%s)", [list(names)], prepare=False
    ).fetchall()
    return [names[name.lower()] for name, value in rows if wanted[names[name.lower()]] != value]
