"""The adapter against the real Kannel, whose own fake SMSC delivers to nobody."""

from __future__ import annotations

from urllib.parse import urlsplit

import pytest

from providers import registry
from providers.base import HookRequest, Outcome, ReceiptStatus
from providers.errors import ProviderError
from providers.http.client import HttpClient
from tests.fakes.http_server import FakeHttpServer
from tests.fakes.messages import make_message
from tests.fakes.store import FakeStore
from tests.live import wait_until
from tests.servers.kannel import PASSWORD, STATUS_PASSWORD, USERNAME, Kannel, is_installed

pytestmark = [
    pytest.mark.live,
    pytest.mark.long,
    pytest.mark.xdist_group("kannel"),
    pytest.mark.skipif(not is_installed(), reason="Debian's packages kannel and kannel-extras are not installed."),
]

LOOPBACK = ("127.0.0.0/8",)


@pytest.fixture(scope="module")
def kannel(tmp_path_factory):
    with Kannel(tmp_path_factory.mktemp("kannel")) as running:
        yield running


@pytest.fixture
def hooks():
    """The server at which the reports arrive."""
    with FakeHttpServer() as running:
        yield running


@pytest.fixture
def build(kannel):
    def make(**changes):
        raw = {
            "url": kannel.sendsms_url,
            "username": USERNAME,
            "password": PASSWORD,
            "sender": "Shop",
            "max_messages": 3,
            "status_url": kannel.status_url,
            "status_password": STATUS_PASSWORD,
            **changes,
        }
        settings = registry.clean_settings("kannel", raw, LOOPBACK)
        return registry.build("kannel", settings, http=HttpClient(LOOPBACK), store=FakeStore())

    return make


def reports_of(hooks, count):
    """The requests as the web server would hand them on."""
    wait_until(lambda: len(hooks.requests) >= count, f"{count} reports")
    parts = [(request, urlsplit(request.target)) for request in hooks.requests]
    return [
        HookRequest(request.method, hooks.url + part.path, part.query, request.headers, request.body)
        for request, part in parts
    ]


def read(adapter, report):
    adapter.verify_hook(report)
    [receipt] = adapter.parse_hook(report).events
    return receipt


def test_a_message_is_sent_then_delivered(build, hooks):
    adapter = build()
    result = adapter.send(make_message(id=71, hook_url=f"{hooks.url}/hooks/1/2"))
    assert (result.outcome, result.is_delivered) == (Outcome.ACCEPTED, False)
    receipts = [read(adapter, report) for report in reports_of(hooks, 2)]
    assert [receipt.message_id for receipt in receipts] == [71, 71]
    # Kannel makes the two calls side by side, so either may be first.
    assert {receipt.status for receipt in receipts} == {ReceiptStatus.SENT, ReceiptStatus.SUCCESS}


@pytest.mark.parametrize(
    ("text", "arrived"),
    [
        ("Plain code 5001", "<Shop 4915112345678 text Plain code 5001>"),
        ("Ä{é}€ 5002", "<Shop 4915112345678 text Ä{é}€ 5002>"),
        ("Код 5003", "<Shop 4915112345678 ucs-2 %04%1A%04%3E%044%00+%005%000%000%003>"),
        ("😀 5004", "<Shop 4915112345678 ucs-2 %D8%3D%DE%00%00+%005%000%000%004>"),
    ],
)
def test_a_text_arrives_as_it_was_written(build, kannel, text, arrived):
    build().send(make_message(text=text))
    wait_until(lambda: arrived in kannel.received(), "the text at the SMSC")


def test_a_path_with_a_percent_sign_comes_back_as_it_was(build, hooks):
    build().send(make_message(hook_url=f"{hooks.url}/a%20b/%25d"))
    assert {report.url for report in reports_of(hooks, 2)} == {f"{hooks.url}/a%20b/%25d"}


def test_kannel_names_its_refusals(build):
    for changes, message, outcome in (
        ({"password": "wrong"}, make_message(), Outcome.MISCONFIGURED),
        ({}, make_message(to="+"), Outcome.DECLINED),  # the number may be what it cannot read
        ({"url": build().settings["url"].replace("sendsms", "nope")}, make_message(), Outcome.MISCONFIGURED),
    ):
        with pytest.raises(ProviderError) as caught:
            build(**changes).send(message)
        assert caught.value.outcome is outcome


def test_check_asks_kannel(build):
    assert build(smsc="FAKE").check().is_ok
    assert "1 of 1 SMSC links are online" in build().check().detail
    assert not build(smsc="NOPE").check().is_ok
    assert not build(status_password="wrong").check().is_ok
