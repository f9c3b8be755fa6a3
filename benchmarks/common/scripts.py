"""The clients' scripts: one whole verification, or one step of many."""

from __future__ import annotations

import itertools
import secrets
from collections.abc import Iterator
from dataclasses import dataclass

from benchmarks.common.driver import CodeFor, Request, Script, post

CREATE, CHECK, VERIFY = "create", "check", "verify"
ENDPOINTS = (CREATE, CHECK, VERIFY)

_SUBSCRIBERS = 10**8
_STRIDE = 38_196_601  # has no divisor in common with _SUBSCRIBERS, so all its multiples differ


def recipients() -> Iterator[str]:
    """Valid German mobile numbers, each once, neighbours far apart; from another place in every run."""
    start = secrets.randbelow(_SUBSCRIBERS)
    for number in itertools.count():
        yield f"+49151{(start + number * _STRIDE) % _SUBSCRIBERS:08d}"


@dataclass(frozen=True, slots=True)
class Target:
    """A server that is measured."""

    name: str
    port: int
    api_key: str = ""
    secret_key: str = ""

    def create(self, to: str) -> Request:
        return post(CREATE, "/session/create", {"to": to, "type": "sms"}, port=self.port, key=self.api_key)

    def check(self, session_id: str, code: str) -> Request:
        body = {"session_id": session_id, "code": code}
        return post(CHECK, "/session/check", body, port=self.port, key=self.api_key)

    def verify(self, token: str) -> Request:
        return post(VERIFY, "/session/verify", {"verify_token": token}, port=self.port, key=self.secret_key)

    def flow(self, to: str) -> Script:
        """Create, receive the code, check, verify."""
        checked = yield from self.two_steps(to)
        yield self.verify(checked["verify_token"])

    def two_steps(self, to: str) -> Script:
        """Create, receive the code, check. Returns the answer to the check."""
        session = yield self.create(to)
        code = yield CodeFor(to)
        return (yield self.check(session["session_id"], code))

    def create_only(self, to: str, sessions: dict[str, str]) -> Script:
        """Notes the session of the recipient in ``sessions``."""
        session = yield self.create(to)
        sessions[to] = session["session_id"]

    def check_only(self, session_id: str, code: str, tokens: list[str]) -> Script:
        """Appends the verify token to ``tokens``."""
        checked = yield self.check(session_id, code)
        tokens.append(checked["verify_token"])

    def verify_only(self, token: str) -> Script:
        yield self.verify(token)
