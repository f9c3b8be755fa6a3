"""The examination: every subject's checks in turn, whatever one of them runs into."""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterator
from dataclasses import dataclass

from django.db import DatabaseError, InterfaceError

from verification import sql
from verification.services.maintenance.doctor.findings import Aims, Check, Finding, Severity, critical, warning
from verification.services.maintenance.doctor.subjects import (
    backups,
    callbacks,
    codes,
    database,
    functions,
    machine,
    mail,
    outside,
    pooler,
    providers,
    queue,
    secrets,
    settings,
)

log = logging.getLogger(__name__)

# In this order: settings first, as much else follows from them. The database is before all that reads it.
SUBJECTS: dict[str, tuple[Check, ...]] = {
    "settings": settings.CHECKS,
    "outside": outside.CHECKS,
    "database": database.CHECKS,
    "functions": functions.CHECKS,
    "pooler": pooler.CHECKS,
    "secrets": secrets.CHECKS,
    "queue": queue.CHECKS,
    "providers": providers.CHECKS,
    "codes": codes.CHECKS,
    "callbacks": callbacks.CHECKS,
    "mail": mail.CHECKS,
    "machine": machine.CHECKS,
    "backups": backups.CHECKS,
}
AWAY = frozenset(
    {"database-away", "database-read-only", "database-not-migrated"}
)  # then no other question to the database makes sense
WITHOUT_DATABASE = frozenset({"outside", "machine", "backups"})


@dataclass(frozen=True, slots=True)
class SubjectFinding:
    """A finding and the subject that it belongs to."""

    subject: str
    finding: Finding


def examine(aims: Aims, subjects: Collection[str] = tuple(SUBJECTS)) -> list[SubjectFinding]:
    """Return all findings, the worst first."""
    found: list[SubjectFinding] = []
    for subject in SUBJECTS:
        if subject not in subjects:
            continue
        for check in SUBJECTS[subject]:
            if subject in WITHOUT_DATABASE or not any(each.finding.name in AWAY for each in found):
                found += [SubjectFinding(subject, finding) for finding in _look(check, aims)]
    return sorted(found, key=lambda each: -each.finding.severity)


def worst(found: Collection[SubjectFinding]) -> Severity:
    return max((each.finding.severity for each in found), default=Severity.NOTE)


def _look(check: Check, aims: Aims) -> Iterator[Finding]:
    """Run one check. One that fails is a finding itself, and stops no other."""
    try:
        yield from check(aims)
    except (DatabaseError, InterfaceError) as error:
        reason = sql.reason(error)
        yield critical(
            "database-refuses",
            f"The database did not answer a check ({check.__name__}: {reason}).",
            "See the log of PostgreSQL, and whether the role of DATABASE_URL owns the database.",
        )
    except Exception as error:
        log.debug("a check failed", exc_info=True)
        yield warning(
            "check-failed",
            f"A check could not be made ({check.__name__}: {type(error).__name__}).",
            "Run the doctor with LOG_LEVEL=DEBUG, which shows where, and report it.",
        )
