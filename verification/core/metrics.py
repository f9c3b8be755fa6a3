"""Count for Prometheus what only the process knows that does it: requests, calls, claims, tries.

Without ``METRICS_TOKEN`` nothing is counted. Each process writes to a file of its own in ``METRICS_DIR``, mapped into
its memory. Whoever answers a scrape adds up all files of the machine. docs/engineering/metrics.md lists the metrics. No
label is a recipient, a code, a key, or a text that a caller chose.
"""

from __future__ import annotations

import errno
import fcntl
import logging
import os
import shutil
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, Literal

from django.conf import settings

from verification.core.caching import Breaker, Cached, Cooldown

if TYPE_CHECKING:
    from prometheus_client import Counter, Gauge, Histogram

log = logging.getLogger(__name__)

# Part of the folder's name. It goes up with every change of a metric's name, labels or buckets: files of processes that
# count in another way are not added up.
FORMAT = 1
REQUEST_BUCKETS = (0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)  # seconds
CALL_BUCKETS = (0.05, 0.1, 0.25, 0.5, 1, 2, 4, 8)  # seconds; no call takes longer
ARRIVAL_BUCKETS = (0.25, 0.5, 1, 2, 5, 10, 20, 30, 60, 120, 300, 600)  # seconds; a message lives ten minutes at most
WAIT_BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)  # seconds
# Of one process, as prometheus_client's ProcessCollector names them.
PROCESS_FIGURES = {
    "resident_memory_bytes": "Resident memory of a process.",
    "virtual_memory_bytes": "Virtual memory of a process.",
    "open_fds": "Open file descriptors of a process.",
    "max_fds": "How many file descriptors a process may open.",
    "start_time_seconds": "When a process started, since 1970.",
}
MAX_PROVIDERS = 200  # whose ids are labels in one process; further ones are counted together
MAX_PLACES = 2_000  # pairs of provider and country in one process; further countries are counted together
OTHERS = "others"
MAX_SLOTS = 1_000  # processes of one machine that count; more than any machine runs
# Kept free of the disk, or an eighth of a smaller one: prometheus_client maps sparse files, and to write to a page
# without a block on a full disk ends the process by SIGBUS. Pages are first written to when a child is made.
RESERVED_BYTES = 64 << 20
TRY_AGAIN_SECONDS = 60.0  # between two tries to write where there was no room: there may be some again
TELL_AGAIN_SECONDS = 3600.0  # between two lines of one process about counts that are lost


class Slot:
    """The number under which a process counts, held by a file lock.

    A process that ends leaves its number, and its counts, to the next one that starts. So counts only rise, and there
    are never more files than there were processes at one time.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._pid, self._number = 0, 0
        self._lock = Lock()

    def __call__(self) -> int:
        """Return the number of the calling process. A fork takes one of its own."""
        if self._pid != os.getpid():
            with self._lock:
                if self._pid != os.getpid():
                    self._number = self._take()
                    self._pid = os.getpid()
        return self._number

    def _take(self) -> int:
        for number in range(MAX_SLOTS):
            descriptor = os.open(self.folder / f"slot_{number}.lock", os.O_RDWR | os.O_CREAT, 0o600)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                _forget_gauges(self.folder, number)  # of the process that had it before
                return number  # the descriptor stays open, and so locked, until the process ends
            except BlockingIOError:
                os.close(descriptor)
        raise OSError(f"{MAX_SLOTS} processes count already")


def forget_ended() -> None:
    """Remove the gauges of processes that have ended, which would stand for ever. Their counters stay."""
    for lock in folder().glob("slot_*.lock"):
        descriptor = os.open(lock, os.O_RDWR)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            _forget_gauges(folder(), int(lock.stem.removeprefix("slot_")))
        except BlockingIOError:
            pass  # its process runs
        finally:
            os.close(descriptor)


def _forget_gauges(folder: Path, number: int) -> None:
    from prometheus_client.multiprocess import mark_process_dead

    with suppress(FileNotFoundError):  # another scrape was faster
        mark_process_dead(number, str(folder))  # type: ignore[no-untyped-call]


class Bounded:
    """The values that a label may have: the first so many, and one word for all others."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.seen: set[object] = set()

    def has_room_for(self, value: object) -> bool:
        if value not in self.seen:
            if len(self.seen) >= self.most:
                return False
            self.seen.add(value)
        return True


class Families:
    """The metrics of this process. ``children`` keeps what was looked up by labels, which costs more than to count."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._folder = folder
        os.environ["PROMETHEUS_MULTIPROC_DIR"] = str(folder)  # the library knows no other way to be told
        from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, values

        values.ValueClass = values.MultiProcessValue(Slot(folder))  # type: ignore[no-untyped-call]
        self._registry = CollectorRegistry()
        self._children: dict[tuple[Any, ...], Any] = {}
        self._room = Breaker(seconds=TRY_AGAIN_SECONDS)
        self.providers, self.places = Bounded(MAX_PROVIDERS), Bounded(MAX_PLACES)

        def counter(name: str, text: str, *labels: str) -> Counter:
            return Counter(f"watchword_{name}", text, labels, registry=self._registry)

        def histogram(name: str, text: str, buckets: tuple[float, ...], *labels: str) -> Histogram:
            return Histogram(f"watchword_{name}", text, labels, registry=self._registry, buckets=buckets)

        def gauge(name: str, text: str, mode: Literal["liveall", "livesum"]) -> Gauge:
            registry = self._registry
            return Gauge(f"watchword_{name}", text, ("role",), registry=registry, multiprocess_mode=mode)

        self.requests = histogram(
            "request_seconds", "Requests to the API and their time in a thread.", REQUEST_BUCKETS, "endpoint", "status"
        )
        self.refusals = counter("refusals", "Problem documents that were answered.", "code")
        self.calls = histogram(
            "provider_call_seconds", "Calls of providers.", CALL_BUCKETS, "provider", "channel", "outcome"
        )
        self.outcomes = counter("outcomes", "Calls of providers by country.", "provider", "country", "outcome")
        self.accepted = histogram(
            "create_to_provider_seconds",
            "From a message's row to its acceptance by a provider.",
            ARRIVAL_BUCKETS,
            "provider",
            "channel",
        )
        self.receipts = histogram(
            "provider_to_receipt_seconds",
            "From the acceptance to the report that ended the message.",
            ARRIVAL_BUCKETS,
            "provider",
            "channel",
            "status",
        )
        self.unknown_keys = counter("unknown_keys", "Calls with a key that is not valid.", "answer")
        self.claims = counter("claims", "Messages that workers claimed.", "by")
        self.callbacks = counter("callback_tries", "Calls of customers' servers.", "result")
        self.waits = histogram("thread_wait_seconds", "How long work waited for a thread.", WAIT_BUCKETS, "role")
        self.threads = gauge("threads", "Threads that serve.", "livesum")
        self.busy = gauge("threads_busy", "Threads that were serving at the last report.", "livesum")
        self.busy_seconds = counter("thread_busy_seconds", "How long threads served.", "role")
        self.cpu = counter("process_cpu_seconds", "CPU time of processes.", "role")
        self.process = {name: gauge(f"process_{name}", text, "liveall") for name, text in PROCESS_FIGURES.items()}

    def child(self, family: Counter | Gauge | Histogram, *labels: str) -> Any:
        """Return what counts with these labels. Raises :class:`OSError` where the disk has no room for a new one.

        Then none is made for a minute: a histogram of which half was made leaves that half in memory.
        """
        key = (family, *labels)
        child = self._children.get(key)
        if child is None:
            if not self._room.allow():
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            try:
                self._require_room()
                child = self._children[key] = family.labels(*labels)
            except OSError:
                self._room.record_failure()
                raise
            self._room.record_success()
        return child

    def _require_room(self) -> None:
        disk = shutil.disk_usage(self._folder)
        if disk.free < min(RESERVED_BYTES, disk.total // 8):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def provider(self, provider: int | None) -> str:
        return str(provider) if self.providers.has_room_for(provider) else OTHERS


def folder() -> Path:
    return Path(settings.METRICS_DIR) / str(FORMAT)


_folder_away = Breaker(seconds=TRY_AGAIN_SECONDS)
_logged = Cooldown()


@Cached
def _made() -> Families:
    return Families(folder())  # an error is not remembered


os.register_at_fork(after_in_child=_made.forget)  # a fork counts in files of its own


def _families() -> Families | None:
    """Return the metrics; None if there are none, or if their folder cannot be written."""
    if not settings.METRICS_TOKEN or not _folder_away.allow():
        return None
    try:
        families = _made()
    except OSError as error:
        _folder_away.record_failure()
        _log_loss(error)
        return None
    _folder_away.record_success()
    return families


def _log_loss(error: OSError) -> None:
    """Say in the log, once an hour, that counts are lost. A full disk fails no request."""
    if not _logged.left():
        _logged.begin(seconds=TELL_AGAIN_SECONDS)
        log.error("The metrics lose counts: %s cannot be written (%s).", folder(), error.strerror or error)


def _count(name: str, *labels: str, times: int = 1) -> None:
    if families := _families():
        try:
            families.child(getattr(families, name), *labels).inc(times)
        except OSError as error:
            _log_loss(error)


def _observe(name: str, seconds: float, *labels: str) -> None:
    if families := _families():
        try:
            families.child(getattr(families, name), *labels).observe(max(0.0, seconds))
        except OSError as error:
            _log_loss(error)


def is_wanted() -> bool:
    """Return whether the operator has switched metrics on. Their folder may still have no room at this moment."""
    return bool(settings.METRICS_TOKEN)


def is_on() -> bool:
    return _families() is not None


def count_request(endpoint: str, status: int, seconds: float) -> None:
    _observe("requests", seconds, endpoint, str(status))


def count_refusal(code: str) -> None:
    """Count a problem document by its code, of which ``error_codes.CATALOGUE`` has all."""
    _count("refusals", code)


def count_unknown_key(answer: str) -> None:
    """Count a call with a key that is not valid. ``answer`` is ``refused``, or ``held_off`` by its client address."""
    _count("unknown_keys", answer)


def count_call(*, provider: int, channel: str, country: str | None, outcome: str, seconds: float) -> None:
    """Count a call of a provider, by its time and by the recipient's country."""
    if families := _families():
        name = families.provider(provider)
        _observe("calls", seconds, name, channel, outcome)
        place = (country or "none") if families.places.has_room_for((name, country)) else OTHERS
        _count("outcomes", name, place, outcome)


def count_accepted(*, provider: int, channel: str, seconds: float) -> None:
    if families := _families():
        _observe("accepted", seconds, families.provider(provider), channel)


def count_receipt(*, provider: int, channel: str, status: str, seconds: float) -> None:
    if families := _families():
        _observe("receipts", seconds, families.provider(provider), channel, status)


def count_claims(number: int, *, by: str) -> None:
    """Count claimed messages. ``by`` is ``wake-up`` or ``sweep``."""
    if number:
        _count("claims", by, times=number)


def count_callback(result: str) -> None:
    """Count a call of a customer's server. ``result`` is ``delivered``, ``refused`` or ``unreachable``."""
    _count("callbacks", result)


def count_wait(role: str, seconds: float) -> None:
    """Count how long a request or a wake-up waited for a thread. ``role`` is ``web`` or ``worker``."""
    _observe("waits", seconds, role)


def report_threads(role: str, *, threads: int, busy: int, busy_seconds: float) -> None:
    """Report this process's threads, and for how long they were busy since the last report."""
    if families := _families():
        try:
            families.child(families.threads, role).set(threads)
            families.child(families.busy, role).set(busy)
            families.child(families.busy_seconds, role).inc(busy_seconds)
        except OSError as error:
            _log_loss(error)


def report_process(role: str, *, cpu_seconds: float, figures: Mapping[str, float]) -> None:
    """Report the CPU time since the last report, and those ``PROCESS_FIGURES`` that are known here."""
    if families := _families():
        try:
            families.child(families.cpu, role).inc(cpu_seconds)
            for name in figures.keys() & PROCESS_FIGURES.keys():
                families.child(families.process[name], role).set(figures[name])
        except OSError as error:
            _log_loss(error)
