"""The doctor's register. ``check`` and ``migrate`` run all of Django's own, in no order, and pass them no options."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from django.core.checks import CheckMessage

BACKUP_HOURS = 26  # a backup of every night is a day old at most, and takes some time to write
MOST_NAMED = 5  # in one sentence


@dataclass(frozen=True, slots=True)
class Aims:
    """The places that the operator tells the doctor to look at.

    ``url`` is the service's address as its callers see it. ``nameserver`` is an address; empty means the machine's own.
    """

    url: str
    backups: Path | None = None
    backup_hours: int = BACKUP_HOURS
    dkim_selectors: tuple[str, ...] = ()
    nameserver: str = ""


Check = Callable[[Aims], Iterator[CheckMessage]]

# In this order: settings first, as much else follows from them. The database is before all that reads it.
SUBJECTS: dict[str, list[Check]] = {
    name: []
    for name in (
        *("settings", "outside", "database", "functions", "pooler", "secrets", "queue", "providers", "codes"),
        *("callbacks", "mail", "machine", "backups"),
    )
}


def register(subject: str) -> Callable[[Check], Check]:
    """Add a check to a subject. Its findings' ids stay the same from version to version."""

    def add(check: Check) -> Check:
        SUBJECTS[subject].append(check)
        return check

    return add


def named(names: list[str]) -> str:
    shown = ", ".join(names[:MOST_NAMED])
    return f"{shown} and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else shown
