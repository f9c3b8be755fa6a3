"""The memories of a process: values that are fresh within a second, servers that are left alone, and waits.

Each memory registers itself when it is made, so :func:`clear_all` clears every one of a process. A memory is a hint:
a process that forgets everything reads it anew, and answers the same.

``cachetools`` does a part. Its ``TTLCache`` drops a value the moment it is too old, so all threads that need it read it
or wait for the one that does; here they go on with the old one. It takes a lock around each look-up, and has no list of
all caches by which a process forgets everything.
"""

from __future__ import annotations

import threading
import time
import weakref
from collections.abc import Callable, Hashable
from typing import Generic, NamedTuple, TypeVar

FRESH_SECONDS = 0.8  # the age at which a value is read anew. Every change holds in every process within a second.
MAX_AGE_SECONDS = 1.0  # the age that a value may have while another thread reads it anew
KEPT_SECONDS = 60.0  # how long a value that nobody asks for is held in memory

K = TypeVar("K")
V = TypeVar("V")

_memories: weakref.WeakSet[Memory] = weakref.WeakSet()


def clear_all() -> None:
    """Clear every memory of this process, as a process that has just started has none."""
    for memory in list(_memories):
        memory.forget()


class Memory:
    """The base of all memories: registers each one. A subclass sets its first state in :meth:`forget`."""

    def __init__(self) -> None:
        self.forget()
        _memories.add(self)

    def forget(self) -> None:
        raise NotImplementedError


class Cached(Memory, Generic[V]):
    """A decorator for a function without arguments: the first call's value serves until the process ends.

    Of many threads that call at once one computes it, which ``functools.cache`` does not promise.
    """

    def __init__(self, function: Callable[[], V]) -> None:
        self._function = function
        super().__init__()

    def __call__(self) -> V:
        values = self._values
        if not values:
            with self._lock:
                if not values:
                    values.append(self._function())
        return values[0]

    def forget(self) -> None:
        self._values: list[V] = []
        self._lock = threading.RLock()  # a new one: a fork may have copied one that a thread of its parent holds


class _Value(NamedTuple, Generic[V]):
    read_at: float  # by the monotonic clock
    good_seconds: float  # the age at which the next thread reads it anew
    value: V


class FreshCache(Memory, Generic[K, V]):
    """Values by key, each at most a second old. Of many threads that need one at once, a single thread reads it.

    The first thread that finds a value too old reads it anew. The others go on with the old one until it is a second
    old. A value that nobody read for a minute is dropped. With ``max_size``, a full memory is emptied.
    ``fresh_seconds`` is for values that change seldom: each is read anew at that age, and is a quarter older at most.
    """

    def __init__(self, max_size: int | None = None, *, fresh_seconds: float = FRESH_SECONDS) -> None:
        self._max_size = max_size
        self._fresh_seconds = fresh_seconds
        self._max_age = fresh_seconds * MAX_AGE_SECONDS / FRESH_SECONDS
        super().__init__()

    def forget(self) -> None:
        """Read every value anew at its next use."""
        self._values: dict[K, _Value[V]] = {}
        self._swept_at = time.monotonic()

    def get(self, key: K, load: Callable[[], V]) -> V:
        """Return the value of ``key``, by ``load`` if there is none that is fresh enough."""
        now = time.monotonic()
        found = self._values.get(key)
        if found is not None:
            if now - found.read_at < found.good_seconds:
                return found.value
            self._values[key] = found._replace(good_seconds=self._max_age)
        value = load()
        self.put(key, value, read_at=now)
        return value

    def recent(self, key: K) -> V | None:
        """Return the value of ``key`` unless it is to be read anew. Any number of callers may do that."""
        found = self._values.get(key)
        return found.value if found is not None and time.monotonic() - found.read_at < self._fresh_seconds else None

    def last(self, key: K) -> V | None:
        """Return the value of ``key`` that was read last, however old it is."""
        found = self._values.get(key)
        return None if found is None else found.value

    def put(self, key: K, value: V, *, read_at: float) -> None:
        """Remember a value that was asked for at ``read_at``, by the monotonic clock."""
        self._sweep(read_at)
        if self._max_size is not None and len(self._values) >= self._max_size:
            self._values.clear()
        self._values[key] = _Value(read_at, self._fresh_seconds, value)

    def drop(self, key: K) -> None:
        self._values.pop(key, None)

    def _sweep(self, now: float) -> None:
        """Drop, once a minute, the values that were read more than a minute ago and are too old to be used."""
        if now - self._swept_at < KEPT_SECONDS:
            return
        self._swept_at = now
        for key, found in list(self._values.items()):
            if found.read_at < now - max(KEPT_SECONDS, self._max_age):
                self._values.pop(key, None)


class FreshValue(FreshCache[None, V]):
    """A function's one value, as :func:`cached_for` keeps it."""

    def __init__(self, load: Callable[[], V], seconds: float) -> None:
        self._load = load
        super().__init__(fresh_seconds=seconds)

    def __call__(self) -> V:
        return self.get(None, self._load)


def cached_for(seconds: float) -> Callable[[Callable[[], V]], FreshValue[V]]:
    """A decorator for a function without arguments: a call reads its value anew at this age, as :class:`FreshCache`."""
    return lambda load: FreshValue(load, seconds)


class Breaker(Memory):
    """Servers that did not answer, and are left alone for ``seconds`` after ``failures`` in a row.

    When the time is over one caller asks. The others leave the server alone until that one has an answer. A single
    server needs no ``key``. Keys come from our configuration and never from callers, so their number has no bound of
    its own.
    """

    def __init__(self, *, seconds: float, failures: int = 1) -> None:
        self._seconds, self._failures = seconds, failures
        super().__init__()

    def forget(self) -> None:
        # Failures in a row, and when to ask again by the monotonic clock.
        self._failed: dict[Hashable, tuple[int, float]] = {}

    def allow(self, key: Hashable = None) -> bool:
        """Return whether the caller is to ask the server now.

        It then calls :meth:`record_failure` or :meth:`record_success`.
        """
        if key not in self._failed:
            return True
        count, ask_at = self._failed[key]
        now = time.monotonic()
        if count >= self._failures:
            if now < ask_at:
                return False
            self._failed[key] = count, now + self._seconds
        return True

    def record_failure(self, key: Hashable = None) -> None:
        count, _ = self._failed.get(key, (0, 0.0))
        self._failed[key] = count + 1, time.monotonic() + self._seconds

    def record_success(self, key: Hashable = None) -> None:
        self._failed.pop(key, None)


class LastReason(Memory):
    """Why something that is asked again and again failed last, so that the log tells a change alone."""

    def forget(self) -> None:
        self._reason = ""

    def changes_to(self, reason: str) -> bool:
        """Note the reason, empty where all is well, and return whether it is another one than before."""
        before, self._reason = self._reason, reason
        return before != reason


class Cooldown(Memory):
    """The seconds that each key has still to wait; a single wait needs no key.

    A memory of ``max_size`` waits is emptied when it is full.
    """

    def __init__(self, max_size: int = 1) -> None:
        self._max_size = max_size
        super().__init__()

    def forget(self) -> None:
        self._ends: dict[Hashable, float] = {}  # by the monotonic clock

    def __bool__(self) -> bool:
        return bool(self._ends)

    def left(self, key: Hashable = None) -> float:
        """Return the seconds that ``key`` has to wait, 0 if it has none."""
        end = self._ends.get(key)
        return 0.0 if end is None else max(0.0, end - time.monotonic())

    def begin(self, key: Hashable = None, *, seconds: float) -> None:
        if len(self._ends) >= self._max_size:
            self._ends.clear()
        self._ends[key] = time.monotonic() + seconds
