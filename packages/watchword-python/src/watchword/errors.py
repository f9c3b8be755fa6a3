"""The errors that a call can end with. None of them contains a key, a code, a token or a recipient."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from watchword.types import FieldProblem


class WatchwordError(Exception):
    """The base of all errors of this package."""


class ConnectionFailed(WatchwordError):
    """The service did not answer. ``may_have_arrived`` is false if it certainly never got the request."""

    def __init__(self, reason: str, *, may_have_arrived: bool) -> None:
        super().__init__(f"The service did not answer: {reason}.")
        self.may_have_arrived = may_have_arrived


class UnexpectedAnswer(WatchwordError):
    """The answer is not from Watchword: it comes from a proxy, or from another server at this address."""

    def __init__(self, status: int) -> None:
        super().__init__(f"The answer, with status {status}, is not from Watchword.")
        self.status = status


class TestLoginRefused(WatchwordError):
    """The verified recipient is a test login, and the caller did not allow test logins."""

    __test__ = False  # pytest would collect a class of this name

    def __init__(self) -> None:
        super().__init__("The recipient is a test login. Nobody gets in unless allow_test_logins is true.")


class CallbackRefused(WatchwordError):
    """The callback is not genuine, or too old. Do not act on it."""


class EnvelopeRefused(WatchwordError):
    """The envelope is malformed, was changed, or belongs to another key."""


class Problem(WatchwordError):
    """The service refused or failed. Each code has its own class in :mod:`watchword.problems`.

    A code of a later service, which this package does not know, is a plain ``Problem``.
    """

    def __init__(self, document: Mapping[str, Any], *, retry_after: float | None = None) -> None:
        self.code: str = document["code"]
        self.status: int = document["status"]
        self.title: str = document.get("title", "")
        self.detail: str = document.get("detail", "")
        self.type: str = document.get("type", "")
        self.request_id: str = document.get("request_id", "")
        self.retry_after: float | None = document.get("retry_after", retry_after)
        self.limit: str | None = document.get("limit")
        self.channels: list[str] = list(document.get("channels", []))
        self.attempts_left: int | None = document.get("attempts_left")
        self.errors = [FieldProblem.from_json(each) for each in document.get("errors", [])]
        self.provider: str | None = document.get("provider")
        self.api_key: str | None = document.get("api_key")
        self.link: str | None = document.get("link")
        super().__init__(f"{self.code}: {self.detail}")

    def __reduce__(self) -> tuple[Any, ...]:  # an error stays whole between processes, as in the pickles of task queues
        return _rebuilt, (type(self), self.__dict__)


def _rebuilt(kind: type[Problem], members: dict[str, Any]) -> Problem:
    problem = kind.__new__(kind, f"{members['code']}: {members['detail']}")
    problem.__dict__.update(members)
    return problem
