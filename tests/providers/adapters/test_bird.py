from __future__ import annotations

import base64
import hashlib
import hmac
import json
import time

import pytest

from providers import registry
from providers.base import Outcome, ReceiptStatus
from providers.errors import HookForged, HookUnreadable, ProviderError, SettingsInvalid
from tests.fakes import http_server as fake
from tests.fakes.hooks import call, receipts_of
from tests.fakes.messages import HOOK_URL, error_of, make_sms

TYPE = "bird"
KEY = "secureSigningKey"
WORKSPACE, CHANNEL = "a1405560-c8d3-4b1a-877d-3f449ad95352", "0b0123bb-ef2e-468f-908a-c026d51636aa"
SETTINGS = {"access_key": "abc", "workspace_id": WORKSPACE, "channel_id": CHANNEL, "signing_key": KEY}
PATH = f"/workspaces/{WORKSPACE}/channels/{CHANNEL}"
ID = "cf241cb9-0762-43d0-8b74-4f763f788c93"

ACCEPTED = {"id": ID, "channelId": CHANNEL, "status": "accepted", "direction": "outgoing", "reference": "42"}


def event(status="delivered", *, kind="sms.outbound", **payload):
    return {
        "service": "channels",
        "event": kind,
        "payload": {
            "id": ID,
            "channelId": CHANNEL,
            "receiver": {"contacts": [{"identifierKey": "phonenumber", "identifierValue": "+4915112345678"}]},
            "reference": "42",
            "status": status,
            "reason": "",
            "direction": "outgoing",
            **payload,
        },
    }


def signed(content, *, at=None, key=KEY, url=HOOK_URL, query="", **headers):
    """Written on its own, after Bird's example in PHP."""
    body = content if isinstance(content, bytes) else json.dumps(content).encode()
    timestamp = str(int(time.time()) if at is None else at)
    text = f"{timestamp}\n{url}\n".encode() + hashlib.sha256(body).digest()
    signature = base64.b64encode(hmac.new(key.encode(), text, hashlib.sha256).digest()).decode()
    named = {"messagebird_signature": signature, "messagebird_request_timestamp": timestamp, **headers}
    return call(body, query=query, **named)


# Settings


@pytest.mark.parametrize(
    ("changes", "name"),
    [
        ({"access_key": ""}, "access_key"),
        ({"access_key": "a b"}, "access_key"),
        ({"workspace_id": "../x"}, "workspace_id"),
        ({"channel_id": ""}, "channel_id"),
        ({"base_url": "http://api.bird.com"}, "base_url"),
    ],
)
def test_it_refuses_wrong_settings(changes, name):
    with pytest.raises(SettingsInvalid) as caught:
        registry.clean_settings(TYPE, {**SETTINGS, **changes})
    assert list(caught.value.errors) == [name]


def test_both_keys_are_secret():
    values = registry.clean_settings(TYPE, SETTINGS)
    assert set(registry.split_secrets(TYPE, values)[1]) == {"access_key", "signing_key"}
    assert values["base_url"] == "https://api.bird.com"


# Sending


def test_it_sends_a_message(build, server):
    server.script(fake.answer(202, ACCEPTED))
    result = build().send(make_sms())
    [request] = server.requests
    assert (request.method, request.target) == ("POST", f"{PATH}/messages")
    assert request.headers["authorization"] == "AccessKey abc"
    assert request.headers["content-type"] == "application/json"
    assert request.body == (
        b'{"receiver":{"contacts":[{"identifierKey":"phonenumber","identifierValue":"+4915112345678"}]},'
        b'"reference":"42","body":{"type":"text","text":{"text":"Your code is 4711"}}}'
    )
    assert (result.outcome, result.provider_message_id) == (Outcome.ACCEPTED, ID)
    assert (result.provider_status, result.is_delivered) == ("202", False)


@pytest.mark.parametrize(
    ("settings", "hook_url"), [({"signing_key": ""}, HOOK_URL), ({}, None), ({}, "https://10.0.0.5/hooks/1/2")]
)
def test_without_a_way_to_report_acceptance_is_the_end(build, server, settings, hook_url):
    server.script(fake.answer(202, ACCEPTED))
    assert build(**settings).send(make_sms(hook_url=hook_url, text="Код 4711 😀")).is_delivered
    assert server.requests[0].json()["body"]["text"] == {"text": "Код 4711 😀"}


def test_an_empty_text_is_not_applicable(build, server):
    assert error_of(build(), make_sms(text="")).outcome is Outcome.NOT_APPLICABLE
    assert server.requests == []


# The answer


@pytest.mark.parametrize(
    ("status", "outcome"),
    [
        (400, Outcome.DECLINED),
        (401, Outcome.MISCONFIGURED),
        (402, Outcome.OUT_OF_FUNDS),
        (403, Outcome.DECLINED),
        (404, Outcome.DECLINED),
        (422, Outcome.DECLINED),
        (429, Outcome.RATE_LIMITED),
        (500, Outcome.TEMPORARY),
        (502, Outcome.UNKNOWN),
    ],
)
def test_it_reads_a_refusal_by_its_status(build, server, status, outcome):
    server.script(fake.answer(status, {"code": "InvalidPayload", "message": "about +4915112345678", "id": ID}))
    error = error_of(build())
    assert (error.outcome, error.provider_status) == (outcome, str(status))


@pytest.mark.parametrize("identity", [None, "", 5, [], "9" * 201])
def test_an_answer_without_an_id_is_unclear(build, server, identity):
    server.script(fake.answer(202, {**ACCEPTED, "id": identity}))
    assert error_of(build()).outcome is Outcome.UNCLEAR


# Check


@pytest.mark.parametrize(
    ("told", "is_ok"), [({"id": CHANNEL, "status": "active"}, True), ({"status": "inactive"}, False), ([], False)]
)
def test_check_asks_for_the_channel(build, server, told, is_ok):
    server.script(fake.answer(200, told))
    health = build().check()
    assert [(request.method, request.target) for request in server.requests] == [("GET", PATH)]
    assert health.is_ok is is_ok and health.balance is None


def test_check_tells_of_a_wrong_key(build, server):
    server.script(fake.answer(401, {"code": "Unauthorized"}))
    with pytest.raises(ProviderError) as caught:
        build().check()
    assert caught.value.outcome is Outcome.MISCONFIGURED


# Verifying receipts


def test_it_accepts_the_known_signature(build, monkeypatch):
    """Of the body ``{}``, the digest and the signature made by openssl."""
    monkeypatch.setattr(time, "time", lambda: 1_700_000_000.0)
    signature = "pjD553qFCixFyC+8ePo2eO+Xa6D9G55gSdUodKcfd7A="
    build(signing_key="key").verify_hook(
        call(b"{}", messagebird_signature=signature, messagebird_request_timestamp="1700000000")
    )


def test_the_query_of_our_address_is_signed_too(build):
    build().verify_hook(signed(event(), url=f"{HOOK_URL}?x=1", query="x=1"))


@pytest.mark.parametrize(
    "make_request",
    [
        lambda: signed(event(), key="other"),
        lambda: signed(event(), url="https://other.example/hooks/1/2"),
        lambda: signed(event(), query="x=1"),
        lambda: signed(event(), at=int(time.time()) - 301),
        lambda: signed(event(), at=int(time.time()) + 330),
        lambda: signed(event(), messagebird_request_timestamp=str(int(time.time()) + 1)),
        lambda: signed(event(), messagebird_signature=""),
        lambda: signed(event(), messagebird_signature="é"),
        lambda: call(json.dumps(event()).encode()),
    ],
)
def test_it_refuses_a_forged_receipt(build, make_request):
    with pytest.raises(HookForged):
        build().verify_hook(make_request())


def test_without_a_signing_key_nothing_is_believed(build):
    with pytest.raises(HookForged):
        build(signing_key="").verify_hook(signed(event(), key=""))


# Reading receipts


@pytest.mark.parametrize(
    ("word", "ours"),
    [
        ("sent", ReceiptStatus.SENT),
        ("delivered", ReceiptStatus.SUCCESS),
        ("rejected", ReceiptStatus.FAILED),
        ("sending_failed", ReceiptStatus.FAILED),
        ("delivery_failed", ReceiptStatus.FAILED),
        ("skipped", ReceiptStatus.FAILED),
    ],
)
def test_it_reads_a_status(build, word, ours):
    [found] = receipts_of(build(), signed(event(word)))
    assert (found.status, found.provider_message_id, found.message_id) == (ours, ID, 42)
    assert found.provider_status == word and not found.is_suppressed
    assert bool(found.error) == (ours is ReceiptStatus.FAILED)


@pytest.mark.parametrize(
    ("failure", "words"),
    [
        ({"code": 44, "description": "about +4915112345678"}, "not delivered (error 44)"),
        ({"code": "x"}, "not delivered (delivery_failed)"),
        ([], "not delivered (delivery_failed)"),
    ],
)
def test_a_failure_tells_its_number(build, failure, words):
    [found] = receipts_of(build(), signed(event("delivery_failed", failure=failure)))
    assert words in found.error and "4915112345678" not in found.error


@pytest.mark.parametrize(
    ("status", "kind"),
    [("accepted", "sms.outbound"), ("processing", "sms.outbound"), ("delivered", "sms.inbound"), (None, None)],
)
def test_it_passes_over_what_changes_nothing(build, status, kind):
    assert receipts_of(build(), signed(event(status, kind=kind))) == ()


@pytest.mark.parametrize("reference", [None, 42, "", "x", "9" * 19])
def test_an_id_that_is_not_ours_is_left_out(build, reference):
    [found] = receipts_of(build(), signed(event(reference=reference)))
    assert (found.message_id, found.provider_message_id) == (None, ID)


@pytest.mark.parametrize("content", [b"no", b"[]", {"event": "sms.outbound"}, event(id=None), event(id="9" * 201)])
def test_it_does_not_read_a_report_that_names_no_message(build, content):
    with pytest.raises(HookUnreadable):
        build().parse_hook(signed(content))
