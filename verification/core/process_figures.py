"""What a process tells of itself: what it uses of the machine, and how busy the threads are that serve.

Each process reports by itself, as /metrics is answered by another one, which may be in another container and see no
process but its own.
"""

from __future__ import annotations

import logging
import math
import threading
import time

from verification.core import metrics

log = logging.getLogger(__name__)

REPORT_SECONDS = 5.0  # between two reports of a process: less than the 15 s between two scrapes
MAX_WAIT_SECONDS = 600.0  # what a header tells beyond that is no time of a request: no proxy waits so long
# The header's number is in seconds (nginx), milliseconds (Caddy) or microseconds; by its size it is told which.
MILLISECONDS_FROM, MICROSECONDS_FROM = 1e11, 1e14


class ThreadUse:
    """Counts the threads that serve at this moment, and adds up for how long they did."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._busy = 0
        self._seconds = 0.0
        self._since = time.monotonic()

    def begin(self) -> None:
        self._change(1)

    def end(self) -> None:
        self._change(-1)

    def take(self) -> tuple[int, float]:
        """Return the busy threads, and for how many seconds threads were busy since this was last called."""
        with self._lock:
            self._add_up()
            seconds, self._seconds = self._seconds, 0.0
            return self._busy, seconds

    def _change(self, number: int) -> None:
        with self._lock:
            self._add_up()
            self._busy += number

    def _add_up(self) -> None:
        now = time.monotonic()
        self._seconds += self._busy * (now - self._since)
        self._since = now


class Reporter(threading.Thread):
    """Reports what this process uses, every few seconds until the process ends. ``role`` is ``web`` or ``worker``."""

    def __init__(self, role: str, *, threads: int, use: ThreadUse) -> None:
        super().__init__(name="process figures", daemon=True)
        self.role, self.threads, self.use = role, threads, use
        self._cpu = 0.0

    def run(self) -> None:
        is_told = False
        while True:
            try:
                self.report()
            except Exception:  # it fails nothing else, and is told once
                if not is_told:
                    log.exception("The metrics of this process could not be reported.")
                is_told = True
            time.sleep(REPORT_SECONDS)

    def report(self) -> None:
        busy, seconds = self.use.take()
        metrics.report_threads(self.role, threads=self.threads, busy=busy, busy_seconds=seconds)
        used = _used()
        cpu = used.pop("cpu_seconds", self._cpu)
        metrics.report_process(self.role, cpu_seconds=max(0.0, cpu - self._cpu), figures=used)
        self._cpu = cpu


def start(role: str, *, threads: int) -> ThreadUse | None:
    """Begin to report, and return what counts the threads; None where metrics are not wanted."""
    if not metrics.is_wanted():  # not is_on(): a disk that is full now may have room later
        return None
    use = ThreadUse()
    Reporter(role, threads=threads, use=use).start()
    return use


def _used() -> dict[str, float]:
    """Return what prometheus_client finds of this process in /proc: nothing where there is none."""
    from prometheus_client import ProcessCollector

    found = ProcessCollector(registry=None).collect()
    return {family.name.removeprefix("process_"): family.samples[0].value for family in found}


def count_wait_of_request(started: str) -> None:
    """Count how long a request waited for a thread. ``started`` is the proxy's ``X-Request-Start``: a time since 1970,
    perhaps behind ``t=``. What is no such time is not counted."""
    try:
        at = float(started.removeprefix("t="))
    except ValueError:
        return
    if at >= MICROSECONDS_FROM:
        at /= 1_000_000
    elif at >= MILLISECONDS_FROM:
        at /= 1_000
    waited = time.time() - at
    if math.isfinite(waited) and abs(waited) <= MAX_WAIT_SECONDS:
        metrics.count_wait("web", waited)


def count_wait_of_wake_up(timestamp: int) -> None:
    """Count how long a wake-up waited for a thread of a worker. ``timestamp`` is its creation in milliseconds."""
    metrics.count_wait("worker", time.time() - timestamp / 1_000)
