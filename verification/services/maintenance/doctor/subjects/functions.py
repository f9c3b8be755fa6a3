"""The functions and triggers in the database, compared with the files that ``migrate`` installs them from."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator

from django.apps import apps
from django.conf import settings
from django.db import connection

from verification.models.audit import WATCHED
from verification.services.maintenance.doctor.findings import Aims, Finding, critical, warning
from verification.sql import install

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
MOST_NAMED = 5  # in one sentence


def functions_are_those_of_the_files(aims: Aims) -> Iterator[Finding]:
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
        yield critical("function-missing", f"The database lacks functions: {named(missing)}.", AGAIN)
    if others := sorted(name for name, found in bodies.items() if written[name] not in found):
        yield critical("function-differs", f"These functions differ from this version's files: {named(others)}.", AGAIN)
    wanted = {f"{option}=off" for option in install.AVOIDED}
    if slow := sorted(name for name in install.BY_KEY if name in options and not wanted <= options[name]):
        yield warning(
            "function-unplanned", f"These functions lack the options that keep them fast: {named(slow)}.", AGAIN
        )


def audit_log_is_written(aims: Aims) -> Iterator[Finding]:
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
        yield critical(
            "audit-trigger-missing",
            f"The audit log may miss changes, or lose entries: triggers are missing on {tables}.",
            "Run manage.py migrate. If a trigger is disabled: ALTER TABLE … ENABLE TRIGGER. Find out who removed it.",
        )
    if may_be_emptied and not settings.IS_EMBEDDED:
        yield critical(
            "audit-may-be-emptied",
            "Anyone with the database's role can empty the audit log (watchword.truncate_audit is on), which "
            "only tests need.",
            "As a superuser: ALTER DATABASE … RESET watchword.truncate_audit.",
        )


def functions_in_files() -> dict[str, str]:
    """Return the body of every function in the files, by its name."""
    texts = (path.read_text() for path in sorted(install.FOLDER.rglob("*.sql")))
    return {name: body for text in texts for name, body in WRITTEN.findall(text)}


def named(names: list[str]) -> str:
    shown = ", ".join(names[:MOST_NAMED])
    return f"{shown} and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else shown


CHECKS = (functions_are_those_of_the_files, audit_log_is_written)
