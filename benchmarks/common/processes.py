"""The cost of processes as Linux counts it: CPU seconds of whole trees, and how busy the machine is."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from pathlib import Path
from statistics import median

TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")
PROC = Path("/proc")

# Positions in /proc/<pid>/stat after the name, which is in parentheses and may hold anything.
_PARENT = 1
_TIMES = slice(11, 15)  # user, system, and both of the children that have ended


def tree_cpu_seconds(roots: Mapping[str, int]) -> dict[str, float]:
    """The CPU seconds that each named root and all its descendants have used since they were started.

    Empty where there is no /proc. What children used that have ended is with their parent.
    """
    if not PROC.exists():
        return {}
    parents: dict[int, int] = {}
    seconds: dict[int, float] = {}
    for entry in PROC.iterdir():
        if not entry.name.isdigit():
            continue
        try:
            fields = (entry / "stat").read_bytes().rpartition(b")")[2].split()
        except OSError:  # it has just ended
            continue
        pid = int(entry.name)
        parents[pid] = int(fields[_PARENT])
        seconds[pid] = sum(map(int, fields[_TIMES])) / TICKS_PER_SECOND
    totals = dict.fromkeys(roots, 0.0)
    names = {pid: name for name, pid in roots.items()}
    for pid, used in seconds.items():
        ancestor = pid
        while ancestor not in names and ancestor in parents:
            ancestor = parents[ancestor]
        if ancestor in names:
            totals[names[ancestor]] += used
    return totals


def machine_busy_seconds() -> float:
    """The CPU seconds that the whole machine has been busy since its boot; 0 where there is no /proc."""
    try:
        user, nice, system, _idle, _iowait, *rest = (PROC / "stat").read_text().partition("\n")[0].split()[1:9]
    except OSError:
        return 0.0
    return sum(map(int, (user, nice, system, *rest))) / TICKS_PER_SECOND


def loop_ms() -> float:
    """Measure this machine's speed now: CPU milliseconds of a fixed piece of Python, the median of fifteen.

    On shared cores the same work costs two or three times as much CPU time when the neighbours are busy. CPU figures
    of two runs can be compared only after division by this.
    """
    taken = []
    for _ in range(15):
        began_at = time.thread_time()
        sum(number * number for number in range(200_000))
        taken.append(time.thread_time() - began_at)
    return median(taken) * 1e3


def postgres_seconds() -> float:
    """Return the CPU seconds so far of the backend that serves this process."""
    from django.db import connection

    connection.ensure_connection()
    fields = Path(f"/proc/{connection.connection.info.backend_pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS_PER_SECOND
