"""Look-ups of names. A name whose server is silent does not hold up the others.

The system's resolver has no time-out and cannot be stopped. While a name server is silent, a look-up hangs for many
seconds after its caller gave up. So one thread looks up each name, and all that ask for it meanwhile share its answer.

A name counts as known for an hour after it was answered. Unknown names of one domain get few threads at a time. A name
without an answer is not asked again for a while. Some threads are kept for known names: those go on, however many
unknown ones hang.
"""

from __future__ import annotations

import socket
import threading
import time
from collections import Counter, OrderedDict
from collections.abc import Sequence
from concurrent.futures import Future
from concurrent.futures import TimeoutError as NoAnswerYet
from dataclasses import dataclass

from providers.errors import NotConnected

# Look-ups that run at once in a process. Each is a thread.
MAX_LOOK_UPS = 64
# The most of them for unknown names. The others stay free for known names.
MAX_OF_UNKNOWN = 48
# The most of them for unknown names under one domain, so that one tenant's dead name server holds few threads.
MAX_OF_DOMAIN = 4
# The age at which a look-up counts as not answered. A caller that had less time left proves nothing.
PATIENCE_SECONDS = 0.9
# The time for which we do not look up a name again that had no answer.
SILENT_SECONDS = 15.0
# The time for which an answered name counts as known.
KNOWN_SECONDS = 3600.0
# Names that we remember as known, and as silent. The oldest are forgotten first.
MAX_REMEMBERED = 4096

# Second levels under which a country's registry sells names, as in example.co.uk.
_REGISTRIES = frozenset({"ac", "co", "com", "edu", "gov", "net", "ne", "or", "org"})

Answer = Sequence[str] | None  # None for a name that does not exist


@dataclass(frozen=True, slots=True)
class _Running:
    started_at: float
    answer: Future[Answer]


class LookUps:
    """The look-ups of one process."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._running: dict[tuple[str, int], _Running] = {}
        self._unknown: Counter[str] = Counter()  # running look-ups of unknown names, by domain
        self._silent_until: OrderedDict[str, float] = OrderedDict()
        self._known_until: OrderedDict[str, float] = OrderedDict()

    def resolve(self, host: str, port: int, timeout: float) -> list[str]:
        """Return the addresses of ``host``, within ``timeout`` seconds. Raises :class:`NotConnected`."""
        give_up_at = time.monotonic() + timeout
        host = host.lower()
        running = self._find_or_start(host, port, give_up_at)
        try:
            found = running.answer.result(timeout=max(0.0, give_up_at - time.monotonic()))
        except NoAnswerYet:
            self._note_silence(host, running)
            raise _silent(host) from None
        if not found:
            raise NotConnected(f"{host}: no such host")
        return list(found)

    def _note_silence(self, host: str, running: _Running) -> None:
        with self._changed:
            if not running.answer.done() and time.monotonic() - running.started_at >= PATIENCE_SECONDS:
                _remember(self._silent_until, host, SILENT_SECONDS)
                self._known_until.pop(host, None)

    def _find_or_start(self, host: str, port: int, give_up_at: float) -> _Running:
        with self._changed:
            while True:
                if time.monotonic() < self._silent_until.get(host, 0.0):
                    raise _silent(host)
                running = self._running.get((host, port))
                if running is not None:
                    return running
                domain = "" if time.monotonic() < self._known_until.get(host, 0.0) else domain_of(host)
                if self._has_room(domain):
                    return self._start(host, port, domain)
                if not self._changed.wait(max(0.0, give_up_at - time.monotonic())):
                    raise _silent(host)

    def _has_room(self, domain: str) -> bool:
        """Return whether another look-up may start. ``domain`` is empty for a known name."""
        if len(self._running) >= MAX_LOOK_UPS:
            return False
        return not domain or (self._unknown[domain] < MAX_OF_DOMAIN and self._unknown.total() < MAX_OF_UNKNOWN)

    def _start(self, host: str, port: int, domain: str) -> _Running:
        running = self._running[host, port] = _Running(time.monotonic(), Future())
        if domain:
            self._unknown[domain] += 1
        threading.Thread(target=self._look_up, args=(host, port, domain), name="resolve", daemon=True).start()
        return running

    def _look_up(self, host: str, port: int, domain: str) -> None:
        found: Answer = None
        try:
            entries = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
            found = list(dict.fromkeys(str(entry[4][0]) for entry in entries))
        except (OSError, UnicodeError):
            pass
        finally:
            self._end(host, port, domain, found)

    def _end(self, host: str, port: int, domain: str, found: Answer) -> None:
        with self._changed:
            if domain:
                self._unknown[domain] -= 1
                if not self._unknown[domain]:
                    del self._unknown[domain]
            if found:
                _remember(self._known_until, host, KNOWN_SECONDS)
                self._silent_until.pop(host, None)
            self._running.pop((host, port)).answer.set_result(found)
            self._changed.notify_all()


def domain_of(host: str) -> str:
    """Return the domain that somebody registered to have this name, as far as its writing tells."""
    labels = host.split(".")
    is_under_registry = len(labels) > 2 and len(labels[-1]) == 2 and labels[-2] in _REGISTRIES
    return ".".join(labels[-3 if is_under_registry else -2 :])


def _remember(names: OrderedDict[str, float], host: str, seconds: float) -> None:
    names[host] = time.monotonic() + seconds
    names.move_to_end(host)
    while len(names) > MAX_REMEMBERED:
        names.popitem(last=False)


def _silent(host: str) -> NotConnected:
    return NotConnected(f"{host}: the name server does not answer")


resolve = LookUps().resolve
