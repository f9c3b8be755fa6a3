from __future__ import annotations

import base64
import hmac
import json
import time

import pytest

from providers import registry
from providers.base import HookRequest, Outcome, ReceiptStatus
from providers.errors import HookForged, HookUnreadable, ProviderError, SettingsInvalid
from tests.fakes import http_server as fake
from tests.fakes.hooks import call, receipts_of
from tests.fakes.messages import HOOK_URL, error_of, make_sms

TYPE = "sinch"
SECRET = "hooksecret"
SETTINGS = {"service_plan_id": "jd63jf88477ll123", "api_token": "hush-hush", "sender": "12345"}
BATCH = "01FC66621XXXXX119Z8PMV1QPQ"
NOW = 1795262400  # 2026-11-21T12:00:00Z


@pytest.fixture
def noon(monkeypatch):
    monkeypatch.setattr(time, "time", lambda: NOW)


def accepted(**changes):
    batch = {
        "id": BATCH,
        "to": ["4915112345678"],
        "from": "12345",
        "canceled": False,
        "body": "Your code is 4711",
        "type": "mt_text",
        "client_reference": "42",
        "created_at": "2026-11-21T12:00:00.000Z",
        "modified_at": "2026-11-21T12:00:00.000Z",
        "delivery_report": "per_recipient",
    }
    return fake.answer(201, {**batch, **changes})


def report(status="Delivered", code=0, **changes):
    fields = {
        "type": "recipient_delivery_report_sms",
        "batch_id": BATCH,
        "recipient": "4915112345678",
        "code": code,
        "status": status,
        "at": "2026-11-21T12:00:03.000Z",
        "operator_status_at": "2026-11-21T12:00:03.000Z",
        "client_reference": "42",
        "applied_originator": "12345",
        **changes,
    }
    return json.dumps(fields).encode()


def signed(body, timestamp=None, nonce="nonce1"):
    timestamp = str(int(time.time())) if timestamp is None else timestamp
    text = body + b"." + nonce.encode() + b"." + timestamp.encode()
    return hook(body, base64.b64encode(hmac.digest(SECRET.encode(), text, "sha256")).decode(), nonce, timestamp)


def hook(body, signature, nonce, timestamp):
    return call(
        body,
        x_sinch_webhook_signature=signature,
        x_sinch_webhook_signature_nonce=nonce,
        x_sinch_webhook_signature_timestamp=timestamp,
    )


# Settings


@pytest.mark.parametrize(
    ("changes", "name"),
    [
        ({"service_plan_id": ""}, "service_plan_id"),
        ({"service_plan_id": "../x"}, "service_plan_id"),
        ({"api_token": ""}, "api_token"),
        ({"api_token": "hush hush"}, "api_token"),
        ({"base_url": "http://us.sms.api.sinch.com"}, "base_url"),
    ],
)
def test_it_refuses_wrong_settings(changes, name):
    with pytest.raises(SettingsInvalid) as caught:
        registry.clean_settings(TYPE, {**SETTINGS, **changes})
    assert list(caught.value.errors) == [name]


def test_token_and_secret_are_secret():
    values = registry.clean_settings(TYPE, SETTINGS)
    assert set(registry.split_secrets(TYPE, values)[1]) == {"api_token", "hook_secret"}
    assert values["base_url"] == "https://us.sms.api.sinch.com"


# Sending


def test_it_sends_a_message(build, server, noon):
    server.script(accepted())
    result = build().send(make_sms())
    [request] = server.requests
    assert (request.method, request.target) == ("POST", "/xms/v1/jd63jf88477ll123/batches")
    assert request.headers["authorization"] == "Bearer hush-hush"
    assert request.headers["content-type"] == "application/json"
    assert request.body == (
        b'{"from":"12345","to":["4915112345678"],"body":"Your code is 4711","type":"mt_text",'
        b'"delivery_report":"per_recipient","callback_url":"https://codes.example/hooks/1/2",'
        b'"expire_at":"2026-11-21T12:03:00Z","client_reference":"42","feedback_enabled":false,'
        b'"truncate_concat":false,"max_number_of_message_parts":1}'
    )
    assert (result.outcome, result.provider_message_id) == (Outcome.ACCEPTED, BATCH)
    assert (result.provider_status, result.is_delivered) == ("201", False)


@pytest.mark.parametrize(
    ("text", "parts"), [("x" * 160, 1), ("x" * 161, 2), ("€" * 81, 2), ("ж" * 70, 1), ("ж" * 71, 2), ("😀" * 67, 3)]
)
def test_a_text_may_take_the_parts_that_it_needs(build, server, text, parts):
    server.script(accepted())
    build().send(make_sms(text=text))
    body = server.requests[0].json()
    assert (body["body"], body["max_number_of_message_parts"]) == (text, parts)


@pytest.mark.parametrize(("seconds", "at"), [(-5, "12:00:01"), (0, "12:00:01"), (600, "12:10:00")])
def test_it_expires_with_the_code(build, server, noon, seconds, at):
    server.script(accepted())
    build().send(make_sms(expires_in=seconds))
    assert server.requests[0].json()["expire_at"] == f"2026-11-21T{at}Z"


@pytest.mark.parametrize(
    ("own", "sender", "sent"),
    [("12345", "", "12345"), ("12345", "Laden", "Laden"), ("", "+4930123456", "4930123456"), ("", "", None)],
)
def test_a_country_s_sender_comes_first(build, server, own, sender, sent):
    server.script(accepted())
    build(sender=own).send(make_sms(sender=sender))
    assert server.requests[0].json().get("from") == sent


@pytest.mark.parametrize("hook_url", [None, "http://10.1.1.1/hooks/1/2", "https://10.0.0.5/hooks/1/2"])
def test_without_a_way_to_report_acceptance_is_the_end(build, server, hook_url):
    server.script(accepted())
    assert build().send(make_sms(hook_url=hook_url)).is_delivered
    body = server.requests[0].json()
    assert body["delivery_report"] == "none" and "callback_url" not in body


def test_an_empty_text_is_not_applicable(build, server):
    assert error_of(build(), make_sms(text="")).outcome is Outcome.NOT_APPLICABLE
    assert server.requests == []


# The answer


@pytest.mark.parametrize(
    ("http_status", "word", "outcome"),
    [
        (400, "syntax_invalid_json", Outcome.MISCONFIGURED),
        (400, "syntax_constraint_violation", Outcome.DECLINED),
        (400, "syntax_invalid_parameter_format", Outcome.DECLINED),
        (403, "illegal_number_type", Outcome.REFUSED),
        (403, "blocked_account", Outcome.MISCONFIGURED),
        (403, "missing_callback_url", Outcome.MISCONFIGURED),
        (400, "something_new", Outcome.DECLINED),
        (401, "unauthorized", Outcome.MISCONFIGURED),
        (403, "something_new", Outcome.DECLINED),
        (404, "not_found", Outcome.DECLINED),
        (402, "something_new", Outcome.OUT_OF_FUNDS),
        (429, "too_many_requests", Outcome.RATE_LIMITED),
        (500, "internal_error", Outcome.TEMPORARY),
    ],
)
def test_it_reads_a_refusal_by_its_word(build, server, http_status, word, outcome):
    headers = {"Retry-After": "3"} if http_status == 429 else None
    server.script(fake.answer(http_status, {"code": word, "text": "about 4915112345678"}, headers))
    error = error_of(build())
    assert (error.outcome, error.provider_status) == (outcome, word)
    assert error.retry_after == (3 if http_status == 429 else None)


@pytest.mark.parametrize(
    "body",
    [
        {"error": {"code": 400, "message": "about 4915112345678", "status": "INVALID_ARGUMENT", "details": []}},
        {"code": 400},
        {"code": ["x"]},
        {"code": "to 4915112345678"},
    ],
)
def test_a_refusal_without_a_word_is_judged_by_its_status(build, server, body):
    server.script(fake.answer(400, body))
    error = error_of(build())
    assert (error.outcome, error.provider_status) == (Outcome.DECLINED, "400")


@pytest.mark.parametrize("id", [None, "", 5, [], "9" * 201])
def test_an_answer_without_an_id_is_unclear(build, server, id):
    server.script(accepted(id=id))
    assert error_of(build()).outcome is Outcome.UNCLEAR


# Check


@pytest.mark.parametrize(
    ("answered", "is_ok"),
    [({"page": 0, "page_size": 0, "count": 0, "groups": []}, True), ({"groups": "x"}, False), ({}, False), ([], False)],
)
def test_check_asks_for_no_messages(build, server, answered, is_ok):
    server.script(fake.answer(200, answered))
    health = build().check()
    [request] = server.requests
    assert (request.method, request.target) == ("GET", "/xms/v1/jd63jf88477ll123/groups?page_size=1")
    assert request.headers["authorization"] == "Bearer hush-hush"
    assert (health.is_ok, health.balance) == (is_ok, None)


@pytest.mark.parametrize("http_status", [401, 403, 404])
def test_check_tells_of_wrong_credentials(build, server, http_status):
    server.script(fake.answer(http_status, b""))
    with pytest.raises(ProviderError) as caught:
        build().check()
    assert caught.value.provider_status == str(http_status)


# Verifying reports

VECTOR_TIME = 1634579353
VECTOR_BODY = b'{"type":"recipient_delivery_report_sms"}'
VECTOR_SIGNATURE = "2uDsTdHUCTlzmx2V0D7PxGzuouMk2TnqWcRrbikU6P8="


@pytest.mark.parametrize("seconds", [-300, 0, 300])
def test_it_accepts_the_known_signature_while_it_is_fresh(build, monkeypatch, seconds):
    monkeypatch.setattr(time, "time", lambda: VECTOR_TIME + seconds)
    request = hook(VECTOR_BODY, VECTOR_SIGNATURE, "nonce1", str(VECTOR_TIME))
    build(hook_secret=SECRET).verify_hook(request)
    with pytest.raises(HookUnreadable):
        build().parse_hook(request)


@pytest.mark.parametrize("seconds", [-301, 301, 10**9])
def test_it_refuses_a_stale_signature(build, monkeypatch, seconds):
    monkeypatch.setattr(time, "time", lambda: VECTOR_TIME + seconds)
    with pytest.raises(HookForged):
        build(hook_secret=SECRET).verify_hook(hook(VECTOR_BODY, VECTOR_SIGNATURE, "nonce1", str(VECTOR_TIME)))


@pytest.mark.parametrize(
    ("body", "signature", "nonce", "timestamp"),
    [
        (VECTOR_BODY + b" ", VECTOR_SIGNATURE, "nonce1", VECTOR_TIME),
        (b"", VECTOR_SIGNATURE, "nonce1", VECTOR_TIME),
        (VECTOR_BODY, VECTOR_SIGNATURE[:-2] + "A=", "nonce1", VECTOR_TIME),
        (VECTOR_BODY, VECTOR_SIGNATURE.lower(), "nonce1", VECTOR_TIME),
        (VECTOR_BODY, "", "nonce1", VECTOR_TIME),
        (VECTOR_BODY, "ü", "nonce1", VECTOR_TIME),
        (VECTOR_BODY, "\udcff", "nonce1", VECTOR_TIME),
        (VECTOR_BODY, VECTOR_SIGNATURE, "nonce2", VECTOR_TIME),
        (VECTOR_BODY, VECTOR_SIGNATURE, "\udcff", VECTOR_TIME),
        (VECTOR_BODY, VECTOR_SIGNATURE, "nonce1", VECTOR_TIME + 1),
        (VECTOR_BODY, VECTOR_SIGNATURE, "nonce1", ""),
    ],
)
def test_it_refuses_a_forged_report(build, monkeypatch, body, signature, nonce, timestamp):
    monkeypatch.setattr(time, "time", lambda: VECTOR_TIME)
    with pytest.raises(HookForged):
        build(hook_secret=SECRET).verify_hook(hook(body, signature, nonce, str(timestamp)))


@pytest.mark.parametrize("timestamp", ["", "soon", "-5", "1e9", "٣", "9" * 13])
def test_a_signed_nonsense_time_is_refused(build, timestamp):
    with pytest.raises(HookForged):
        build(hook_secret=SECRET).verify_hook(signed(report(), timestamp))


def test_an_unsigned_report_is_refused_where_sinch_signs(build):
    with pytest.raises(HookForged):
        build(hook_secret=SECRET).verify_hook(call(report()))


def test_where_sinch_does_not_sign_the_address_is_the_secret(build):
    [found] = receipts_of(build(), call(report()))
    assert found.status is ReceiptStatus.SUCCESS


def test_it_refuses_a_get(build):
    with pytest.raises(HookForged):
        build().verify_hook(HookRequest("GET", HOOK_URL, "", {}, b""))


# Reading reports


@pytest.mark.parametrize(
    ("word", "ours"),
    [
        ("Dispatched", ReceiptStatus.SENT),
        ("Delivered", ReceiptStatus.SUCCESS),
        ("DELIVERED", ReceiptStatus.SUCCESS),
        ("Expired", ReceiptStatus.EXPIRED),
        ("Aborted", ReceiptStatus.FAILED),
        ("Rejected", ReceiptStatus.FAILED),
        ("Failed", ReceiptStatus.FAILED),
        ("Deleted", ReceiptStatus.FAILED),
        ("Cancelled", ReceiptStatus.FAILED),
    ],
)
def test_it_reads_a_status(build, word, ours):
    [found] = receipts_of(build(hook_secret=SECRET), signed(report(word)))
    assert (found.status, found.provider_message_id, found.message_id) == (ours, BATCH, 42)
    assert found.provider_status == word.lower() and not found.is_suppressed
    assert bool(found.error) == (ours in (ReceiptStatus.FAILED, ReceiptStatus.EXPIRED))


@pytest.mark.parametrize(
    "body",
    [
        report("Queued", 400),
        report("Unknown"),
        report("New"),
        report(None),
        report([]),
        report(type="mo_text"),
        report(type="delivery_report_sms"),
        b"{}",
    ],
)
def test_it_passes_over_what_changes_nothing(build, body):
    assert receipts_of(build(), call(body)) == ()


@pytest.mark.parametrize(
    ("code", "words"),
    [
        (402, "no route"),
        (403, "server error"),
        (404, "failed temporarily"),
        (405, "parameter"),
        (406, "in time"),
        (407, "cancelled"),
        (408, "rejected"),
        (410, "default sender"),
        (411, "too many parts"),
        (412, "region"),
        (413, "balance"),
        (418, "not delivered (error 418)"),
        (0, "not delivered (aborted)"),
        ("<b>", "not delivered (aborted)"),
    ],
)
def test_it_tells_why_a_message_failed(build, code, words):
    [found] = receipts_of(build(), call(report("Aborted", code)))
    assert words in found.error


@pytest.mark.parametrize("reference", [None, 42, "", "x", "9" * 19])
def test_a_reference_that_is_not_ours_is_left_out(build, reference):
    [found] = receipts_of(build(), call(report(client_reference=reference)))
    assert (found.message_id, found.provider_message_id) == (None, BATCH)


@pytest.mark.parametrize("body", [b"", b"x", b"[]", b"[" * 60_000, b"\xff", report(batch_id=None), report(batch_id=5)])
def test_it_does_not_read_what_names_no_batch(build, body):
    with pytest.raises(HookUnreadable):
        build().parse_hook(call(body))
