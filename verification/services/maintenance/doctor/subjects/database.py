"""PostgreSQL: whether it is there and up to date, its clock, connections and settings, and the read replica."""

from __future__ import annotations

from collections.abc import Iterator

from django.conf import settings
from django.db import DEFAULT_DB_ALIAS, DatabaseError, InterfaceError, connection, connections
from django.db.migrations.loader import MigrationLoader

from verification.services.maintenance import degradation, exposition, health
from verification.services.maintenance.doctor.findings import Aims, Finding, critical, warning
from verification.sql import read_only

APP = "verification"
REPLICA = "replica"  # its name in DATABASES
CLOCK_SECONDS = 2.0  # as in the alarm WatchwordClockSkew
CONNECTIONS_LATE = 0.8  # part of the connections that are allowed; there is time to act.
CONNECTIONS_LAST = 0.95  # part of them; hardly one is left.
TRANSACTION_SECONDS = 900  # as in the alarm WatchwordLongTransaction
# Settings of the server, the values that harm, what they do and what to do.
HARMFUL = (
    ("fsync", ("off",), "a crash of the machine can damage the database", "Set fsync = on in postgresql.conf."),
    (
        "full_page_writes",
        ("off",),
        "a crash of the machine can damage the database",
        "Set full_page_writes = on in postgresql.conf.",
    ),
    (
        "synchronous_commit",
        ("off",),
        "a crash loses the latest attempts of people who guess codes, and the latest accepted codes",
        "Set synchronous_commit = on, for the server or the role.",
    ),
    ("autovacuum", ("off",), "PostgreSQL never removes old rows, and everything slows down", "Set autovacuum = on."),
    (
        "log_statement",
        ("all", "mod"),
        "the statements in the server's log contain recipients' addresses",
        "Set log_statement = none, or ddl.",
    ),
)
DURABILITY = ("fsync", "full_page_writes", "synchronous_commit")


def is_there(aims: Aims) -> Iterator[Finding]:
    """Connect. The driver's words name the host and the user, never a password."""
    try:
        connection.ensure_connection()
    except (DatabaseError, InterfaceError) as error:
        if read_only.is_reason(error):
            return  # takes_writes says so
        reason = str(error).strip().partition("\n")[0]
        yield critical(
            "database-away",
            f"Watchword cannot reach the database: {reason.rstrip('.')}.",
            "Check whether PostgreSQL runs and accepts connections from here, and whether DATABASE_URL is right. If a "
            "pooler sits in front of it, set DATABASE_POOLER=transaction.",
        )


def takes_writes(aims: Aims) -> Iterator[Finding]:
    failing = health.failing()
    if failing == health.NO_ROOM:
        yield critical(
            "database-without-room",
            "The database cannot write, so Watchword cannot create, check or send any code.",
            "Free room on PostgreSQL's disk, or give it more memory; its log says what it lacks.",
        )
    if failing == health.ONLY_READS:
        yield critical(
            "database-read-only",
            "The database is read-only, so Watchword cannot create, check or send any code.",
            "Check whether DATABASE_URL points to the primary "
            "(docs/engineering/scale.md: target_session_attrs=read-write), whether its disk is full, "
            "and who set default_transaction_read_only.",
        )


def is_migrated(aims: Aims) -> Iterator[Finding]:
    """Compare the migrations of this version with those that the database had."""
    if (reason := health.failing()) == health.NOT_MIGRATED:
        yield critical("database-not-migrated", reason.partition(" Run:")[0], "Run: manage.py migrate")
        return
    loader = MigrationLoader(connection)
    files = loader.disk_migrations or {}
    known = {*files, *(tuple(replaced) for file in files.values() for replaced in file.replaces)}
    newer = sorted(name for app, name in loader.applied_migrations if app == APP and (app, name) not in known)
    if newer:
        yield warning(
            "database-newer",
            f"A later version than this one migrated the database ({newer[-1]}).",
            "Finish the upgrade: run the later version in every process, and of this command.",
        )


def clocks_agree(aims: Aims) -> Iterator[Finding]:
    ahead = degradation.current().clock_ahead
    if abs(ahead) > CLOCK_SECONDS:
        yield warning(
            "clock-differs",
            f"The clocks of this machine and the database differ by {abs(ahead):.1f} seconds.",
            "Check timedatectl on both machines, and start the time service.",
        )


def connections_are_left(aims: Aims) -> Iterator[Finding]:
    load = exposition.database_load()
    if load.used >= CONNECTIONS_LATE * load.most:
        found = critical if load.used >= CONNECTIONS_LAST * load.most else warning
        yield found(
            "connections-used-up",
            f"{load.used} of {load.most} connections to PostgreSQL are in use.",
            "Lower WEB_THREADS or the number of processes, raise max_connections, or put PgBouncer in front "
            "(docs/operate.md, A pooler).",
        )
    if load.oldest > TRANSACTION_SECONDS:
        yield warning(
            "long-transaction",
            f"A transaction has been open for {load.oldest / 60:.0f} minutes, so PostgreSQL cannot remove old rows.",
            "Find it in pg_stat_activity by xact_start. If it is a forgotten psql, end it with pg_terminate_backend.",
        )


def settings_do_no_harm(aims: Aims) -> Iterator[Finding]:
    """Look at the server's settings as this role has them. An embedded server that is not durable was asked for."""
    names = [name for name, *_ in HARMFUL]
    with connection.cursor() as cursor:
        cursor.execute("SELECT name, setting FROM pg_settings WHERE name = ANY (%s)", [names])
        present = dict(cursor.fetchall())
    for name, values, harm, remedy in HARMFUL:
        if present.get(name) in values and not (settings.IS_EMBEDDED and name in DURABILITY):
            yield warning("database-setting", f"PostgreSQL has {name} = {present[name]}: {harm}.", remedy)


def role_is_no_superuser(aims: Aims) -> Iterator[Finding]:
    if settings.IS_EMBEDDED:
        return
    with connection.cursor() as cursor:
        cursor.execute("SELECT rolsuper FROM pg_roles WHERE rolname = current_user")
        (is_superuser,) = cursor.fetchone()
    if is_superuser:
        yield warning(
            "database-superuser",
            "The role of DATABASE_URL is a PostgreSQL superuser: it can empty the audit log and read the server's "
            "files.",
            "Give the service a role of its own, which owns the database and nothing else (docs/operate.md).",
        )


def replica_follows(aims: Aims) -> Iterator[Finding]:
    if REPLICA not in connections:
        return
    remedy = "Check whether it runs and follows the primary. Until then the panel reads from the primary."
    try:
        with connections[REPLICA].cursor() as cursor:
            cursor.execute("SELECT pg_is_in_recovery()")
            (is_replica,) = cursor.fetchone()
    except (DatabaseError, InterfaceError):
        yield warning("replica-away", "The read replica of DATABASE_REPLICA_URL does not answer.", remedy)
        return
    if not is_replica and settings.DATABASES[REPLICA]["HOST"] != settings.DATABASES[DEFAULT_DB_ALIAS]["HOST"]:
        yield warning(
            "replica-follows-nobody", "DATABASE_REPLICA_URL points to a server that is not a replica.", remedy
        )


CHECKS = (
    is_there,
    takes_writes,
    is_migrated,
    clocks_agree,
    connections_are_left,
    settings_do_no_harm,
    role_is_no_superuser,
    replica_follows,
)
