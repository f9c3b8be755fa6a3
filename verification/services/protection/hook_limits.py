"""The limits on providers' calls in a second, counted in each web process alone.

A flood of calls takes the time of the process that it meets. To ask the cache about each would take more of it, and so
would the memory of ``limits``: 20 µs a count, where this takes two.
"""

from __future__ import annotations

import time
from collections import Counter

from django.conf import settings

from verification.core.caching import FreshCache, Memory
from verification.core.errors import ApiError, DecisionRecord
from verification.services.protection.client_networks import network_of
from verification.services.protection.limits import WHOLE_PROJECT

UNKNOWN_PER_SECOND = 10  # calls of unknown addresses from one client network; each is one look-up in the database
CALL_BYTES = 16 * 1024  # a longer call counts once for each of these that it begins; one holds about 24 receipts
NAME = "hooks_per_second"
RETRY_SECONDS = 1  # how long a refused caller is told to wait: the count is of one second
MAX_REMEMBERED = 10_000  # addresses whose project a process remembers, some 300 bytes each
DETAIL = "Too many calls came in this second. Report again in a moment."

Path = tuple[str, str]  # a provider's id and secret, as they stand in the address
NO_PROJECT = 0  # stands for the operator's own providers, which report for all projects and have no limit


class CurrentSecond(Memory):
    """The counts of the current second; those of earlier ones are dropped."""

    def forget(self) -> None:
        self.counts: Counter[int | str] = Counter()
        self.number = 0

    def of(self, who: int | str) -> int:
        return self._current()[who]

    def add(self, who: int | str, times: int = 1) -> None:
        self._current()[who] += times

    def _current(self) -> Counter[int | str]:
        number = int(time.monotonic())
        if number != self.number:
            self.number, self.counts = number, Counter()
        return self.counts


_second = CurrentSecond()
_projects: FreshCache[Path, int] = FreshCache(MAX_REMEMBERED)  # of the addresses that were right within the last minute


def require_room(path: Path, client_address: str, *, size: int) -> None:
    """Count a call of ``size`` bytes. Raise ``rate_limited`` where too many came before. Nobody outside is asked."""
    project = _projects.last(path)  # however old: a provider never changes its project
    if project is not None:
        _count(project, size)
    elif _second.of(network_of(client_address)) >= UNKNOWN_PER_SECOND:
        raise ApiError("rate_limited", DETAIL, retry_after=RETRY_SECONDS, limit=NAME)


def remember_known(path: Path, project_id: int | None, *, size: int) -> None:
    """Remember the project of a right address. Raise ``rate_limited`` as for one that was remembered."""
    project = project_id or NO_PROJECT
    is_new = _projects.last(path) is None
    _projects.put(path, project, read_at=time.monotonic())
    if is_new:
        _count(project, size)


def count_unknown(path: Path, client_address: str) -> None:
    """Count a call of an address that is nobody's, or no longer."""
    _projects.drop(path)
    _second.add(network_of(client_address))


def _count(project: int, size: int) -> None:
    if project == NO_PROJECT:
        return
    if _second.of(project) >= settings.HOOKS_PER_SECOND:
        decision = DecisionRecord(project, NAME, WHOLE_PROJECT)
        raise ApiError("rate_limited", DETAIL, retry_after=RETRY_SECONDS, decision=decision, limit=NAME)
    _second.add(project, 1 + size // CALL_BYTES)
