"""Backups, where the operator tells the folder: the age of the newest, its size, and who can read it."""

from __future__ import annotations

import stat
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from verification.services.maintenance.doctor.findings import Aims, Finding, critical, warning

SHRUNKEN = 0.5  # of the one before: a dump that was broken off is shorter
READ_BY_OTHERS = stat.S_IROTH | stat.S_IWOTH
LOOK = "See the last log lines of the job that writes it, and restore it once to be sure (docs/upgrade.md)."


@dataclass(frozen=True, slots=True)
class Backup:
    """A file, or a folder with what ``pg_dump --format=directory`` and ``pg_basebackup`` write. Size is in bytes."""

    path: Path
    written_at: float
    size: int


def newest_is_good(aims: Aims) -> Iterator[Finding]:
    if aims.backups is None:
        return
    found = sorted(backups_in(aims.backups), key=lambda each: each.written_at, reverse=True)
    if not found:
        yield critical(
            "no-backup", f"There is no backup in {aims.backups}.", "Write one every night (docs/upgrade.md)."
        )
        return
    newest, name = found[0], found[0].path.name
    hours = (time.time() - newest.written_at) / 3600
    if hours > aims.backup_hours:
        yield critical("backup-old", f"The newest backup, {name}, is {hours:.0f} hours old.", LOOK)
    if not newest.size:
        yield critical("backup-empty", f"The newest backup, {name}, is empty.", LOOK)
    elif len(found) > 1 and newest.size < SHRUNKEN * found[1].size:
        yield warning(
            "backup-shrunken", f"The newest backup, {name}, is less than half the size of the previous one.", LOOK
        )
    if newest.path.stat().st_mode & READ_BY_OTHERS:
        yield warning(
            "backup-open",
            f"Every user of this machine can read {newest.path}, which contains recipients' addresses.",
            "Write backups with umask 077 and encrypt them. For this one: chmod go= on it.",
        )


def backups_in(path: Path) -> list[Backup]:
    """Return the backups in a folder, or the one file that was named."""
    if path.is_file():
        return [_read(path)]
    return [_read(entry) for entry in path.iterdir() if not entry.name.startswith(".")] if path.is_dir() else []


def _read(path: Path) -> Backup:
    if path.is_file():
        status = path.stat()
        return Backup(path, status.st_mtime, status.st_size)
    files = [file.stat() for file in path.rglob("*") if file.is_file()]
    newest = max((file.st_mtime for file in files), default=path.stat().st_mtime)
    return Backup(path, newest, sum(file.st_size for file in files))


CHECKS = (newest_is_good,)
