"""A bulkhead: waits for somebody else's server cannot take all threads of a web process.

Some requests wait for a server outside: one that checks an account, a vendor of challenges, a customer's. Each holds a
thread meanwhile. So their number is limited, for each project and in all, and beyond that the caller is told to try
again.
"""

from __future__ import annotations

import logging
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from enum import Enum

from django.db import connections

from verification.core.errors import ApiError

log = logging.getLogger(__name__)

RETRY_SECONDS = 1  # how long a refused caller is told to wait; a thread may be free by then


class Wait(Enum):
    """What is waited for, and the shares of a process' threads: of one project, and of all. All waits count in both."""

    TENANTS_SERVER = (1 / 4, 1 / 2)  # its owner can let it hang; several such projects leave room for the vendors
    CHALLENGE_VENDOR = (3 / 8, 3 / 4)  # the operator trusts it, and users wait for it


class BulkheadFull(ApiError):
    """Too many requests wait for servers outside already."""

    def __init__(self) -> None:
        super().__init__(
            "service_unavailable",
            "Too many requests are waiting for other servers at this moment. Try again in a moment.",
            retry_after=RETRY_SECONDS,
        )


_waiting: Counter[int | None] = Counter()  # by project; None for waits on behalf of none
_counting = threading.Lock()
_threads = 0  # of this web process; 0 elsewhere, such as in a worker, where a bulkhead limits nothing
_local = threading.local()


def protect(threads: int) -> None:
    """Limit the waits of this process, which works with so many threads."""
    global _threads
    _threads = threads


def limits(wait: Wait, threads: int) -> tuple[int, int]:
    """Return how many requests of a process with so many threads may wait at once: one project's, and all."""
    of_project, in_all = (max(1, int(threads * share)) for share in wait.value)
    return of_project, in_all


@contextmanager
def bulkhead(project_id: int | None, wait: Wait = Wait.TENANTS_SERVER) -> Iterator[None]:
    """Wait within the block for a server outside, on behalf of ``project_id``. Raises :class:`BulkheadFull`."""
    if not _threads or getattr(_local, "is_waiting", False):
        yield
        return
    of_project, in_all = limits(wait, _threads)
    with _counting:
        if _waiting[project_id] >= of_project or _waiting.total() >= in_all:
            raise BulkheadFull
        _waiting[project_id] += 1
    _local.is_waiting = True
    try:
        if any(each.in_atomic_block for each in connections.all(initialized_only=True)):
            log.error("A request waits for an outside server in the middle of a transaction, which keeps locks.")
        yield
    finally:
        _local.is_waiting = False
        with _counting:
            _waiting[project_id] -= 1
