"""This machine: its disks, and the backups in the folder that the operator names."""

from __future__ import annotations

import shutil
import stat
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from django.core.checks import CheckMessage, Critical, Warning

from verification.checks.registry import Aims, register
from verification.services.maintenance import exposition

LEAST_FREE, LAST_FREE = 0.1, 0.02  # parts of a disk: as in the alarm WatchwordDiskFull, and where writes soon fail
SHRUNKEN = 0.5  # of the one before: a dump that was broken off is shorter
READ_BY_OTHERS = stat.S_IROTH | stat.S_IWOTH
LOOK = "See the last log lines of the job that writes it, and restore it once to be sure (docs/upgrade.md)."


@register("machine")
def disk_is_free(aims: Aims) -> Iterator[CheckMessage]:
    """Look at the disks of WATCHWORD_HOME, on which the embedded servers are, and of METRICS_DIR."""
    for folder in exposition.disks().values():
        disk = shutil.disk_usage(folder)
        yield from check_disk(folder, disk.free, disk.total)


def check_disk(folder: Path, free: int, total: int) -> Iterator[CheckMessage]:
    if free >= LEAST_FREE * total:
        return
    found = Critical if free < LAST_FREE * total else Warning
    yield found(
        f"{free / 2**30:.1f} of {total / 2**30:.0f} GiB are free on the disk of {folder}.",
        hint="Remove old logs and dumps, or enlarge it.",
        id="disk-full",
    )


@dataclass(frozen=True, slots=True)
class Backup:
    """A file, or a folder with what ``pg_dump --format=directory`` and ``pg_basebackup`` write. Size is in bytes."""

    path: Path
    written_at: float
    size: int


@register("backups")
def newest_is_good(aims: Aims) -> Iterator[CheckMessage]:
    if aims.backups is None:
        return
    found = sorted(backups_in(aims.backups), key=lambda each: each.written_at, reverse=True)
    if not found:
        yield Critical(
            f"There is no backup in {aims.backups}.", hint="Write one every night (docs/upgrade.md).", id="no-backup"
        )
        return
    newest, name = found[0], found[0].path.name
    hours = (time.time() - newest.written_at) / 3600
    if hours > aims.backup_hours:
        yield Critical(f"The newest backup, {name}, is {hours:.0f} hours old.", hint=LOOK, id="backup-old")
    if not newest.size:
        yield Critical(f"The newest backup, {name}, is empty.", hint=LOOK, id="backup-empty")
    elif len(found) > 1 and newest.size < SHRUNKEN * found[1].size:
        yield Warning(
            f"The newest backup, {name}, is less than half the size of the previous one.",
            hint=LOOK,
            id="backup-shrunken",
        )
    if newest.path.stat().st_mode & READ_BY_OTHERS:
        yield Warning(
            f"Every user of this machine can read {newest.path}, which contains recipients' addresses.",
            hint="Write backups with umask 077 and encrypt them. For this one: chmod go= on it.",
            id="backup-open",
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
