from __future__ import annotations

import hashlib
import hmac
import json
import time
from decimal import Decimal

import pytest

from providers import registry
from providers.base import HookRequest, MessagePrice, Outcome, Receipt, ReceiptStatus
from providers.errors import HookForged, HookUnreadable, NotConnected, ProviderError, SettingsInvalid
from tests.fakes import http_server as fake
from tests.fakes.messages import HOOK_URL, error_of, make_message

TYPE = "telegram_gateway"
TOKEN = "AAEFAAAAexampletoken"
SETTINGS = {"token": TOKEN}

ACCEPTED = (
    b'{"ok":true,"result":{"request_id":"123456789012345678","phone_number":"+4915112345678","request_cost":0.01,'
    b'"is_refunded":false,"remaining_balance":99.5,"delivery_status":{"status":"sent","updated_at":1740571199},'
    b'"payload":"42"}}'
)
# The reference's vector: token, time, body, signature.
VECTOR_TIME = 1740571200
VECTOR_BODY = (
    b'{"request_id":"123456789","phone_number":"+998901234567","request_cost":0.01,'
    b'"delivery_status":{"status":"delivered","updated_at":1740571199},"payload":"msg-42"}'
)
VECTOR_SIGNATURE = "674fdd69093953cfabd04229d5302177761931878766c7375b49db8204695831"


def message(**changes):
    return make_message(**{"channel": "messenger_a", "hook_url": HOOK_URL, **changes})


def refused(adapter, **changes):
    return error_of(adapter, message(**changes))


def error(word: str) -> bytes:
    return f'{{"ok":false,"error":"{word}"}}'.encode()


def hook(body, timestamp=None, signature=None):
    timestamp = str(int(time.time()) if timestamp is None else timestamp)
    if signature is None:
        signed = timestamp.encode() + b"\n" + body
        signature = hmac.new(hashlib.sha256(TOKEN.encode()).digest(), signed, hashlib.sha256).hexdigest()
    headers = {"x-request-timestamp": timestamp, "x-request-signature": signature}
    return HookRequest("POST", HOOK_URL, "", headers, body)


def report(status="delivered", **changes):
    found = {
        "request_id": "123456789",
        "phone_number": "+998901234567",
        "request_cost": 0.01,
        "delivery_status": {"status": status, "updated_at": 1740571199},
        "payload": "42",
        **changes,
    }
    return hook(json.dumps(found).encode())


# Settings


@pytest.mark.parametrize(
    ("raw", "name"),
    [
        ({"token": ""}, "token"),
        ({"token": "hush hush"}, "token"),
        ({"token": "hüsh"}, "token"),
        ({"sender_username": "@shop"}, "sender_username"),
        ({"sender_username": "a b"}, "sender_username"),
        ({"base_url": "http://gateway.example/"}, "base_url"),
        ({"base_url": "https://gateway.example/?x"}, "base_url"),
    ],
)
def test_it_refuses_wrong_settings(raw, name):
    with pytest.raises(SettingsInvalid) as caught:
        registry.clean_settings("telegram_gateway", {"token": TOKEN, **raw})
    assert list(caught.value.errors) == [name]
    assert "hush" not in str(caught.value) and "hüsh" not in str(caught.value)


def test_the_token_is_a_secret_and_the_rest_has_defaults():
    values = registry.clean_settings("telegram_gateway", {"token": TOKEN})
    plain, secret = registry.split_secrets("telegram_gateway", values)
    assert secret == {"token": TOKEN}
    assert plain == {"sender_username": "", "base_url": "https://gatewayapi.telegram.org/"}


# Sending


def test_it_sends_the_digits(build, server):
    server.script(fake.answer(200, ACCEPTED))
    result = build(sender_username="shop_codes").send(message())
    [request] = server.requests
    assert (request.method, request.target) == ("POST", "/sendVerificationMessage")
    assert request.headers["authorization"] == f"Bearer {TOKEN}"
    assert request.headers["content-type"] == "application/json"
    assert request.json() == {
        "phone_number": "+4915112345678",
        "code": "4711",
        "ttl": 180,
        "payload": "42",
        "sender_username": "shop_codes",
        "callback_url": HOOK_URL,
    }
    assert (result.outcome, result.provider_message_id) == (Outcome.ACCEPTED, "123456789012345678")
    assert (result.is_delivered, result.provider_status) == (False, "sent")


def test_a_base_url_keeps_its_path(build, server):
    server.script(fake.answer(200, ACCEPTED))
    build(base_url=server.url + "/proxy").send(message())
    assert server.requests[0].target == "/proxy/sendVerificationMessage"


@pytest.mark.parametrize(("expires_in", "ttl"), [(30, 30), (31, 31), (3600, 3600), (86400, 3600)])
def test_it_passes_the_rest_of_the_codes_life(build, server, expires_in, ttl):
    server.script(fake.answer(200, ACCEPTED))
    build().send(message(expires_in=expires_in))
    assert server.requests[0].json()["ttl"] == ttl


@pytest.mark.parametrize(
    "changes",
    [
        {"code": "A1B2"},
        {"code": "123"},
        {"code": "123456789"},
        {"code": ""},
        {"code": "٤٧١١"},
        {"code": "4711\n"},
        {"expires_in": 29},
    ],
)
def test_what_it_cannot_carry_is_not_asked(build, server, changes):
    assert refused(build(), **changes).outcome is Outcome.NOT_APPLICABLE
    assert server.requests == []


@pytest.mark.parametrize(
    "hook_url",
    [
        None,
        "http://codes.example/hooks/7d0c/hush",
        "https://codes.example/" + "x" * 235,
        "https://codes.example/" + "ü" * 150,
    ],
)
def test_without_a_usable_callback_url_acceptance_is_the_last_word(build, server, hook_url):
    server.script(fake.answer(200, ACCEPTED))
    result = build().send(message(hook_url=hook_url))
    assert "callback_url" not in server.requests[0].json()
    assert result.is_delivered


def test_a_callback_url_of_256_bytes_is_sent(build, server):
    server.script(fake.answer(200, ACCEPTED))
    build().send(message(hook_url="https://codes.example/" + "x" * 234))
    assert len(server.requests[0].json()["callback_url"]) == 256


# The answer


@pytest.mark.parametrize(
    ("word", "outcome", "provider_status"),
    [
        ("ACCESS_TOKEN_INVALID", Outcome.MISCONFIGURED, "ACCESS_TOKEN_INVALID"),
        ("ACCESS_TOKEN_REQUIRED", Outcome.MISCONFIGURED, "ACCESS_TOKEN_REQUIRED"),
        ("BALANCE_NOT_ENOUGH", Outcome.OUT_OF_FUNDS, "BALANCE_NOT_ENOUGH"),
        ("PHONE_NUMBER_INVALID", Outcome.REFUSED, "PHONE_NUMBER_INVALID"),
        ("PHONE_NUMBER_NOT_FOUND", Outcome.NO_ACCOUNT, "PHONE_NUMBER_NOT_FOUND"),
        ("CODE_INVALID", Outcome.MISCONFIGURED, "CODE_INVALID"),
        ("CODE_LENGTH_INVALID", Outcome.MISCONFIGURED, "CODE_LENGTH_INVALID"),
        ("CODE_LENGTH_REQUIRED", Outcome.MISCONFIGURED, "CODE_LENGTH_REQUIRED"),
        ("TTL_INVALID", Outcome.MISCONFIGURED, "TTL_INVALID"),
        ("PAYLOAD_INVALID", Outcome.MISCONFIGURED, "PAYLOAD_INVALID"),
        ("CALLBACK_URL_INVALID", Outcome.MISCONFIGURED, "CALLBACK_URL_INVALID"),
        ("UNKNOWN_METHOD", Outcome.MISCONFIGURED, "UNKNOWN_METHOD"),
        ("SENDER_NOT_OWNED", Outcome.MISCONFIGURED, "SENDER_NOT_OWNED"),
        ("SENDER_NOT_VERIFIED", Outcome.MISCONFIGURED, "SENDER_NOT_VERIFIED"),
        ("SENDER_USERNAME_INVALID", Outcome.MISCONFIGURED, "SENDER_USERNAME_INVALID"),
        ("REQUEST_ID_INVALID", Outcome.MISCONFIGURED, "REQUEST_ID_INVALID"),
        ("REQUEST_ID_REQUIRED", Outcome.MISCONFIGURED, "REQUEST_ID_REQUIRED"),
        ("FLOOD_WAIT_7", Outcome.RECIPIENT_LIMITED, "FLOOD_WAIT"),
        ("MESSAGE_ALREADY_SENT", Outcome.UNCLEAR, "MESSAGE_ALREADY_SENT"),
        ("SOMETHING_NEW", Outcome.DECLINED, "SOMETHING_NEW"),
        ("your code 4711 is bad", Outcome.DECLINED, ""),
        ("CODE_4711_INVALID", Outcome.MISCONFIGURED, "CODE"),
        ("", Outcome.DECLINED, ""),
    ],
)
@pytest.mark.parametrize("status", [200, 400])
def test_ok_and_the_word_decide_whatever_the_status(build, server, word, outcome, provider_status, status):
    server.script(fake.answer(status, error(word)))
    found = refused(build())
    assert (found.outcome, found.provider_status) == (outcome, provider_status)
    assert len(server.requests) == 1


@pytest.mark.parametrize(("word", "seconds"), [("FLOOD_WAIT_7", 7), ("FLOOD_WAIT_86400", 3600)])
def test_it_passes_on_how_long_to_wait(build, server, word, seconds):
    server.script(fake.answer(200, error(word)))
    assert refused(build()).retry_after == seconds


@pytest.mark.parametrize("word", [None, 5, ["ACCESS_TOKEN_INVALID"], {}])
def test_an_error_that_is_no_word_is_declined(build, server, word):
    server.script(fake.answer(200, {"ok": False, "error": word}))
    assert refused(build()).outcome is Outcome.DECLINED


@pytest.mark.parametrize(
    "body",
    [
        b"<html>502 Bad Gateway</html>",
        b"",
        b"{",
        b"[]",
        b"null",
        b'{"result":{"request_id":"1"}}',
        b'{"ok":1,"result":{"request_id":"1"}}',
        b"[" * 50_000,
        b"\xff",
    ],
)
@pytest.mark.parametrize(
    ("status", "outcome"),
    [(200, Outcome.UNCLEAR), (401, Outcome.MISCONFIGURED), (429, Outcome.RATE_LIMITED), (502, Outcome.UNKNOWN)],
)
def test_an_answer_of_another_kind_is_judged_by_its_status(build, server, body, status, outcome):
    server.script(fake.answer(status, body))
    assert refused(build()).outcome is outcome


@pytest.mark.parametrize(
    "result", [None, [], "1", {}, {"request_id": ""}, {"request_id": 5}, {"request_id": "9" * 201}]
)
def test_an_acceptance_without_an_id_is_unclear(build, server, result):
    server.script(fake.answer(200, {"ok": True, "result": result}))
    assert refused(build()).outcome is Outcome.UNCLEAR


@pytest.mark.parametrize("delivery", [None, {}, {"status": 5}, {"status": "teleported 4711"}, "sent"])
def test_an_acceptance_needs_no_delivery_status(build, server, delivery):
    server.script(fake.answer(200, {"ok": True, "result": {"request_id": "1", "delivery_status": delivery}}))
    result = build().send(message())
    assert (result.outcome, result.provider_status) == (Outcome.ACCEPTED, "")


def test_the_token_is_not_logged(build, server, caplog):
    caplog.set_level("DEBUG")
    server.script(fake.answer(200, ACCEPTED))
    build().send(message())
    assert TOKEN not in caplog.text and TOKEN not in repr(build())


# Check


@pytest.mark.parametrize("word", ["REQUEST_ID_INVALID", "REQUEST_ID_REQUIRED"])
def test_check_asks_for_a_request_that_does_not_exist(build, server, word):
    server.script(fake.answer(200, error(word)))
    health = build().check()
    [request] = server.requests
    assert (request.target, request.json()) == ("/checkVerificationStatus", {"request_id": "0"})
    assert health.is_ok and health.balance is None


@pytest.mark.parametrize(
    ("status", "body", "outcome"),
    [
        (200, error("ACCESS_TOKEN_INVALID"), Outcome.MISCONFIGURED),
        (401, error("ACCESS_TOKEN_INVALID"), Outcome.MISCONFIGURED),
        (200, error("FLOOD_WAIT_3"), Outcome.RECIPIENT_LIMITED),
        (502, b"<html>", Outcome.UNKNOWN),
    ],
)
def test_check_tells_what_is_wrong(build, server, status, body, outcome):
    server.script(fake.answer(status, body))
    with pytest.raises(ProviderError) as caught:
        build().check()
    assert caught.value.outcome is outcome and TOKEN not in str(caught.value)


def test_check_tells_of_a_gateway_that_is_away(build, server):
    adapter = build()
    server.__exit__()
    with pytest.raises(NotConnected):
        adapter.check()


# Reports: who made them


@pytest.mark.parametrize("seconds", [-300, 0, 300])
def test_it_accepts_the_reference_vector_while_it_is_fresh(build, monkeypatch, seconds):
    monkeypatch.setattr(time, "time", lambda: VECTOR_TIME + seconds)
    build().verify_hook(hook(VECTOR_BODY, VECTOR_TIME, VECTOR_SIGNATURE))


@pytest.mark.parametrize("seconds", [-301, 301, 10**9])
def test_it_refuses_a_stale_signature(build, monkeypatch, seconds):
    monkeypatch.setattr(time, "time", lambda: VECTOR_TIME + seconds)
    with pytest.raises(HookForged):
        build().verify_hook(hook(VECTOR_BODY, VECTOR_TIME, VECTOR_SIGNATURE))


@pytest.mark.parametrize(
    ("body", "timestamp", "signature"),
    [
        (VECTOR_BODY.replace(b"delivered", b"expired"), VECTOR_TIME, VECTOR_SIGNATURE),
        (VECTOR_BODY + b" ", VECTOR_TIME, VECTOR_SIGNATURE),
        (VECTOR_BODY, VECTOR_TIME + 1, VECTOR_SIGNATURE),
        (VECTOR_BODY, f"{VECTOR_TIME} ", VECTOR_SIGNATURE),
        (VECTOR_BODY, VECTOR_TIME, VECTOR_SIGNATURE.upper()),
        (VECTOR_BODY, VECTOR_TIME, VECTOR_SIGNATURE[:-1]),
        (VECTOR_BODY, VECTOR_TIME, ""),
        (VECTOR_BODY, VECTOR_TIME, "ü"),
        (VECTOR_BODY, VECTOR_TIME, "\udcff"),
        (VECTOR_BODY, "", VECTOR_SIGNATURE),
        (VECTOR_BODY, "\udcff", VECTOR_SIGNATURE),
    ],
)
def test_it_refuses_a_forged_report(build, monkeypatch, body, timestamp, signature):
    monkeypatch.setattr(time, "time", lambda: VECTOR_TIME)
    with pytest.raises(HookForged):
        build().verify_hook(hook(body, timestamp, signature))


def test_it_refuses_a_report_without_headers(build):
    with pytest.raises(HookForged):
        build().verify_hook(HookRequest("POST", HOOK_URL, "", {}, VECTOR_BODY))


def test_another_accounts_token_does_not_sign(build):
    with pytest.raises(HookForged):
        build(token=TOKEN + "x").verify_hook(report())


@pytest.mark.parametrize("timestamp", ["", "soon", "-5", "1e9", "٣", "9" * 13])
def test_a_signed_nonsense_time_is_refused(build, timestamp):
    signed = timestamp.encode() + b"\n" + VECTOR_BODY
    signature = hmac.new(hashlib.sha256(TOKEN.encode()).digest(), signed, hashlib.sha256).hexdigest()
    with pytest.raises(HookForged):
        build().verify_hook(hook(VECTOR_BODY, timestamp, signature))


# Reports: what they say


@pytest.mark.parametrize(
    ("word", "status", "has_error"),
    [
        ("sent", ReceiptStatus.SENT, False),
        ("delivered", ReceiptStatus.SUCCESS, False),
        ("read", ReceiptStatus.SUCCESS, False),
        ("expired", ReceiptStatus.EXPIRED, True),
        ("revoked", ReceiptStatus.FAILED, True),
    ],
)
def test_it_reads_a_report(build, word, status, has_error):
    adapter, request = build(), report(word)
    adapter.verify_hook(request)
    reply = adapter.parse_hook(request)
    [receipt] = reply.events
    assert isinstance(receipt, Receipt)
    assert (receipt.status, receipt.provider_message_id, receipt.message_id) == (status, "123456789", 42)
    assert (receipt.provider_status, bool(receipt.error)) == (word, has_error)
    assert (reply.status, reply.body, reply.dedup_key) == (200, b"", f"123456789:{word}")


@pytest.mark.parametrize("payload", ["msg-42", "", "4" * 19, 42, None, "-1", "٤", "42\n"])
def test_a_payload_that_is_not_ours_names_no_message(build, payload):
    [receipt] = build().parse_hook(report(payload=payload)).events
    assert (receipt.message_id, receipt.provider_message_id) == (None, "123456789")


@pytest.mark.parametrize("delivery", [None, {}, "sent", [], {"status": None}, {"status": "teleported"}])
def test_an_unknown_status_is_no_event(build, delivery):
    reply = build().parse_hook(report(delivery_status=delivery))
    assert (reply.events, reply.status) == ((), 200)


@pytest.mark.parametrize(
    "body", [b"", b"<html>", b"[]", b"5", b"{}", b'{"request_id":5}', b'{"request_id":""}', b"\xff", b"[" * 50_000]
)
def test_an_unreadable_report_is_told(build, body):
    with pytest.raises(HookUnreadable):
        build().parse_hook(hook(body))


# Prices


def test_the_price_is_the_request_s_cost_and_nothing_once_it_is_refunded(build, server):
    server.script(fake.answer(200, ACCEPTED))
    assert build().send(message()).price == MessagePrice(Decimal("0.01"), "USD")
    [refunded] = build().parse_hook(report("expired", is_refunded=True)).events
    assert refunded.price == MessagePrice(Decimal(0), "USD")
