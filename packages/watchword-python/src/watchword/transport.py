"""Calls: how one is written, when it is repeated, and how its answer is read. Nothing here sends or waits."""

from __future__ import annotations

import random
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from enum import IntEnum
from typing import Any

import httpx
from watchword.errors import ConnectionFailed, Problem, UnexpectedAnswer
from watchword.problems import PROBLEMS

FIRST_WAIT_SECONDS = 0.25  # before the first repetition; doubled before each further one
# The service never got a request that ended so.
NEVER_SENT = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout, httpx.UnsupportedProtocol)


class Repeat(IntEnum):
    """The failures after which a call is repeated; each value includes the ones before it."""

    UNSENT = 1  # the request never reached the service
    REFUSED = 2  # the service says that it did nothing
    ANY = 3  # nothing is known; repeating does no harm


class Key:
    """A key, whose text no ``repr`` shows."""

    __slots__ = ("text",)

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return "Key(…)"


@dataclass(frozen=True, slots=True)
class Call:
    """One call of the API, without its key."""

    method: str
    path: str
    repeat: Repeat
    body: Mapping[str, Any] | None = field(default=None, repr=False)
    query: Mapping[str, str] | None = field(default=None, repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)


def given(**members: Any) -> dict[str, Any]:
    """Return the members that are not None: to the API the others are left out."""
    return {name: value for name, value in members.items() if value is not None}


def named(*, language: str | None = None, client_address: str | None = None) -> dict[str, str]:
    """Return the headers about the user, if they are given."""
    headers = {"Accept-Language": language, "X-Client-Address": client_address}
    return {name: value for name, value in headers.items() if value}


def repeat_of_sending(challenge_token: str | None) -> Repeat:
    """Return when a create or a send is repeated: a challenge's answer works once, and a refusal may have used it."""
    return Repeat.UNSENT if challenge_token else Repeat.ANY


def wait_before_next(
    call: Call, outcome: httpx.Response | httpx.RequestError, repetitions: int, longest_wait: float
) -> float | None:
    """Return the seconds to wait before the call is repeated, or None if it is not."""
    known = _known(outcome)
    if known is None or call.repeat < known:
        return None
    told = retry_after(outcome) if isinstance(outcome, httpx.Response) else None
    if told is not None:
        return told if told <= longest_wait else None
    backoff = FIRST_WAIT_SECONDS * float(2**repetitions)
    return min(backoff * random.uniform(0.5, 1.5), longest_wait)  # noqa: S311 - spreads callers, guards nothing


def _known(outcome: httpx.Response | httpx.RequestError) -> Repeat | None:
    """Return what is known of a failure that a retry may fix; None for an answer that is final."""
    if isinstance(outcome, httpx.RequestError):
        return Repeat.UNSENT if isinstance(outcome, NEVER_SENT) else Repeat.ANY
    code = (_document(outcome) or {}).get("code")
    if code in ("rate_limited", "idempotency_conflict"):
        return Repeat.REFUSED if retry_after(outcome) is not None else None
    if code == "service_unavailable":
        return Repeat.REFUSED
    return Repeat.ANY if code in (None, "internal_error") and outcome.status_code >= 500 else None


def retry_after(response: httpx.Response) -> float | None:
    """Return the seconds in ``Retry-After``, which may be a number or a date."""
    told = response.headers.get("retry-after", "")
    if told.isascii() and told.isdigit():
        return float(told)
    try:
        return max(0.0, parsedate_to_datetime(told).timestamp() - time.time())
    except ValueError:
        return None


def read(outcome: httpx.Response | httpx.RequestError) -> Any:
    """Return the answer's JSON, or raise what went wrong."""
    if isinstance(outcome, httpx.RequestError):
        # Only its name: the error itself contains the request, and with it the key.
        raise ConnectionFailed(type(outcome).__name__, may_have_arrived=not isinstance(outcome, NEVER_SENT))
    if outcome.status_code == 200:
        try:
            return outcome.json()
        except ValueError:
            raise UnexpectedAnswer(outcome.status_code) from None
    document = _document(outcome)
    if document is None:
        raise UnexpectedAnswer(outcome.status_code)
    raise PROBLEMS.get(document["code"], Problem)(document, retry_after=retry_after(outcome))


def _document(response: httpx.Response) -> dict[str, Any] | None:
    """Return the problem document of an answer, if it is one."""
    try:
        document = response.json()
    except ValueError:
        return None
    is_problem = isinstance(document, dict) and isinstance(document.get("code"), str)
    return {"status": response.status_code, **document} if is_problem else None
