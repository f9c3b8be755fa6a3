from __future__ import annotations

import base64
import json
import time
from decimal import Decimal

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from providers import registry
from providers.base import MessagePrice, Outcome, ReceiptStatus
from providers.errors import HookForged, HookUnreadable, ProviderError, SettingsInvalid
from tests.fakes import http_server as fake
from tests.fakes.hooks import call, receipts_of
from tests.fakes.messages import HOOK_URL, error_of, make_sms

TYPE = "telnyx"
PRIVATE = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
PUBLIC_KEY = base64.b64encode(PRIVATE.public_key().public_bytes_raw()).decode()
SETTINGS = {"api_key": "KEY0123", "public_key": PUBLIC_KEY, "sender": "+14155551234"}
ID = "40385f64-5717-4562-b3fc-2c963f66afa6"
PROFILE = "4000eba1-a0c0-4563-9925-b25e842a7cb6"

ACCEPTED = {"data": {"record_type": "message", "id": ID, "to": [{"phone_number": "+49", "status": "queued"}]}}


def refusal(*codes):
    return {"errors": [{"code": code, "title": "x", "detail": "about +4915112345678"} for code in codes]}


def event(word="delivered", *codes, kind="message.finalized", **payload):
    return {
        "data": {
            "event_type": kind,
            "id": "86f58db9-0fe3-4adc-9d1f-46e66e6e9323",
            "occurred_at": "2026-11-21T12:00:00.000+00:00",
            "payload": {
                "id": ID,
                "record_type": "message",
                "direction": "outbound",
                "from": {"phone_number": "+14155551234"},
                "to": [{"phone_number": "+4915112345678", "status": word, "carrier": "Telekom"}],
                "text": "Your code is 4711",
                "parts": 1,
                "cost": {"amount": "0.0051", "currency": "USD"},
                "errors": [{"code": code, "title": "x"} for code in codes],
                **payload,
            },
            "record_type": "event",
        },
        "meta": {"attempt": 1, "delivered_to": HOOK_URL},
    }


def signed(content, *, at=None, key=PRIVATE, **headers):
    body = content if isinstance(content, bytes) else json.dumps(content).encode()
    timestamp = str(int(time.time()) if at is None else at)
    signature = base64.b64encode(key.sign(f"{timestamp}|".encode() + body)).decode()
    return call(body, **{"telnyx_signature_ed25519": signature, "telnyx_timestamp": timestamp, **headers})


# Settings


@pytest.mark.parametrize(
    ("changes", "name"),
    [
        ({"api_key": ""}, "api_key"),
        ({"api_key": "a b"}, "api_key"),
        ({"public_key": ""}, "public_key"),
        ({"public_key": "%%%"}, "public_key"),
        ({"public_key": "c2hvcnQ="}, "public_key"),
        ({"sender": ""}, "sender"),
        ({"base_url": "http://api.telnyx.com"}, "base_url"),
    ],
)
def test_it_refuses_wrong_settings(changes, name):
    with pytest.raises(SettingsInvalid) as caught:
        registry.clean_settings(TYPE, {**SETTINGS, **changes})
    assert list(caught.value.errors) == [name]


def test_the_key_is_secret():
    values = registry.clean_settings(TYPE, {**SETTINGS, "sender": "", "messaging_profile_id": PROFILE})
    assert set(registry.split_secrets(TYPE, values)[1]) == {"api_key"}
    assert values["base_url"] == "https://api.telnyx.com"


# Sending


def test_it_sends_a_message(build, server):
    server.script(fake.answer(200, ACCEPTED))
    result = build().send(make_sms())
    [request] = server.requests
    assert (request.method, request.target) == ("POST", "/v2/messages")
    assert request.headers["authorization"] == "Bearer KEY0123"
    assert request.headers["content-type"] == "application/json"
    assert request.body == (
        b'{"from":"+14155551234","to":"+4915112345678","text":"Your code is 4711","type":"SMS",'
        b'"use_profile_webhooks":false,"webhook_url":"https://codes.example/hooks/1/2"}'
    )
    assert (result.outcome, result.provider_message_id) == (Outcome.ACCEPTED, ID)
    assert (result.provider_status, result.is_delivered) == ("200", False)


@pytest.mark.parametrize(
    ("settings", "sender", "sent"),
    [
        ({}, "", {"from": "+14155551234"}),
        ({"sender": "14155551234"}, "", {"from": "+14155551234"}),
        ({"sender": "12345"}, "", {"from": "12345"}),
        ({}, "Laden", {"from": "Laden"}),
        ({"messaging_profile_id": PROFILE}, "Laden", {"from": "Laden", "messaging_profile_id": PROFILE}),
        ({"sender": "", "messaging_profile_id": PROFILE}, "", {"messaging_profile_id": PROFILE}),
    ],
)
def test_the_sender_is_a_number_a_name_or_the_profile_s_own(build, server, settings, sender, sent):
    server.script(fake.answer(200, ACCEPTED))
    build(**settings).send(make_sms(sender=sender))
    body = server.requests[0].json()
    assert {name: body[name] for name in ("from", "messaging_profile_id") if name in body} == sent


@pytest.mark.parametrize("hook_url", [None, "https://10.0.0.5/hooks/1/2"])
def test_without_a_way_to_report_acceptance_is_the_end(build, server, hook_url):
    server.script(fake.answer(200, ACCEPTED))
    assert build().send(make_sms(hook_url=hook_url, text="Код 4711 😀")).is_delivered
    body = server.requests[0].json()
    assert "webhook_url" not in body and body["text"] == "Код 4711 😀"


def test_an_empty_text_is_not_applicable(build, server):
    assert error_of(build(), make_sms(text="")).outcome is Outcome.NOT_APPLICABLE
    assert server.requests == []


# The answer


@pytest.mark.parametrize(
    ("http_status", "codes", "outcome", "told"),
    [
        (400, ["10001"], Outcome.DECLINED, "10001"),
        (422, ["10002"], Outcome.DECLINED, "10002"),
        (400, ["10003"], Outcome.MISCONFIGURED, "10003"),
        (422, ["10004"], Outcome.MISCONFIGURED, "10004"),
        (500, ["10007"], Outcome.TEMPORARY, "10007"),
        (401, ["10009"], Outcome.MISCONFIGURED, "10009"),
        (403, ["10010"], Outcome.MISCONFIGURED, "10010"),
        (429, ["10011"], Outcome.RATE_LIMITED, "10011"),
        (400, ["10015"], Outcome.DECLINED, "10015"),
        (422, ["10016"], Outcome.DECLINED, "10016"),
        (403, ["20100"], Outcome.OUT_OF_FUNDS, "20100"),
        (400, ["40300"], Outcome.OPTED_OUT, "40300"),
        (400, ["40305"], Outcome.MISCONFIGURED, "40305"),
        (400, [40306], Outcome.MISCONFIGURED, "40306"),
        (400, ["40309"], Outcome.DECLINED, "40309"),
        (400, ["40310"], Outcome.REFUSED, "40310"),
        (400, ["40312"], Outcome.MISCONFIGURED, "40312"),
        (400, ["40313"], Outcome.MISCONFIGURED, "40313"),
        (403, ["40314"], Outcome.MISCONFIGURED, "40314"),
        (400, ["40315"], Outcome.MISCONFIGURED, "40315"),
        (429, ["40318"], Outcome.RATE_LIMITED, "40318"),
        (400, ["40321"], Outcome.MISCONFIGURED, "40321"),
        (400, ["40329"], Outcome.DECLINED, "40329"),
        (400, ["40330"], Outcome.DECLINED, "40330"),
        (400, ["40331"], Outcome.DECLINED, "40331"),
        (403, ["40333"], Outcome.OUT_OF_FUNDS, "40333"),
        (400, ["99999", "40310"], Outcome.REFUSED, "40310"),
        (400, ["99999"], Outcome.DECLINED, "400"),
        (401, [], Outcome.MISCONFIGURED, "401"),
        (402, [], Outcome.OUT_OF_FUNDS, "402"),
        (429, [], Outcome.RATE_LIMITED, "429"),
        (503, [], Outcome.TEMPORARY, "503"),
    ],
)
def test_it_reads_a_refusal_by_its_number(build, server, http_status, codes, outcome, told):
    server.script(fake.answer(http_status, refusal(*codes), {"Retry-After": "3"}))
    error = error_of(build())
    assert (error.outcome, error.provider_status) == (outcome, told)
    assert not error.is_suppressed
    if outcome is Outcome.RATE_LIMITED:
        assert error.retry_after == 3


@pytest.mark.parametrize("data", [None, [], {}, {"id": None}, {"id": 5}, {"id": "9" * 201}])
def test_an_answer_without_an_id_is_unclear(build, server, data):
    server.script(fake.answer(200, {"data": data}))
    assert error_of(build()).outcome is Outcome.UNCLEAR


# Check


@pytest.mark.parametrize(
    ("answered", "is_ok", "balance"),
    [
        ({"balance": "300.00", "available_credit": "400.00", "currency": "USD"}, True, "400.00 USD"),
        ({"balance": "-5.00", "available_credit": "0.00", "currency": "USD"}, False, "0.00 USD"),
        ({}, False, None),
        ([], False, None),
    ],
)
def test_check_tells_the_credit(build, server, answered, is_ok, balance):
    server.script(fake.answer(200, {"data": answered}))
    health = build().check()
    assert [(request.method, request.target) for request in server.requests] == [("GET", "/v2/balance")]
    assert (health.is_ok, health.balance) == (is_ok, balance)


def test_check_tells_of_a_wrong_key(build, server):
    server.script(fake.answer(401, refusal("10009")))
    with pytest.raises(ProviderError, match="API key is not accepted"):
        build().check()


# Verifying receipts


def test_it_accepts_the_known_signature(build, monkeypatch):
    """The key of RFC 8032's first test, and a signature made with it by openssl."""
    monkeypatch.setattr(time, "time", lambda: 1_700_000_000.0)
    key = "11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo="
    signature = "f0kvp2B0X7hYF2YqAbFqf98vvyGYUYizhRvOmebGvVV9pLF3QQJHxehtMhG1IfrSPp1xBgx1DPdrpLbSPM0zCw=="
    request = call(b"{}", telnyx_signature_ed25519=signature, telnyx_timestamp="1700000000")
    build(public_key=key).verify_hook(request)


@pytest.mark.parametrize(
    "make_request",
    [
        lambda: signed(event(), key=Ed25519PrivateKey.generate()),
        lambda: signed(event(), at=int(time.time()) - 301),
        lambda: signed(event(), at=int(time.time()) + 330),
        lambda: signed(event(), telnyx_timestamp=str(int(time.time()) + 1)),
        lambda: signed(event(), telnyx_signature_ed25519=""),
        lambda: signed(event(), telnyx_signature_ed25519="%"),
        lambda: signed(event(), telnyx_signature_ed25519="é"),
        lambda: call(json.dumps(event()).encode()),
    ],
)
def test_it_refuses_a_forged_receipt(build, make_request):
    with pytest.raises(HookForged):
        build().verify_hook(make_request())


# Reading receipts


@pytest.mark.parametrize(
    ("kind", "word", "ours"),
    [
        ("message.sent", "sent", ReceiptStatus.SENT),
        ("message.finalized", "delivery_unconfirmed", ReceiptStatus.SENT),
        ("message.finalized", "delivered", ReceiptStatus.SUCCESS),
        ("message.finalized", "read", ReceiptStatus.SUCCESS),
        ("message.finalized", "sending_failed", ReceiptStatus.FAILED),
        ("message.finalized", "delivery_failed", ReceiptStatus.FAILED),
        ("message.finalized", "expired", ReceiptStatus.EXPIRED),
    ],
)
def test_it_reads_a_status(build, kind, word, ours):
    [found] = receipts_of(build(), signed(event(word, kind=kind)))
    assert (found.status, found.provider_message_id, found.provider_status) == (ours, ID, word)
    assert bool(found.error) == (ours in (ReceiptStatus.FAILED, ReceiptStatus.EXPIRED))
    assert not found.is_suppressed


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("40001", "cannot receive SMS"),
        ("40002", "spam"),
        ("40003", "blocked for spam"),
        ("40004", "rejected it"),
        ("40005", "in time"),
        ("40006", "cannot be reached"),
        ("40007", "loop"),
        ("40008", "did not accept"),
        ("40009", "text"),
        ("40011", "too many"),
        ("40012", "recipient's number"),
        ("40013", "sender's number"),
        ("40014", "in time"),
        ("40015", "spam"),
        ("40300", "opted out"),
        ("77", "not delivered (error 77)"),
        ("<b>", "not delivered (delivery_failed)"),
    ],
)
def test_it_tells_why_a_message_failed(build, code, words):
    [found] = receipts_of(build(), signed(event("delivery_failed", code)))
    assert words in found.error and found.is_opted_out is (code == "40300")


def test_a_delivered_message_suppresses_nobody(build):
    [found] = receipts_of(build(), signed(event("delivered", "40300")))
    assert not found.is_opted_out and not found.error


@pytest.mark.parametrize(("kind", "word"), [("message.received", "delivered"), ("message.sent", "queued"), (None, "")])
def test_it_passes_over_what_changes_nothing(build, kind, word):
    assert receipts_of(build(), signed(event(word, kind=kind))) == ()


@pytest.mark.parametrize("content", [b"no", b"[]", {}, {"data": []}, event(id=None), event(id="9" * 201)])
def test_it_does_not_read_a_report_that_names_no_message(build, content):
    with pytest.raises(HookUnreadable):
        build().parse_hook(signed(content))


# Prices


@pytest.mark.parametrize(
    ("cost", "price"),
    [
        ({"amount": "0.0051", "currency": "USD"}, MessagePrice(Decimal("0.0051"), "USD")),
        ({"amount": 0.0102, "currency": "USD"}, MessagePrice(Decimal("0.0102"), "USD")),
        (None, None),
        ({"amount": None}, None),
    ],
)
def test_a_receipt_tells_the_cost(build, cost, price):
    [found] = receipts_of(build(), signed(event(cost=cost)))
    assert found.price == price
