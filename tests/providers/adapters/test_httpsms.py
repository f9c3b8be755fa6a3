from __future__ import annotations

import json
import time

import pytest

from providers import registry
from providers.base import Outcome, ReceiptStatus
from providers.errors import HookForged, HookUnreadable, ProviderError, SettingsInvalid
from tests.fakes import http_server as fake
from tests.fakes.hooks import call, receipts_of
from tests.fakes.messages import HOOK_URL, error_of, make_sms
from tests.fakes.tokens import make_token

TYPE = "httpsms"
KEY = "DGW8NwQp7mxKaSZ72Xq9v67SLqSbWQvckzzmK8D6rvd7NywSEkdMJtuxKyEkYnCY"
SETTINGS = {"api_key": "uk_abc", "sender": "+18005550199", "signing_key": KEY}
ID = "32343a19-da5e-4b1b-a767-3298a73703cb"

ACCEPTED = {
    "status": "success",
    "message": "message added to queue",
    "data": {"id": ID, "owner": "+18005550199", "contact": "+4915112345678", "status": "pending", "request_id": "42"},
}


def event(word="message.phone.delivered", **data):
    return {
        "specversion": "1.0",
        "id": "f4b86c6d-8c90-4ba7-a599-516a27f1a1e9",
        "source": f"/v1/messages/{ID}/events",
        "type": word,
        "datacontenttype": "application/json",
        "time": "2026-11-21T18:54:20.012355134Z",
        "data": {
            "message_id" if word == "message.send.expired" else "id": ID,
            "owner": "+18005550199",
            "contact": "+4915112345678",
            "request_id": "42",
            "user_id": "XtABz6zdeFMoBLoltz6SREDvRSh2",
            "encrypted": False,
            "timestamp": "2026-11-21T18:54:22.262Z",
            "content": "Your code is 4711",
            "sim": "SIM1",
            **data,
        },
    }


def claims(**changes):
    now = int(time.time())
    made = {
        "iss": "api.httpsms.com",
        "sub": "XtABz6",
        "aud": [HOOK_URL],
        "iat": now,
        "nbf": now - 600,
        "exp": now + 600,
    }
    return {**made, **changes}


def signed(content, *, key=KEY, query="", scheme="Bearer", **changes):
    body = content if isinstance(content, bytes) else json.dumps(content).encode()
    return call(body, query=query, authorization=f"{scheme} {make_token(claims(**changes), key)}")


# Settings


@pytest.mark.parametrize(
    ("changes", "name"),
    [
        ({"api_key": ""}, "api_key"),
        ({"api_key": "a b"}, "api_key"),
        ({"sender": ""}, "sender"),
        ({"sender": "18005550199"}, "sender"),
        ({"base_url": "http://api.httpsms.com"}, "base_url"),
    ],
)
def test_it_refuses_wrong_settings(changes, name):
    with pytest.raises(SettingsInvalid) as caught:
        registry.clean_settings(TYPE, {**SETTINGS, **changes})
    assert list(caught.value.errors) == [name]


def test_both_keys_are_secret():
    values = registry.clean_settings(TYPE, SETTINGS)
    assert set(registry.split_secrets(TYPE, values)[1]) == {"api_key", "signing_key"}
    assert values["base_url"] == "https://api.httpsms.com"


# Sending


def test_it_sends_a_message(build, server):
    server.script(fake.answer(200, ACCEPTED))
    result = build().send(make_sms())
    [request] = server.requests
    assert (request.method, request.target) == ("POST", "/v1/messages/send")
    assert request.headers["x-api-key"] == "uk_abc"
    assert request.headers["content-type"] == "application/json"
    assert request.body == (
        b'{"from":"+18005550199","to":"+4915112345678","content":"Your code is 4711","request_id":"42"}'
    )
    assert (result.outcome, result.provider_message_id) == (Outcome.ACCEPTED, ID)
    assert (result.provider_status, result.is_delivered) == ("200", False)


def test_the_phone_is_the_sender_whatever_a_country_asks_for(build, server):
    server.script(fake.answer(200, ACCEPTED))
    build().send(make_sms(text="Код 4711 😀", sender="Laden"))
    body = server.requests[0].json()
    assert (body["from"], body["content"]) == ("+18005550199", "Код 4711 😀")


@pytest.mark.parametrize(
    ("settings", "hook_url"), [({"signing_key": ""}, HOOK_URL), ({}, None), ({}, "https://10.0.0.5/hooks/1/2")]
)
def test_without_a_way_to_report_acceptance_is_the_end(build, server, settings, hook_url):
    server.script(fake.answer(200, ACCEPTED))
    assert build(**settings).send(make_sms(hook_url=hook_url)).is_delivered


@pytest.mark.parametrize("text", ["", " ", "x" * 2_049])
def test_a_text_that_is_empty_or_too_long_is_not_applicable(build, server, text):
    assert error_of(build(), make_sms(text=text)).outcome is Outcome.NOT_APPLICABLE
    assert server.requests == []


# The answer


@pytest.mark.parametrize(
    ("http_status", "fields", "outcome", "told"),
    [
        (422, {"from": ["no phone found with 'from' number [+18005550199]"]}, Outcome.MISCONFIGURED, "422 from"),
        (422, {"to": ["The to field must contain only digits: +4915112345678"]}, Outcome.REFUSED, "422 to"),
        (422, {"content": ["The content field is required"]}, Outcome.MISCONFIGURED, "422 content"),
        (422, {"to": ["x"], "from": ["x"]}, Outcome.MISCONFIGURED, "422 from"),
        (422, {"new": ["x"]}, Outcome.DECLINED, "422"),
        (422, "a sentence", Outcome.DECLINED, "422"),
        (400, {}, Outcome.DECLINED, "400"),
        (401, "Make sure your API key is set", Outcome.MISCONFIGURED, "401"),
        (402, None, Outcome.OUT_OF_FUNDS, "402"),
        (429, None, Outcome.RATE_LIMITED, "429"),
        (500, None, Outcome.TEMPORARY, "500"),
    ],
)
def test_it_reads_a_refusal_by_the_fields_that_it_names(build, server, http_status, fields, outcome, told):
    server.script(fake.answer(http_status, {"status": "error", "message": "validation errors", "data": fields}))
    error = error_of(build())
    assert (error.outcome, error.provider_status) == (outcome, told)


@pytest.mark.parametrize("data", [None, [], {}, {"id": None}, {"id": 5}, {"id": "9" * 201}])
def test_an_answer_without_an_id_is_unclear(build, server, data):
    server.script(fake.answer(200, {**ACCEPTED, "data": data}))
    assert error_of(build()).outcome is Outcome.UNCLEAR


# Check


@pytest.mark.parametrize(
    ("data", "is_ok"),
    [
        ([{"phone_number": "+18005550198"}, {"phone_number": "+18005550199"}], True),
        ([{"phone_number": "+180055501990"}], False),
        ([], False),
        (None, False),
    ],
)
def test_check_looks_for_the_sender_s_phone(build, server, data, is_ok):
    server.script(fake.answer(200, {"status": "success", "message": "fetched", "data": data}))
    health = build().check()
    [request] = server.requests
    assert (request.method, request.target) == ("GET", "/v1/phones?limit=20&query=18005550199")
    assert health.is_ok is is_ok and health.balance is None


def test_check_tells_of_a_wrong_key(build, server):
    server.script(fake.answer(401, {"status": "error"}))
    with pytest.raises(ProviderError) as caught:
        build().check()
    assert caught.value.outcome is Outcome.MISCONFIGURED


# Verifying receipts


@pytest.mark.parametrize(
    ("query", "audience"), [("", [HOOK_URL]), ("", HOOK_URL), ("x=1", ["https://other.example", f"{HOOK_URL}?x=1"])]
)
def test_it_accepts_a_token_for_our_address(build, query, audience):
    build().verify_hook(signed(event(), query=query, aud=audience))


@pytest.mark.parametrize(
    "make_request",
    [
        lambda: signed(event(), key="other"),
        lambda: signed(event(), aud=["https://other.example/hooks/1/2"]),
        lambda: signed(event(), aud=None),
        lambda: signed(event(), query="x=1"),
        lambda: signed(event(), iss="another"),
        lambda: signed(event(), exp=int(time.time()) - 600),
        lambda: signed(event(), scheme="Basic"),
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
        ("message.phone.sent", ReceiptStatus.SENT),
        ("message.phone.delivered", ReceiptStatus.SUCCESS),
        ("message.send.failed", ReceiptStatus.FAILED),
        ("message.send.expired", ReceiptStatus.EXPIRED),
    ],
)
def test_it_reads_an_event(build, word, ours):
    [found] = receipts_of(build(), signed(event(word)))
    assert (found.status, found.provider_message_id, found.message_id) == (ours, ID, 42)
    assert found.provider_status == word and not found.is_suppressed
    assert bool(found.error) == (ours in (ReceiptStatus.FAILED, ReceiptStatus.EXPIRED))


@pytest.mark.parametrize(
    ("reason", "words"),
    [
        ("GENERIC_FAILURE", "credit and signal (GENERIC_FAILURE)"),
        ("NO_SERVICE", "no network"),
        ("RADIO_OFF", "radio is off"),
        ("LIMIT_EXCEEDED", "too many messages"),
        ("UNKNOWN:17", "not delivered (message.send.failed)"),
        ("about +4915112345678", "not delivered (message.send.failed)"),
    ],
)
def test_it_tells_why_a_message_failed_in_our_words(build, reason, words):
    [found] = receipts_of(build(), signed(event("message.send.failed", error_message=reason)))
    assert words in found.error and "4915112345678" not in found.error


def test_an_expiry_after_which_the_phone_is_asked_again_changes_nothing(build):
    assert receipts_of(build(), signed(event("message.send.expired", is_final=False))) == ()
    assert len(receipts_of(build(), signed(event("message.send.expired", is_final=True)))) == 1


@pytest.mark.parametrize("word", ["message.phone.received", "phone.heartbeat.offline", "", None])
def test_it_passes_over_other_events(build, word):
    assert receipts_of(build(), signed(event(word))) == ()


@pytest.mark.parametrize("reference", [None, 42, "", "x", "9" * 19])
def test_an_id_that_is_not_ours_is_left_out(build, reference):
    [found] = receipts_of(build(), signed(event(request_id=reference)))
    assert (found.message_id, found.provider_message_id) == (None, ID)


@pytest.mark.parametrize("content", [b"no", b"[]", {"type": "message.phone.sent"}, event(id=None), event(id="9" * 201)])
def test_it_does_not_read_a_report_that_names_no_message(build, content):
    with pytest.raises(HookUnreadable):
        build().parse_hook(signed(content))
