"""The adapter of the guide, taken from its page, does what the guide says."""

from __future__ import annotations

import hmac
import json
import re
import subprocess
import sys
import time

import pytest

from providers import registry
from providers.base import Outcome, ReceiptStatus
from providers.errors import HookForged, HookUnreadable
from providers.http.client import HttpClient
from tests.conftest import ROOT
from tests.fakes import http_server as fake
from tests.fakes.hooks import call, receipts_of
from tests.fakes.manners import BAD_ANSWERS
from tests.fakes.messages import error_of, make_sms
from tests.fakes.store import FakeStore
from tests.providers import test_conformance as conformance

PAGE = ROOT / "docs" / "providers" / "write-an-adapter.md"
LOOPBACK = ("127.0.0.0/8",)
SETTINGS = {"token": "hush-token", "signing_secret": "hush-signing", "sender": "Shop"}


@pytest.fixture
def server():
    with fake.FakeHttpServer() as running:
        yield running


@pytest.fixture
def source():
    [found] = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    return found


@pytest.fixture
def courier(drop, server, source):
    drop("courier", source)
    assert "courier" not in registry.failures()
    settings = registry.clean_settings("courier", {**SETTINGS, "base_url": server.url}, LOOPBACK)
    return registry.build("courier", settings, http=HttpClient(LOOPBACK), store=FakeStore())


def test_the_adapter_passes_the_checks_of_style(source):
    command = [sys.executable, "-m", "ruff", "check", "--stdin-filename", "providers/adapters/courier.py", "-"]
    checked = subprocess.run(command, cwd=ROOT, input=source, capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stdout


def report(secret=b"hush-signing", timestamp=None, **changes):
    body = json.dumps({"id": "c-1", "reference": "42", "state": "delivered", **changes}).encode()
    timestamp = timestamp or str(int(time.time()))
    signature = hmac.new(secret, timestamp.encode() + b"." + body, "sha256").hexdigest()
    return call(body, x_courier_timestamp=timestamp, x_courier_signature=signature)


def test_it_sends(courier, server):
    server.script(fake.answer(201, {"id": "c-1"}))
    result = courier.send(make_sms())
    [request] = server.requests
    assert (request.target, request.headers["authorization"]) == ("/messages", "Bearer hush-token")
    assert (request.json()["text"], request.json()["reference"]) == ("Your code is 4711", "42")
    assert (result.outcome, result.provider_message_id, result.is_delivered) == (Outcome.ACCEPTED, "c-1", False)


@pytest.mark.parametrize(
    ("status", "body", "outcome"),
    [
        (400, {"error": "number_invalid"}, Outcome.REFUSED),
        (400, {"error": "sender_invalid"}, Outcome.MISCONFIGURED),
        (400, {"error": "no_credit"}, Outcome.OUT_OF_FUNDS),
        (429, {"error": "new"}, Outcome.RATE_LIMITED),
        (201, {"id": ["c-1"]}, Outcome.UNCLEAR),
    ],
)
def test_it_reads_a_refusal(courier, server, status, body, outcome):
    server.script(fake.answer(status, body))
    assert error_of(courier).outcome is outcome


def test_it_tells_the_balance(courier, server):
    server.script(fake.answer(200, {"balance": "12.50", "currency": "EUR"}))
    assert courier.check().balance == "12.50 EUR"


@pytest.mark.parametrize(
    ("state", "ours", "is_opted_out"),
    [("delivered", ReceiptStatus.SUCCESS, False), ("stopped", ReceiptStatus.FAILED, True)],
)
def test_it_reads_a_report(courier, state, ours, is_opted_out):
    [found] = receipts_of(courier, report(state=state))
    assert (found.status, found.message_id, found.is_opted_out) == (ours, 42, is_opted_out)


@pytest.mark.parametrize("forged", [report(b"wrong"), report(timestamp="1700000000"), call(b"{}")])
def test_a_forged_report_is_refused(courier, forged):
    with pytest.raises(HookForged):
        receipts_of(courier, forged)


def test_a_report_without_an_id_is_unreadable(courier):
    with pytest.raises(HookUnreadable):
        receipts_of(courier, report(id=None))


def test_it_stands_what_every_adapter_stands(courier, caplog):
    for case in BAD_ANSWERS:
        with fake.FakeHttpServer() as server:
            conformance.test_a_bad_answer_is_judged_and_never_repeated(server, caplog, "courier", *case.values)
    for status in (200, 400, 500):
        with fake.FakeHttpServer() as server:
            conformance.test_what_a_vendor_quotes_goes_on_no_record(server, caplog, "courier", status)
            conformance.test_a_garbled_call_is_forged_or_unreadable(server, "courier")
    with fake.FakeHttpServer() as server:
        conformance.test_a_redirect_leads_nowhere(server, "courier")
        conformance.test_a_refused_connection_is_surely_not_sent(server, "courier")
