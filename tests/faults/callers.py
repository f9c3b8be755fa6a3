"""Callers who verify strangers over and over, while the test takes a part of the service away."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from tests.faults.shop import Shop, recipient
from tests.live import wait_until

PAUSE_SECONDS = 0.1  # of a caller whose request failed, so that callers of a dead service do not take all the CPU


@dataclass(frozen=True, slots=True)
class Failure:
    """A request that was not answered with 200. ``began_at`` is by the monotonic clock."""

    began_at: float
    step: str
    what: object


@dataclass
class Callers:
    """Use as a context manager. Each thread has one request under way at most."""

    shop: Shop
    number: int = 4
    accepted: dict[str, str] = field(default_factory=dict)  # recipients by the id of their session
    verified: list[str] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)
    _is_over: threading.Event = field(default_factory=threading.Event)

    def __enter__(self) -> Callers:
        self._threads = [threading.Thread(target=self._call) for _ in range(self.number)]
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        for thread in self._threads:
            thread.join()

    def verify(self, count: int, *, seconds: float = 60) -> None:
        """Return once so many more have been verified."""
        enough = len(self.verified) + count
        wait_until(lambda: len(self.verified) >= enough, f"{count} more are verified", seconds=seconds)

    def _call(self) -> None:
        while not self._is_over.is_set():
            try:
                self._verify_somebody()
            except Failed:
                self._is_over.wait(PAUSE_SECONDS)

    def _verify_somebody(self) -> None:
        to = recipient()
        created = self._ask("create", lambda: self.shop.create(to))
        self.accepted[created["session_id"]] = to
        code = self.shop.code_for(to)
        checked = self._ask("check", lambda: self.shop.check(created["session_id"], code))
        self._ask("verify", lambda: self.shop.verify(checked["verify_token"]))
        self.verified.append(to)

    def _ask(self, step: str, ask: Callable[[], tuple]) -> dict:
        began_at = time.monotonic()
        try:
            status, body, _ = ask()
        except (OSError, ValueError) as error:  # no answer, or one that is not the service's
            self.failures.append(Failure(began_at, step, error))
            raise Failed from None
        if status != 200:
            self.failures.append(Failure(began_at, step, (status, body)))
            raise Failed
        return body


class Failed(Exception):
    """A caller's request that was not answered with 200."""


def assert_nothing_is_lost(callers: Callers, *, most_twice: int) -> None:
    """Assert that every accepted session is stored and its code went out, and few twice: those that were under way."""
    shop = callers.shop
    known = {session_id for (session_id,) in shop.service.query("SELECT id::text FROM verification_session")}
    assert set(callers.accepted) <= known
    for to in callers.accepted.values():
        wait_until(lambda to=to: shop.sent_to(to), "every accepted code goes out")
    twice = {to for to in callers.accepted.values() if len(shop.sent_to(to)) > 1}
    assert len(twice) <= most_twice
