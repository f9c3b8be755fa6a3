"""Histories: callers at once on few recipients, the answers with their times, and whether the model explains them."""

from __future__ import annotations

import math
import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from tests.protocol import model
from tests.protocol.linearizability import Timed, Verdict, explain
from tests.protocol.model import Call, State

CHANNELS = ("sms", "voice")
WRONG = "WRONG"  # no code of a project whose codes are digits
# What a caller does, with how often: many checks, as the races are there.
ACTS = {"create": 3, "send": 2, "check": 6, "verify": 4, "manual_send": 1, "channels": 1}
SLACK_SECONDS = 12.0  # by which times in answers may differ: no block, session or token ends in so short a history

Ask = Callable[[str, str, dict[str, Any] | None, str], tuple[int, Any]]  # method, path, body, kind of key


@dataclass
class Recorder:
    """Callers of one project. ``ask`` calls any of the nodes; ``arrived`` tells the codes that a recipient got."""

    ask: Ask
    arrived: Callable[[str], list[dict[str, Any]]]
    recipients: Sequence[str]
    seed: int
    history: dict[str, list[Timed]] = field(default_factory=dict)
    sessions: dict[str, list[str]] = field(default_factory=dict)
    tokens: dict[str, list[str]] = field(default_factory=dict)
    failures: list[BaseException] = field(default_factory=list)

    def __post_init__(self) -> None:
        for each in (self.history, self.sessions, self.tokens):
            each.update({to: [] for to in self.recipients})
        self.began = time.monotonic()

    def run(self, *, callers: int, calls: int) -> None:
        """Have so many callers make so many calls each, let go together."""
        barrier = threading.Barrier(callers)
        threads = [
            threading.Thread(target=self._call, args=(random.Random(f"{self.seed}/{number}"), calls, barrier))
            for number in range(callers)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if self.failures:
            raise self.failures[0]

    def _call(self, chance: random.Random, calls: int, barrier: threading.Barrier) -> None:
        barrier.wait()
        try:
            for _ in range(calls):
                self._act(chance, chance.choice(self.recipients))
        except BaseException as error:
            self.failures.append(error)

    def _act(self, chance: random.Random, to: str) -> None:
        [act] = chance.choices(list(ACTS), list(ACTS.values()))
        channel, sessions = chance.choice(CHANNELS), self.sessions[to]
        if act == "create" or not sessions:
            given = {"to": to, "type": channel, "send": chance.random() < 0.9}
            body = self._record(to, "create", given, "POST", "/session/create", given)
            if "session_id" in body and body["session_id"] not in sessions:
                sessions.append(body["session_id"])
        elif act == "send":
            given = {"session_id": sessions[-1], "type": channel}
            self._record(to, "send", given, "POST", "/session/send", given)
        elif act == "check":
            codes = [each["code"] for each in self.arrived(to)]
            code = chance.choice([*codes[-2:], *codes[-1:], WRONG]) if codes else WRONG
            given = {"session_id": chance.choice(sessions[-2:]), "code": code}
            body = self._record(to, "check", given, "POST", "/session/check", given)
            if "verify_token" in body:
                self.tokens[to].append(body["verify_token"])
        elif act == "verify" and self.tokens[to]:
            given = {"verify_token": self.tokens[to][-1]}
            self._record(to, "verify", given, "POST", "/session/verify", given, kind="secret")
        elif act == "manual_send":
            given = {"to": to, "channel": channel}
            self._record(to, "manual_send", given, "POST", "/manual/send", given, kind="secret")
        else:
            path = f"/session/channels?session_id={sessions[-1]}"
            self._record(to, "channels", {"session_id": sessions[-1]}, "GET", path)

    def _record(
        self, to: str, name: str, given: dict[str, Any], method: str, path: str, sent: Any = None, *, kind: str = "api"
    ) -> dict[str, Any]:
        start = time.monotonic() - self.began
        try:
            status, body = self.ask(method, path, sent, kind)
        except (OSError, ValueError):  # nobody knows whether it happened
            status, body = 0, {}
        end = time.monotonic() - self.began
        body = {"channels": body} if isinstance(body, list) else body
        if told := body.get("session_expired_at"):
            body = {**body, "expires_in": (datetime.fromisoformat(told) - datetime.now(UTC)).total_seconds()}
        self.history[to].append(Timed(start, end, Call(name, given, status, body, end, SLACK_SECONDS)))
        return body

    def judge(self, to: str) -> Verdict:
        """Return whether the model explains the recipient's calls, and as many messages as the gateway was given."""
        told = Counter(each["channel"] for each in self.arrived(to))
        assert len({each["message_id"] for each in self.arrived(to)}) == told.total(), "A message was sent twice."

        def is_end(state: State) -> bool:
            return Counter(each.channel for each in state.sends) == told

        return explain(self.history[to], State(to, CHANNELS), model.after, inner=model.dropped, is_end=is_end)


def told(history: Sequence[Timed]) -> str:
    """Write a history down for people, by the moments at which its calls began."""
    lines = []
    for each in sorted(history, key=lambda each: each.start):
        end = f"{each.end:.3f}" if each.end < math.inf else "never"
        given = {name: value for name, value in each.call.given.items() if name != "to"}
        kept = ("session_id", "sent_to", "attempts_left", "verify_token", "retry_after", "channels", "channel")
        answer = {name: each.call.body[name] for name in kept if name in each.call.body}
        if shown := answer.get("channels"):
            answer["channels"] = {shown_one["type"]: shown_one["timeout"] for shown_one in shown}
        lines.append(f"{each.start:.3f}–{end} {each.call.name} {given} → {each.call.outcome} {answer}")
    return "\n".join(lines)
