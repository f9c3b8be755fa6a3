from __future__ import annotations

import hmac
import json
import time

import pytest

from providers import registry
from providers.base import Outcome, ReceiptStatus
from providers.errors import HookForged, HookUnreadable, ProviderError, SettingsInvalid
from tests.fakes import http_server as fake
from tests.fakes.hooks import call, receipts_of
from tests.fakes.messages import error_of, make_sms

TYPE = "sms_gate"
KEY = "A1b2C3d4"
SETTINGS = {"username": "ABC123", "password": "pass-word", "signing_key": KEY}
ID = "zXDYfTmTVf3iMd16zzdBj"

ACCEPTED = {
    "id": ID,
    "deviceId": "yVULogr4Y1ksRfnos1Dsw",
    "state": "Pending",
    "isHashed": False,
    "isEncrypted": False,
    "recipients": [{"phoneNumber": "+4915112345678", "state": "Pending"}],
    "states": {},
}


def event(word="sms:delivered", **payload):
    return {
        "deviceId": "ffffffffceb0b1db0000018e937c815b",
        "event": word,
        "id": "Ey6ECgOkVVFjz3CL48B8C",
        "payload": {
            "messageId": ID,
            "sender": "+1234567890",
            "recipient": "+4915112345678",
            "phoneNumber": "+4915112345678",
            "simNumber": 1,
            **payload,
        },
        "webhookId": "LreFUt-Z3sSq0JufY9uWB",
    }


def signed(content, *, at=None, key=KEY, **headers):
    """Written on its own, after the description."""
    body = content if isinstance(content, bytes) else json.dumps(content).encode()
    timestamp = str(int(time.time()) if at is None else at)
    signature = hmac.digest(key.encode(), body + timestamp.encode(), "sha256").hex()
    return call(body, **{"x_signature": signature, "x_timestamp": timestamp, **headers})


# Settings


@pytest.mark.parametrize(
    ("changes", "name"),
    [
        ({"username": ""}, "username"),
        ({"username": "a:b"}, "username"),
        ({"password": ""}, "password"),
        ({"device_id": "../x"}, "device_id"),
        ({"sim_number": "4"}, "sim_number"),
        ({"base_url": "http://192.168.1.10:8080"}, "base_url"),
    ],
)
def test_it_refuses_wrong_settings(changes, name):
    with pytest.raises(SettingsInvalid) as caught:
        registry.clean_settings(TYPE, {**SETTINGS, **changes})
    assert list(caught.value.errors) == [name]


def test_password_and_key_are_secret():
    values = registry.clean_settings(TYPE, SETTINGS)
    assert set(registry.split_secrets(TYPE, values)[1]) == {"password", "signing_key"}
    assert (values["base_url"], values["sim_number"]) == ("https://api.sms-gate.app/3rdparty/v1", "0")


# Sending


def test_it_sends_a_message(build, server):
    server.script(fake.answer(202, ACCEPTED))
    result = build(base_url=f"{server.url}/3rdparty/v1").send(make_sms())
    [request] = server.requests
    assert (request.method, request.target) == ("POST", "/3rdparty/v1/messages?skipPhoneValidation=true")
    assert request.headers["authorization"] == "Basic QUJDMTIzOnBhc3Mtd29yZA=="
    assert request.headers["content-type"] == "application/json"
    assert request.body == (
        b'{"textMessage":{"text":"Your code is 4711"},"phoneNumbers":["+4915112345678"],'
        b'"withDeliveryReport":true,"ttl":180,"priority":100}'
    )
    assert (result.outcome, result.provider_message_id) == (Outcome.ACCEPTED, ID)
    assert (result.provider_status, result.is_delivered) == ("202", False)


def test_a_text_goes_out_as_it_is(build, server):
    server.script(fake.answer(202, ACCEPTED))
    build().send(make_sms(text="Код 4711 😀"))
    assert server.requests[0].json()["textMessage"] == {"text": "Код 4711 😀"}


def test_a_phone_and_a_sim_card_can_be_chosen(build, server):
    server.script(fake.answer(202, ACCEPTED))
    build(device_id="yVULogr4Y1ksRfnos1Dsw", sim_number="2").send(make_sms())
    body = server.requests[0].json()
    assert (body["deviceId"], body["simNumber"]) == ("yVULogr4Y1ksRfnos1Dsw", 2)


@pytest.mark.parametrize(("seconds", "ttl"), [(-5, 5), (4, 5), (179, 179)])
def test_a_phone_that_was_away_sends_no_void_code(build, server, seconds, ttl):
    server.script(fake.answer(202, ACCEPTED))
    build().send(make_sms(expires_in=seconds))
    assert server.requests[0].json()["ttl"] == ttl


@pytest.mark.parametrize(
    ("settings", "hook_url"),
    [({"signing_key": ""}, "https://codes.example/hooks/1/2"), ({}, None), ({}, "https://10.0.0.5/hooks/1/2")],
)
def test_without_a_way_to_report_acceptance_is_the_end(build, server, settings, hook_url):
    server.script(fake.answer(202, ACCEPTED))
    assert build(**settings).send(make_sms(hook_url=hook_url)).is_delivered
    assert server.requests[0].json()["withDeliveryReport"] is False


def test_an_empty_text_is_not_applicable(build, server):
    assert error_of(build(), make_sms(text="")).outcome is Outcome.NOT_APPLICABLE
    assert server.requests == []


# The answer


@pytest.mark.parametrize(
    ("http_status", "sentence", "outcome"),
    [
        (400, "record not found", Outcome.MISCONFIGURED),
        (400, "Invalid device ID", Outcome.MISCONFIGURED),
        (400, "invalid phone number", Outcome.DECLINED),
        (400, "something about +4915112345678", Outcome.DECLINED),
        (401, "Unauthorized", Outcome.MISCONFIGURED),
        (403, "Forbidden", Outcome.DECLINED),
        (500, "failed to handle request", Outcome.TEMPORARY),
        (503, "queue limits exceeded: too many pending messages: 10 / 10", Outcome.TEMPORARY),
    ],
)
def test_it_reads_a_refusal(build, server, http_status, sentence, outcome):
    server.script(fake.answer(http_status, {"message": sentence, "code": http_status}))
    error = error_of(build())
    assert (error.outcome, error.provider_status) == (outcome, str(http_status))


@pytest.mark.parametrize("identity", [None, "", 5, [], "9" * 201])
def test_an_answer_without_an_id_is_unclear(build, server, identity):
    server.script(fake.answer(202, {**ACCEPTED, "id": identity}))
    assert error_of(build()).outcome is Outcome.UNCLEAR


# Check

PHONES = [
    {"id": "one", "name": "Google/oriole", "lastSeen": "2026-11-20T10:00:00Z"},
    {"id": "two", "name": "Xiaomi/lisa", "lastSeen": "2026-11-26T09:30:12.5Z"},
]


@pytest.mark.parametrize(
    ("device", "answered", "is_ok", "words"),
    [
        ("", PHONES, True, "its phones: 2; one was last seen on 2026-11-26 09:30."),
        ("one", PHONES, True, "its phones: 1; one was last seen on 2026-11-20 10:00."),
        ("one", [{"id": "one", "lastSeen": 5}], True, "its phones: 1."),
        ("three", PHONES, False, "no such phone"),
        ("", [], False, "no such phone"),
        ("", {}, False, "no such phone"),
    ],
)
def test_check_tells_when_a_phone_was_last_seen(build, server, device, answered, is_ok, words):
    server.script(fake.answer(200, answered))
    health = build(device_id=device, base_url=f"{server.url}/api/3rdparty/v1").check()
    assert [(request.method, request.target) for request in server.requests] == [("GET", "/api/3rdparty/v1/devices")]
    assert health.is_ok is is_ok and words in health.detail and health.balance is None


def test_a_phone_in_local_mode_is_asked_at_its_own_path(build, server):
    server.script(fake.answer(200, PHONES[:1]))
    assert build().check().is_ok
    assert server.requests[0].target == "/device"


def test_check_tells_of_a_wrong_password(build, server):
    server.script(fake.answer(401, {"message": "Unauthorized"}))
    with pytest.raises(ProviderError) as caught:
        build().check()
    assert caught.value.outcome is Outcome.MISCONFIGURED


# Verifying receipts


def test_it_accepts_the_known_signature(build, monkeypatch):
    """HMAC-SHA256 with the key ``key`` of the body ``{}`` and the time, by another tool."""
    monkeypatch.setattr(time, "time", lambda: 1_700_000_000.0)
    signature = "93800482ca289ca2ab5ad69bbb6a631e6a997ad0fb659f5edfb80f566fc07457"
    build(signing_key="key").verify_hook(call(b"{}", x_signature=signature, x_timestamp="1700000000"))
    build(signing_key="key").verify_hook(call(b"{}", x_signature=signature.upper(), x_timestamp="1700000000"))


@pytest.mark.parametrize(
    "make_request",
    [
        lambda: signed(event(), key="other"),
        lambda: signed(event(), at=int(time.time()) - 301),
        lambda: signed(event(), at=int(time.time()) + 330),
        lambda: signed(event(), x_timestamp=str(int(time.time()) + 1)),
        lambda: signed(event(), x_timestamp=""),
        lambda: signed(event(), x_signature=""),
        lambda: signed(event(), x_signature="é"),
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
    ("word", "reason", "ours", "told"),
    [
        ("sms:sent", "", ReceiptStatus.SENT, "sms:sent"),
        ("sms:delivered", "", ReceiptStatus.SUCCESS, "sms:delivered"),
        ("sms:failed", "Network error", ReceiptStatus.FAILED, "sms:failed"),
        ("sms:failed", "TTL expired", ReceiptStatus.EXPIRED, "sms:failed"),
        (
            "sms:failed",
            "Send result: RESULT_ERROR_NO_SERVICE (Failed because service is currently unavailable)",
            ReceiptStatus.FAILED,
            "sms:failed RESULT_ERROR_NO_SERVICE",
        ),
        ("sms:cancelled", "", ReceiptStatus.FAILED, "sms:cancelled"),
    ],
)
def test_it_reads_an_event(build, word, reason, ours, told):
    [found] = receipts_of(build(), signed(event(word, reason=reason)))
    assert (found.status, found.provider_message_id, found.provider_status) == (ours, ID, told)
    assert bool(found.error) == (ours in (ReceiptStatus.FAILED, ReceiptStatus.EXPIRED))
    assert not found.is_suppressed


@pytest.mark.parametrize(
    ("reason", "words"),
    [
        ("Send result: RESULT_ERROR_GENERIC_FAILURE (Generic failure cause)", "credit and signal"),
        ("Send result: RESULT_ERROR_RADIO_OFF (x)", "radio is off"),
        ("Send result: RESULT_ERROR_LIMIT_EXCEEDED (x)", "too many messages"),
        ("Send result: RESULT_NETWORK_REJECT (x)", "operator rejected"),
        ("Send result: RESULT_RIL_SIM_ABSENT (x)", "no SIM card"),
        ("Send result: RESULT_SOMETHING_NEW (x)", "not delivered (RESULT_SOMETHING_NEW)"),
        ("TTL expired", "not sent in time"),
        ("the number +4915112345678 is wrong", "not delivered (sms:failed)"),
    ],
)
def test_it_tells_why_a_message_failed_in_our_words(build, reason, words):
    [found] = receipts_of(build(), signed(event("sms:failed", reason=reason)))
    assert words in found.error and "4915112345678" not in found.error


@pytest.mark.parametrize("word", ["sms:received", "system:ping", "app:started", "", None, []])
def test_it_passes_over_other_events(build, word):
    assert receipts_of(build(), signed(event(word))) == ()


@pytest.mark.parametrize("content", [b"no", b"[]", {"event": "sms:sent"}, event("sms:sent", messageId=None)])
def test_it_does_not_read_a_report_that_names_no_message(build, content):
    with pytest.raises(HookUnreadable):
        build().parse_hook(signed(content))
