"""Two web servers and two workers on one database, and a project of which the model tells."""

from __future__ import annotations

import itertools
import json
import threading
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.fakes.http_server import FakeHttpServer
from tests.live import LiveService

SHARED = ("REDIS_URL", "SECRET_KEY", "ENCRYPTION_KEYS", "BASE_URL", "DATABASE_URL")
SETTINGS = (
    "requests_per_second=0",
    "traffic_guard=off",
    "guess_wrong_checks=0",
    "guess_network_recipients=0",
    "guess_same_value_sessions=0",
)
_recipients = itertools.count(1)


@contextmanager
def two_nodes(home: Path, **environment: str) -> Iterator[list[LiveService]]:
    """Start and stop them; a web server of one process each, as the race is between servers."""
    first = LiveService(home / "first", is_embedded=False, web_processes=1, **environment)
    shared = {name: first.environment[name] for name in SHARED}
    second = LiveService(home / "second", is_embedded=False, web_processes=1, **{**shared, **environment})
    for node in (first, second):
        node.home.mkdir(parents=True, exist_ok=True)
    try:
        first.servers.start()
        for node in (first, second):
            node.start_web()
            node.start_worker()
        yield [first, second]
    finally:
        second.stop()
        first.stop()


class Project:
    """A project with SMS and voice over one gateway, called at any node in turn. ``budget``: SMS a day; 0: no limit."""

    def __init__(self, nodes: list[LiveService], gateway: FakeHttpServer, *, budget: int = 0) -> None:
        self.nodes, self.gateway = nodes, gateway
        manage = nodes[0]
        made = manage.json("createproject", f"Protocol {next(_recipients)}")
        self.id = made["project"]
        manage.manage("setproject", str(self.id), *SETTINGS)
        for channel in ("sms", "voice"):
            options = ["--channel", channel, "--type", "http", "--name", channel]
            options += ["--daily-budget", str(budget if channel == "sms" else 0)]
            manage.json("addprovider", str(self.id), *options, "--set", f"url={gateway.url}/{channel}")
        self.keys = {"api": made["api_key"], "secret": made["secret_key"]}
        self._turns = itertools.count()
        self._lock, self._read, self._arrived = threading.Lock(), 0, defaultdict(list)

    def ask(self, method: str, path: str, body: Any, kind: str) -> tuple[int, Any]:
        node = self.nodes[next(self._turns) % len(self.nodes)]
        status, answer, _ = node.call(method, path, body, key=self.keys[kind])
        return status, answer

    def arrived(self, to: str) -> list[dict[str, Any]]:
        """Return what the gateway was given for the recipient, in order."""
        with self._lock:
            requests = self.gateway.requests[self._read :]
            self._read += len(requests)
            for request in requests:
                body = json.loads(request.body)
                self._arrived[body["to"]].append(body)
            return list(self._arrived[to])

    def is_quiet(self) -> bool:
        """Return whether every message is final."""
        waiting = "SELECT count(*) FROM verification_message WHERE status IN ('queued', 'sending')"
        return self.nodes[0].query(waiting) == [(0,)]


def recipient() -> str:
    return f"+49151{next(_recipients) * 10_007 % 10**8:08d}"
