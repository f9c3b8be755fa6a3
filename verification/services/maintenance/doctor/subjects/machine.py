"""This machine: its disks."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

from verification.services.maintenance import exposition
from verification.services.maintenance.doctor.findings import Aims, Finding, critical, warning

LEAST_FREE, LAST_FREE = 0.1, 0.02  # parts of a disk: as in the alarm WatchwordDiskFull, and where writes soon fail


def disk_is_free(aims: Aims) -> Iterator[Finding]:
    """Look at the disks of WATCHWORD_HOME, on which the embedded servers are, and of METRICS_DIR."""
    for folder in exposition.disks().values():
        disk = shutil.disk_usage(folder)
        yield from check_disk(folder, disk.free, disk.total)


def check_disk(folder: Path, free: int, total: int) -> Iterator[Finding]:
    if free >= LEAST_FREE * total:
        return
    found = critical if free < LAST_FREE * total else warning
    yield found(
        "disk-full",
        f"{free / 2**30:.1f} of {total / 2**30:.0f} GiB are free on the disk of {folder}.",
        "Remove old logs and dumps, or enlarge it.",
    )


CHECKS = (disk_is_free,)
