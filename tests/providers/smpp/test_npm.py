"""The adapter against a message centre of npm's ``smpp``, which shares no code with ours."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import threading
from pathlib import Path

import pytest

from providers import registry
from providers.base import Consent, Outcome, ReceiptStatus
from providers.errors import ProviderError
from providers.http.client import HttpClient
from tests.fakes.messages import make_message
from tests.fakes.smsc import PASSWORD, SYSTEM_ID
from tests.fakes.store import FakeStore
from tests.live import ROOT, wait_until

SCRIPT = ROOT / "tests" / "fakes" / "smsc_npm.js"
MODULES = Path(os.environ.get("NODE_PATH", ROOT / "var" / "npm" / "node_modules"))
LOOPBACK = ("127.0.0.0/8",)

pytestmark = [
    pytest.mark.long,
    pytest.mark.xdist_group("smpp_npm"),
    pytest.mark.skipif(
        not (shutil.which("node") and (MODULES / "smpp").exists()),
        reason="Needs node and the package: npm install --prefix var/npm smpp@0.5.1",
    ),
]


class Server:
    def __init__(self) -> None:
        self.process = subprocess.Popen(
            ["node", str(SCRIPT)],
            env={**os.environ, "NODE_PATH": str(MODULES)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.port = int(self.process.stdout.readline())
        self.told: list[dict] = []
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def _read(self) -> None:
        for line in self.process.stdout:
            self.told.append(json.loads(line))

    def messages_to(self, to: str, last_id: str) -> list[dict]:
        """Up to the one that was given this id."""
        wait_until(lambda: self.count("id", last_id), "the message is told")
        return [told for told in list(self.told) if told.get("to") == to.removeprefix("+")]

    def count(self, name: str, value: object) -> int:
        return sum(told.get(name) == value for told in list(self.told))

    def stop(self) -> None:
        self.process.stdin.close()
        self.process.wait()
        self.reader.join()
        self.process.stdout.close()


@pytest.fixture(scope="module")
def server():
    running = Server()
    yield running
    running.stop()


@pytest.fixture
def build(server):
    def make(**changes):
        raw = {"host": "127.0.0.1", "port": server.port, "tls": False, "system_id": SYSTEM_ID, "password": PASSWORD}
        settings = registry.clean_settings("smpp", {**raw, "sender": "Shop", **changes}, LOOPBACK)
        return registry.build("smpp", settings, http=HttpClient(LOOPBACK), store=FakeStore())

    return make


@pytest.fixture
def connect(build):
    opened = []

    def make(**changes):
        receipts = []

        def take(reply):
            receipts.extend(reply.events)
            return 0  # of them for messages that nobody knows

        connection = build(**changes).connect(take, name="npm")
        opened.append(connection)
        wait_until(lambda: len(connection._links._bound) == len(connection._links._threads), "all binds are up")
        return connection, receipts

    yield make
    for connection in opened:
        connection.close()


@pytest.mark.parametrize("given", [{"binds": 2}, {"bind_mode": "separate"}])
@pytest.mark.parametrize(
    ("to", "status"),
    [
        ("+4915112345670", ReceiptStatus.SUCCESS),
        ("+4915112345672", ReceiptStatus.SUCCESS),  # its receipt comes before the answer
        ("+4915112345673", ReceiptStatus.FAILED),
    ],
)
def test_a_message_is_accepted_and_reported(connect, server, given, to, status):
    before = server.count("answered", 0)
    connection, receipts = connect(**given)
    result = connection.send(make_message(to=to, expires_in=180))
    told = server.messages_to(to, result.provider_message_id)[-1]
    assert (result.outcome, result.provider_message_id) == (Outcome.ACCEPTED, told["id"])
    assert (told["from"], told["ton"], told["text"], told["coding"]) == ("Shop", 5, "Your code is 4711", 0)
    wait_until(lambda: server.count("answered", 0) > before, "the receipt is answered")
    assert [(receipt.status, receipt.provider_message_id) for receipt in receipts] == [(status, told["id"])]


def test_a_user_who_answers_stop_is_heard(connect):
    connection, events = connect()
    connection.send(make_message(to="+4915112345674"))
    stop = Consent("+4915112345674", is_given=False)
    wait_until(lambda: stop in events, "the keyword is reported")


def test_throttling_is_told_and_over_in_a_moment(connect):
    connection, _ = connect()
    with pytest.raises(ProviderError) as caught:
        connection.send(make_message(to="+4915112345671"))
    assert caught.value.outcome is Outcome.RATE_LIMITED
    assert connection.send(make_message(to="+4915112345671")).outcome is Outcome.ACCEPTED


@pytest.mark.parametrize("way", ["udh", "sar", "payload"])
@pytest.mark.parametrize(("text", "coding"), [("Your code @ [4711] for 5 €. " * 12, 0), ("Ваш код 4711 😀. " * 12, 8)])
def test_a_text_of_any_length_is_read_as_it_was_written(connect, server, way, text, coding):
    to = f"+49151{['udh', 'sar', 'payload'].index(way)}{coding}00000"
    connection, _ = connect(long_texts=way)
    result = connection.send(make_message(id=0x2A, to=to, text=text))
    parts = server.messages_to(to, result.provider_message_id)
    assert {part["coding"] for part in parts} == {coding}
    assert "".join(part["text"] for part in parts) == text
    if way == "payload":
        assert len(parts) == 1
    elif way == "udh":
        assert [part["header"] for part in parts] == [
            f"00032a{len(parts):02x}{number:02x}" for number in range(1, len(parts) + 1)
        ]
    else:
        assert [part["sar"] for part in parts] == [[0x2A, len(parts), number] for number in range(1, len(parts) + 1)]
    assert [part["asked"] for part in parts] == [0] * (len(parts) - 1) + [1]


def test_check_binds_and_parts_in_peace(build, server):
    before = server.count("unbound", True)
    assert build().check().is_ok
    wait_until(lambda: server.count("unbound", True) > before, "it has unbound")
    with pytest.raises(ProviderError) as caught:
        build(password="wrong").check()
    assert "password" in str(caught.value)
