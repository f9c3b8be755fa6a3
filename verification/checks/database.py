"""PostgreSQL: whether it answers and is up to date, its settings, our functions in it, the replica, and a pooler."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from contextlib import closing
from typing import Any

from django.apps import apps
from django.conf import settings
from django.core.checks import CheckMessage, Critical, Info, Warning
from django.db import DEFAULT_DB_ALIAS, DatabaseError, InterfaceError, connection, connections
from django.db.migrations.loader import MigrationLoader

from verification.checks.registry import Aims, named, register
from verification.models.audit import WATCHED
from verification.services.maintenance import degradation, exposition, health
from verification.sql import install, read_only

APP = "verification"
REPLICA = "replica"  # its name in DATABASES
CLOCK_SECONDS = 2.0  # as in the alarm WatchwordClockSkew
CONNECTIONS_LATE = 0.8  # part of the connections that are allowed; there is time to act.
CONNECTIONS_LAST = 0.95  # part of them; hardly one is left.
TRANSACTION_SECONDS = 900  # as in the alarm WatchwordLongTransaction
# Why a database does not serve, by health's sentences: the finding and its remedy.
UNFIT = {
    health.AWAY: (
        "database-away",
        "Check whether PostgreSQL runs and accepts connections from here, and whether DATABASE_URL is right. With a "
        "pooler in front of it, set DATABASE_POOLER=transaction.",
    ),
    health.NO_ROOM: ("database-without-room", degradation.PARTS["database"].remedy),
    health.ONLY_READS: (
        "database-read-only",
        "Check whether DATABASE_URL points to the primary (docs/engineering/scale.md), and who set "
        "default_transaction_read_only.",
    ),
    health.NOT_MIGRATED: ("database-not-migrated", "Run: manage.py migrate"),
}
# Settings of the server, the values that harm, what they do, and the value to set.
HARMFUL = (
    ("fsync", ("off",), "a crash of the machine can damage the database", "on"),
    ("full_page_writes", ("off",), "a crash of the machine can damage the database", "on"),
    ("synchronous_commit", ("off",), "a crash loses the latest accepted codes, and the latest wrong ones", "on"),
    ("autovacuum", ("off",), "PostgreSQL never removes old rows, and everything slows down", "on"),
    ("log_statement", ("all", "mod"), "the server's log contains recipients' addresses", "none, or ddl"),
)
SERVER_SETTINGS = """
    SELECT name, setting FROM pg_settings WHERE name = ANY (%s)
    UNION ALL SELECT 'is_superuser', current_setting('is_superuser')
"""
DURABILITY = ("fsync", "full_page_writes", "synchronous_commit")
# A function in a file: its name, and its body as PostgreSQL keeps it.
WRITTEN = re.compile(r"^CREATE OR REPLACE FUNCTION (\w+)\(.*?\bAS \$\$(.*?)\$\$;", re.DOTALL | re.MULTILINE)
INSTALLED = """
    SELECT proname, prosrc, coalesce(proconfig, '{}') FROM pg_proc
    WHERE pronamespace = current_schema()::regnamespace AND proname = ANY (%s)
"""
TRIGGERS = """
    SELECT tgrelid::regclass::text, tgname FROM pg_trigger WHERE NOT tgisinternal AND tgenabled IN ('O', 'A')
"""
AUDIT_TABLE = "verification_auditentry"
MAY_BE_EMPTIED = """
    SELECT EXISTS (
        SELECT FROM pg_db_role_setting s JOIN pg_database d ON d.oid = s.setdatabase
        WHERE d.datname = current_database() AND 'watchword.truncate_audit=on' = ANY (s.setconfig)
    )
"""
AGAIN = "Run manage.py migrate with this version: it installs all of them."
LOOKS = 20  # transactions of each of two connections. In transaction mode the two surely meet in one session
SHARED = "DATABASE_POOLER=transaction for every process, as docs/engineering/scale.md says."


@register("database")
def serves(aims: Aims) -> Iterator[CheckMessage]:
    """Connect, and try what each probe tries. The driver's words name the host and the user, never a password."""
    try:
        connection.ensure_connection()
        reason, words = health.failing(), ""
    except (DatabaseError, InterfaceError) as error:
        reason = health.ONLY_READS if read_only.is_reason(error) else health.AWAY
        words = f" ({str(error).strip().partition(chr(10))[0]})"
    if reason in UNFIT:
        name, remedy = UNFIT[reason]
        yield Critical(reason.partition(" Run:")[0] + words, hint=remedy, id=name)


@register("database")
def is_not_newer(aims: Aims) -> Iterator[CheckMessage]:
    loader = MigrationLoader(connection)
    files = loader.disk_migrations or {}
    known = {*files, *(tuple(replaced) for file in files.values() for replaced in file.replaces)}
    newer = sorted(name for app, name in loader.applied_migrations if app == APP and (app, name) not in known)
    if newer:
        yield Warning(
            f"A later version than this one migrated the database ({newer[-1]}).",
            hint="Finish the upgrade: run the later version in every process, and of this command.",
            id="database-newer",
        )


@register("database")
def clocks_agree(aims: Aims) -> Iterator[CheckMessage]:
    ahead = degradation.current().clock_ahead
    if abs(ahead) > CLOCK_SECONDS:
        yield Warning(
            f"The clocks of this machine and the database differ by {abs(ahead):.1f} seconds.",
            hint="Check timedatectl on both machines, and start the time service.",
            id="clock-differs",
        )


@register("database")
def connections_are_left(aims: Aims) -> Iterator[CheckMessage]:
    load = exposition.database_load()
    if load.used >= CONNECTIONS_LATE * load.most:
        found = Critical if load.used >= CONNECTIONS_LAST * load.most else Warning
        yield found(
            f"{load.used} of {load.most} connections to PostgreSQL are in use.",
            hint="Lower WEB_THREADS or the number of processes, raise max_connections, or put PgBouncer in front "
            "(docs/engineering/scale.md, A pooler).",
            id="connections-used-up",
        )
    if load.oldest > TRANSACTION_SECONDS:
        yield Warning(
            f"A transaction has been open for {load.oldest / 60:.0f} minutes, so PostgreSQL cannot remove old rows.",
            hint="Find it in pg_stat_activity by xact_start, and end it with pg_terminate_backend if it is forgotten.",
            id="long-transaction",
        )


@register("database")
def settings_do_no_harm(aims: Aims) -> Iterator[CheckMessage]:
    """Look at the server's settings as this role has them. An embedded server that is not durable was asked for."""
    with connection.cursor() as cursor:
        cursor.execute(SERVER_SETTINGS, [[name for name, *_ in HARMFUL]])
        present = dict(cursor.fetchall())
    for name, values, harm, good in HARMFUL:
        if present.get(name) in values and not (settings.IS_EMBEDDED and name in DURABILITY):
            yield Warning(
                f"PostgreSQL has {name} = {present[name]}: {harm}.",
                hint=f"Set {name} = {good}, for the server or the role.",
                id="database-setting",
            )
    if present["is_superuser"] == "on" and not settings.IS_EMBEDDED:
        yield Warning(
            "The role of DATABASE_URL is a PostgreSQL superuser: it can empty the audit log and read any file.",
            hint="Give the service a role of its own, which owns the database and nothing else (docs/operate.md).",
            id="database-superuser",
        )


@register("database")
def replica_follows(aims: Aims) -> Iterator[CheckMessage]:
    if REPLICA not in connections:
        return
    remedy = "Check whether it runs and follows the primary. Until then the panel reads from the primary."
    try:
        with connections[REPLICA].cursor() as cursor:
            cursor.execute("SELECT pg_is_in_recovery()")
            (is_replica,) = cursor.fetchone()
    except (DatabaseError, InterfaceError):
        yield Warning("The read replica of DATABASE_REPLICA_URL does not answer.", hint=remedy, id="replica-away")
        return
    if not is_replica and settings.DATABASES[REPLICA]["HOST"] != settings.DATABASES[DEFAULT_DB_ALIAS]["HOST"]:
        yield Warning(
            "DATABASE_REPLICA_URL points to a server that is not a replica.", hint=remedy, id="replica-follows-nobody"
        )


@register("functions")
def functions_are_those_of_the_files(aims: Aims) -> Iterator[CheckMessage]:
    """Compare the bodies. A function of the same name and other parameters is a former version's, and may stay."""
    written = functions_in_files()
    with connection.cursor() as cursor:
        cursor.execute(INSTALLED, [list(written)])
        rows = cursor.fetchall()
    bodies, options = defaultdict(set), {}
    for name, body, configured in rows:
        bodies[name].add(body)
        if body == written[name]:
            options[name] = set(configured)
    if missing := sorted(set(written) - set(bodies)):
        yield Critical(f"The database lacks functions: {named(missing)}.", hint=AGAIN, id="function-missing")
    if others := sorted(name for name, found in bodies.items() if written[name] not in found):
        yield Critical(
            f"These functions differ from this version's files: {named(others)}.", hint=AGAIN, id="function-differs"
        )
    wanted = {f"{option}=off" for option in install.AVOIDED}
    if slow := sorted(name for name in install.BY_KEY if name in options and not wanted <= options[name]):
        yield Warning(
            f"These functions lack the options that keep them fast: {named(slow)}.", hint=AGAIN, id="function-unplanned"
        )


@register("functions")
def audit_log_is_written(aims: Aims) -> Iterator[CheckMessage]:
    """Look for the triggers of the audit log. A superuser can remove or disable them."""
    wanted = {(apps.get_model(name)._meta.db_table, "audit_change") for name in WATCHED}
    wanted |= {(AUDIT_TABLE, "audit_keep"), (AUDIT_TABLE, "audit_keep_all")}
    with connection.cursor() as cursor:
        cursor.execute(TRIGGERS)
        missing = wanted - set(cursor.fetchall())
        cursor.execute(MAY_BE_EMPTIED)
        (may_be_emptied,) = cursor.fetchone()
    if missing:
        tables = named(sorted({table for table, _ in missing}))
        yield Critical(
            f"The audit log may miss changes, or lose entries: triggers are missing on {tables}.",
            hint="Run manage.py migrate, or ALTER TABLE … ENABLE TRIGGER for a disabled one. Find out who did it.",
            id="audit-trigger-missing",
        )
    if may_be_emptied and not settings.IS_EMBEDDED:
        yield Critical(
            "Anyone with the database's role can empty the audit log (watchword.truncate_audit is on), which "
            "only tests need.",
            hint="As a superuser: ALTER DATABASE … RESET watchword.truncate_audit.",
            id="audit-may-be-emptied",
        )


def functions_in_files() -> dict[str, str]:
    """Return the body of every function in the files, by its name."""
    texts = (path.read_text() for path in sorted(install.FOLDER.rglob("*.sql")))
    return {name: body for text in texts for name, body in WRITTEN.findall(text)}


@register("pooler")
def mode_is_as_set(aims: Aims) -> Iterator[CheckMessage]:
    """Compare DATABASE_POOLER with what two connections see of each other, and of the server's processes."""
    own: Any = connection
    own.ensure_connection()
    is_set = settings.DATABASE_POOLER != "none"
    if not is_between(own):
        if is_set:
            yield Info(
                "DATABASE_POOLER is transaction, but DATABASE_URL connects to PostgreSQL directly.",
                hint="Remove DATABASE_POOLER: Watchword then prepares statements, which is faster.",
                id="pooler-not-there",
            )
        return
    if not has_transactions(own):
        yield Critical(
            "The pooler may use another session for each statement (pool_mode = statement), so transactions "
            "do not work.",
            hint="Set pool_mode = transaction in pgbouncer.ini.",
            id="pooler-by-statement",
        )
        return
    is_shared = shares_sessions(own)
    if is_shared and not is_set:
        yield Critical(
            "A pooler in transaction mode sits in front of PostgreSQL, and DATABASE_POOLER does not say so.",
            hint=f"Set {SHARED}",
            id="pooler-not-set",
        )
    elif is_set and not is_shared:
        yield Warning(
            "The pooler keeps one session per connection (pool_mode = session), so it saves none.",
            hint="Set pool_mode = transaction in pgbouncer.ini, or connect to PostgreSQL directly.",
            id="pooler-by-session",
        )


def is_between(own: Any) -> bool:
    """Return whether a pooler answers: it tells each client a made-up number in place of the server's process."""
    return bool(own.connection.info.backend_pid != process_of(own))


def has_transactions(own: Any) -> bool:
    with closing(own.copy()) as other:
        try:
            other.set_autocommit(False)
            process_of(other)
            process_of(other)
        except (DatabaseError, InterfaceError):
            return False
    return True


def shares_sessions(own: Any) -> bool:
    """Return whether two connections that are open at once meet in one session of the server."""
    with closing(own.copy()) as one, closing(own.copy()) as other:
        seen: tuple[set[int], set[int]] = (set(), set())
        for _ in range(LOOKS):
            seen[0].add(process_of(one))
            seen[1].add(process_of(other))
            if seen[0] & seen[1]:
                return True
    return False


def process_of(connected: Any) -> int:
    with connected.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        found: int = cursor.fetchone()[0]
    return found
