"""The far ends in a run of chaos: two gateways with the manners of bad providers, and a customer's callback address.

What they received, and when, is the truth that the service's word is held against.
"""

from __future__ import annotations

import json
import random
import socket
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from tests.fakes.http_server import Behaviour, FakeHttpServer, answer, raw, reset

HANG_SECONDS = 12.0  # longer than any provider is given
CONTRADICTS_SECONDS = 4.0  # after a receipt, when its end is seen and told: then its contradiction comes
# Manners in which the gateway took the message, and the service cannot know it.
DOUBTFUL = frozenset({"hangs", "resets", "garbage", "late answer"})
REFUSING = frozenset({"500", "429"})  # the gateway says that it did not take the message
MOODS: dict[str, dict[str, float]] = {
    "well": {"well": 1},
    "hangs": {"hangs": 1, "well": 1},
    "breaks": {"500": 2, "429": 1, "resets": 1, "well": 1},
    "lies": {"garbage": 1, "fails later": 1, "well": 1},
    "twice": {"answers twice": 1, "late answer": 1, "well": 1},
}
RECEIPTS = {  # how reports come, with how often
    "well": 6.0,
    "doubled": 2.0,
    "late": 2.0,
    "out of order": 2.0,
    "contradicting": 1.0,
}


@dataclass(frozen=True, slots=True)
class Arrival:
    """A message that a gateway was given. ``manner`` is what it did with it."""

    at: float
    message: int
    to: str
    channel: str
    code: str
    provider: str
    manner: str


@dataclass
class Gateways:
    """Both providers. ``report`` posts a receipt to a path of any node, and returns whether it was taken."""

    chance: random.Random
    report: Callable[[str, dict[str, Any]], bool]
    arrivals: list[Arrival] = field(default_factory=list)
    moods: dict[str, str] = field(default_factory=lambda: {"one": "well", "two": "well"})
    stopping: threading.Event = field(default_factory=threading.Event)

    def __post_init__(self) -> None:
        self.lock = threading.Lock()
        self.servers = {name: FakeHttpServer() for name in self.moods}
        for name, server in self.servers.items():
            server.default = self._behaviour(name)
        self.by_recipient: dict[str, list[Arrival]] = {}

    def to(self, recipient: str) -> list[Arrival]:
        with self.lock:
            return list(self.by_recipient.get(recipient, ()))

    def _behaviour(self, name: str) -> Behaviour:
        def behave(server: FakeHttpServer, connection: socket.socket) -> bool:
            body = server.asked.json()
            with self.lock:
                mood = MOODS[self.moods[name]]
                [manner] = self.chance.choices(list(mood), list(mood.values()))
                [receipts] = self.chance.choices(list(RECEIPTS), list(RECEIPTS.values()))
                arrived = Arrival(
                    time.time(), int(body["message_id"]), body["to"], body["channel"], body["code"], name, manner
                )
                self.arrivals.append(arrived)
                self.by_recipient.setdefault(arrived.to, []).append(arrived)
            if manner not in REFUSING:
                path = urlsplit(body["hook_url"]).path
                threading.Thread(target=self._tell, args=(path, arrived, receipts), daemon=True).start()
            return self._answer(manner)(server, connection)

        return behave

    def _answer(self, manner: str) -> Behaviour:
        if manner in ("500", "429"):
            return answer(int(manner), {"error": manner})
        if manner == "resets":
            return reset()
        if manner == "garbage":
            return raw(b"\x15\x03\x01\x00\x02\x02\x46 this is not HTTP\r\n\r\n")
        if manner == "answers twice":
            twice = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}" * 2
            return raw(twice, keep=True)
        if manner in ("hangs", "late answer"):
            seconds = HANG_SECONDS if manner == "hangs" else 2.0

            def wait(server: FakeHttpServer, connection: socket.socket) -> bool:
                self.stopping.wait(seconds)
                return answer()(server, connection) if manner == "late answer" else False

            return wait
        return answer()

    def _tell(self, path: str, arrived: Arrival, how: str) -> None:
        final, other = "delivered", "undelivered"
        if arrived.manner == "fails later":
            final, other = other, final
        further = {"doubled": [final], "out of order": ["sent"], "contradicting": [other]}
        self.stopping.wait(6.0 if how == "late" else 0.3)
        for number, status in enumerate((final, *further.get(how, ()))):
            self.stopping.wait(CONTRADICTS_SECONDS if number and how == "contradicting" else 0)
            while not self.report(path, {"id": str(arrived.message), "status": status}):
                if self.stopping.wait(1.0):  # as vendors do, until it is taken
                    return


@dataclass
class Callbacks:
    """The customer's address. One call in ten is refused, so that it comes again."""

    chance: random.Random
    told: dict[int, list[dict[str, Any]]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.server = FakeHttpServer(default=self._answer)
        self.lock = threading.Lock()

    def _answer(self, server: FakeHttpServer, connection: socket.socket) -> bool:
        body = json.loads(server.asked.body)
        with self.lock:
            is_refused = self.chance.random() < 0.1
            if not is_refused:
                self.told.setdefault(int(body["id"]), []).append(body)
        return answer(500 if is_refused else 200)(server, connection)
