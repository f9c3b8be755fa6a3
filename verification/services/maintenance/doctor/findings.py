"""The words in which a check tells what it found."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path

BACKUP_HOURS = 26  # a backup of every night is a day old at most, and takes some time to write


class Severity(IntEnum):
    """The weight of a finding. Its number is the command's exit status."""

    NOTE = 0  # to know; nothing is harmed
    WARNING = 1  # something works less well or protects less than it should
    CRITICAL = 2  # users get no codes, or what should be closed is open


@dataclass(frozen=True, slots=True)
class Finding:
    """One fault. ``name`` stays the same from version to version; ``remedy`` is what the operator does."""

    severity: Severity
    name: str
    what: str
    remedy: str


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


Check = Callable[[Aims], Iterator[Finding]]


def critical(name: str, what: str, remedy: str) -> Finding:
    return Finding(Severity.CRITICAL, name, what, remedy)


def warning(name: str, what: str, remedy: str) -> Finding:
    return Finding(Severity.WARNING, name, what, remedy)


def note(name: str, what: str, remedy: str) -> Finding:
    return Finding(Severity.NOTE, name, what, remedy)
