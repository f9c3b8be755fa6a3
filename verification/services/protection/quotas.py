"""What a request was told to count against: the limits that its answer tells the caller of.

:mod:`limits` notes them where it counts, so that telling costs no further question. Only limits by which a caller can
pace itself are noted. A recipient's are not: by them whoever holds an API key could ask who logged in a moment ago.
"""

from __future__ import annotations

from contextvars import ContextVar
from typing import NamedTuple

# As in the settings and the decision log, so that an owner who reads an answer finds them.
CLIENT_ADDRESS = "creates_per_address"
PROJECT = "requests_per_second"
PUZZLES = "puzzles_per_address"
# The whole project's counts, which its own servers alone are told: to others they would tell how busy it is.
FOR_SERVERS = (PROJECT,)


class Quota(NamedTuple):
    """A limit of so many requests in so many seconds, and how many are left of the window that runs.

    ``opens_in`` are the seconds until the window ends, known where nothing is left.
    """

    name: str
    amount: int
    seconds: int
    left: int
    opens_in: int | None = None


_noted: ContextVar[dict[str, Quota] | None] = ContextVar("noted_quotas", default=None)


def begin() -> None:
    """Forget what was noted: a request begins. Without this call nothing is noted, as in commands."""
    _noted.set({})


def note(quota: Quota) -> None:
    if (noted := _noted.get()) is not None:
        noted[quota.name] = quota


def noted() -> list[Quota]:
    """Return what was noted since the request began, in the order in which it was counted."""
    return list((_noted.get() or {}).values())
