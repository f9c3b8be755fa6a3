"""The doctor: runs every subject's checks in turn, whatever one of them runs into."""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterator

from django.conf import settings
from django.core.checks import CheckMessage, Critical, Warning, run_checks
from django.db import DEFAULT_DB_ALIAS, DatabaseError, InterfaceError

from verification import sql
from verification.checks import database, machine, mail, outside, providers, secrets, work  # noqa: F401  (register)
from verification.checks.registry import SUBJECTS, Aims, Check, register

log = logging.getLogger(__name__)

# After one of these no other question to the database makes sense.
AWAY = {"database-away", "database-read-only", "database-not-migrated"}
WITHOUT_DATABASE = {"outside", "machine", "backups"}


def examine(aims: Aims, subjects: Collection[str] = tuple(SUBJECTS)) -> list[CheckMessage]:
    """Return all findings, the worst first. ``obj`` of each is its subject."""
    found: list[CheckMessage] = []
    for subject, checks in SUBJECTS.items():
        for check in checks if subject in subjects else ():
            if subject in WITHOUT_DATABASE or AWAY.isdisjoint(each.id for each in found):
                messages = list(_look(check, aims))
                for message in messages:
                    message.obj = subject
                found += messages
    return sorted((each for each in found if not each.is_silenced()), key=lambda each: -each.level)


def _look(check: Check, aims: Aims) -> Iterator[CheckMessage]:
    """Run one check. One that fails is a finding itself, and stops no other."""
    try:
        yield from check(aims)
    except (DatabaseError, InterfaceError) as error:
        yield Critical(
            f"The database could not complete a check ({check.__name__}: {sql.reason(error)}).",
            hint="See PostgreSQL's log, and check whether the role of DATABASE_URL owns the database.",
            id="database-refuses",
        )
    except Exception as error:
        log.debug("a check failed", exc_info=True)
        yield Warning(
            f"A check failed ({check.__name__}: {type(error).__name__}).",
            hint="Run the doctor with LOG_LEVEL=DEBUG, which shows where it failed, and report it.",
            id="check-failed",
        )


@register("settings")
def system_checks(aims: Aims) -> Iterator[CheckMessage]:
    """Run ``check --deploy --database default``; in the embedded mode, which is for trying, without ``--deploy``."""
    try:
        yield from run_checks(include_deployment_checks=not settings.IS_EMBEDDED, databases=[DEFAULT_DB_ALIAS])
    except (DatabaseError, InterfaceError):  # another subject says so
        yield from run_checks(include_deployment_checks=not settings.IS_EMBEDDED)


@register("settings")
def debug_is_off(aims: Aims) -> Iterator[CheckMessage]:
    """Look at the embedded mode too: pages of errors would show settings to whoever provokes one."""
    if settings.DEBUG and settings.IS_EMBEDDED:
        yield Warning(
            "DEBUG is on: error pages show code and settings.", hint="Remove DEBUG from the environment.", id="debug"
        )
