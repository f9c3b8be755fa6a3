from __future__ import annotations

import hmac
import json
import time
from decimal import Decimal
from urllib.parse import parse_qsl, urlencode

import pytest

from providers import registry
from providers.base import HookRequest, MessagePrice, Outcome, ReceiptStatus
from providers.errors import HookForged, HookUnreadable, ProviderError, SettingsInvalid
from tests.fakes import http_server as fake
from tests.fakes.hooks import call, receipts_of
from tests.fakes.messages import HOOK_URL, error_of, make_sms

TYPE = "vonage"
SECRET = "sigsecret"
SETTINGS = {"api_key": "abcd1234", "api_secret": "hush-hush", "sender": "Shop"}
LONG_HOOK_URL = "https://codes.example/" + "x" * 79

ACCEPTED = {
    "message-count": "1",
    "messages": [
        {
            "to": "4915112345678",
            "message-id": "0A0000000123ABCD1",
            "status": "0",
            "remaining-balance": "3.14159265",
            "message-price": "0.03330000",
            "network": "26201",
            "client-ref": "42",
        }
    ],
}


def answer(*parts):
    return fake.answer(200, {"message-count": str(len(parts)), "messages": list(parts)})


def refusal(status):
    return {"status": str(status), "error-text": "about 4915112345678"}


def form_of(server):
    return dict(parse_qsl(server.requests[-1].body.decode(), strict_parsing=True))


def receipt(status="delivered", **changes):
    return {
        "msisdn": "4915112345678",
        "to": "Shop",
        "network-code": "26201",
        "messageId": "0A0000000123ABCD1",
        "price": "0.03330000",
        "status": status,
        "scts": "2611211200",
        "err-code": "0",
        "api-key": "abcd1234",
        "client-ref": "42",
        "message-timestamp": "2026-11-21 12:00:00",
        **changes,
    }


def signed(fields, digest="sha256"):
    """Written on its own, after the description."""
    fields = {"timestamp": str(int(time.time())), "nonce": "n1", **fields}
    text = ""
    for name, value in sorted(fields.items()):
        text += "&" + name + "=" + str(value).replace("&", "_").replace("=", "_")
    return {**fields, "sig": hmac.digest(SECRET.encode(), text.encode(), digest).hex()}


def by_get(fields):
    return HookRequest("GET", HOOK_URL, urlencode(fields), {}, b"")


# Settings


@pytest.mark.parametrize(
    ("changes", "name"),
    [
        ({"api_key": ""}, "api_key"),
        ({"api_key": "a:b"}, "api_key"),
        ({"api_secret": ""}, "api_secret"),
        ({"sender": ""}, "sender"),
        ({"signature_method": "md5hash"}, "signature_method"),
        ({"base_url": "http://rest.nexmo.com"}, "base_url"),
    ],
)
def test_it_refuses_wrong_settings(changes, name):
    with pytest.raises(SettingsInvalid) as caught:
        registry.clean_settings(TYPE, {**SETTINGS, **changes})
    assert list(caught.value.errors) == [name]


def test_both_secrets_are_secret():
    values = registry.clean_settings(TYPE, SETTINGS)
    assert set(registry.split_secrets(TYPE, values)[1]) == {"api_secret", "signature_secret"}
    assert values["base_url"] == "https://rest.nexmo.com"


# Sending


def test_it_sends_a_message(build, server):
    server.script(fake.answer(200, ACCEPTED))
    result = build().send(make_sms())
    [request] = server.requests
    assert (request.method, request.target) == ("POST", "/sms/json")
    assert request.headers["authorization"] == "Basic YWJjZDEyMzQ6aHVzaC1odXNo"
    assert request.headers["content-type"] == "application/x-www-form-urlencoded"
    assert request.body == (
        b"from=Shop&to=4915112345678&text=Your+code+is+4711&type=text&ttl=180000&client-ref=42"
        b"&callback=https%3A%2F%2Fcodes.example%2Fhooks%2F1%2F2"
    )
    assert (result.outcome, result.provider_message_id) == (Outcome.ACCEPTED, "0A0000000123ABCD1")
    assert (result.provider_status, result.is_delivered) == ("0", False)


@pytest.mark.parametrize(
    ("text", "kind"),
    [("Code 4711 à 1€", "text"), ("Код 4711", "unicode"), ("`4711`", "unicode"), ("😀 4711", "unicode")],
)
def test_what_the_gsm_alphabet_lacks_is_sent_as_unicode(build, server, text, kind):
    server.script(fake.answer(200, ACCEPTED))
    build().send(make_sms(text=text))
    assert (form_of(server)["type"], form_of(server)["text"]) == (kind, text)


@pytest.mark.parametrize(("seconds", "ttl"), [(-5, "20000"), (20, "20000"), (21, "21000"), (700_000, "604800000")])
def test_the_ttl_keeps_its_bounds(build, server, seconds, ttl):
    server.script(fake.answer(200, ACCEPTED))
    build().send(make_sms(expires_in=seconds))
    assert form_of(server)["ttl"] == ttl


@pytest.mark.parametrize(("sender", "sent"), [("", "Shop"), ("Laden", "Laden"), ("+4930123456", "4930123456")])
def test_a_country_s_sender_comes_first(build, server, sender, sent):
    server.script(fake.answer(200, ACCEPTED))
    build().send(make_sms(sender=sender))
    assert form_of(server)["from"] == sent


def test_india_s_ids_go_along(build, server):
    server.script(fake.answer(200, ACCEPTED))
    build().send(make_sms(dlt_entity_id="110011", dlt_template_id="220022"))
    assert (form_of(server)["entity-id"], form_of(server)["content-id"]) == ("110011", "220022")


@pytest.mark.parametrize(
    ("hook_url", "in_account", "callback", "is_delivered"),
    [
        (HOOK_URL, False, HOOK_URL, False),
        (LONG_HOOK_URL[:100], False, LONG_HOOK_URL[:100], False),
        (LONG_HOOK_URL, False, None, True),
        (LONG_HOOK_URL, True, None, False),
        ("https://10.0.0.5/hooks/1/2", True, None, True),
        (None, True, None, True),
    ],
)
def test_receipts_are_asked_for_where_they_can_arrive(build, server, hook_url, in_account, callback, is_delivered):
    server.script(fake.answer(200, ACCEPTED))
    result = build(has_account_webhook=in_account).send(make_sms(hook_url=hook_url))
    assert form_of(server).get("callback") == callback
    assert result.is_delivered is is_delivered
    assert form_of(server).get("status-report-req") == ("false" if is_delivered else None)


def test_an_empty_text_is_not_applicable(build, server):
    assert error_of(build(), make_sms(text="")).outcome is Outcome.NOT_APPLICABLE
    assert server.requests == []


# The answer


@pytest.mark.parametrize(
    ("outcome", "statuses"),
    [
        (Outcome.RATE_LIMITED, [1, 10]),
        (Outcome.MISCONFIGURED, [2, 12, 23, 32, 4, 14, 8, 11]),
        (Outcome.TEMPORARY, [5]),
        (Outcome.OPTED_OUT, [7]),
        (Outcome.REFUSED, [33]),
        (Outcome.DECLINED, [6, 22]),
        (Outcome.OUT_OF_FUNDS, [9]),
        (Outcome.DECLINED, [3, 15, 29, 34, 999]),
    ],
)
@pytest.mark.parametrize("http_status", [200, 400])
def test_it_reads_an_error_by_its_status(build, server, outcome, statuses, http_status):
    for status in statuses:
        server.script(fake.answer(http_status, {"message-count": "1", "messages": [refusal(status)]}))
        error = error_of(build())
        assert (error.outcome, error.provider_status) == (outcome, str(status))
        assert error.is_suppressed is (outcome is Outcome.REFUSED)


def test_it_passes_on_how_long_to_wait(build, server):
    server.script(fake.answer(200, {"messages": [refusal(1)]}, {"Retry-After": "3"}))
    assert error_of(build()).retry_after == 3


def test_the_parts_of_a_long_text_are_told_apart_by_our_id(build, server):
    [part] = ACCEPTED["messages"]
    server.script(answer(part, {**part, "message-id": "0A0000000123ABCD2"}))
    result = build().send(make_sms())
    assert (result.outcome, result.provider_message_id) == (Outcome.ACCEPTED, None)


def test_a_text_that_was_taken_in_part_may_have_been_sent(build, server):
    [part] = ACCEPTED["messages"]
    server.script(answer(part, refusal(9)))
    error = error_of(build())
    assert (error.outcome, error.provider_status) == (Outcome.UNCLEAR, "9")


def test_a_text_whose_every_part_was_refused_was_not_sent(build, server):
    server.script(answer(refusal(9), refusal(9)))
    assert error_of(build()).outcome is Outcome.OUT_OF_FUNDS


@pytest.mark.parametrize(
    "parts",
    [
        [],
        ["x"],
        [{}],
        [{"status": None}],
        [{"status": "ok"}],
        [{"status": "0"}],
        [{"status": "0", "message-id": ""}],
        [{"status": "0", "message-id": 5}],
        [{"status": "0", "message-id": "9" * 201}],
        [{"status": True, "message-id": "1"}],
    ],
)
def test_an_answer_that_makes_no_sense_is_unclear(build, server, parts):
    server.script(answer(*parts))
    assert error_of(build()).outcome is Outcome.UNCLEAR


# Check


@pytest.mark.parametrize(
    ("answered", "is_ok", "balance"),
    [
        ({"value": 10.28, "autoReload": False}, True, "10.28 EUR"),
        ({"value": "0.00"}, False, "0.00 EUR"),
        ({"value": None}, False, None),
        ([], False, None),
    ],
)
def test_check_tells_the_balance(build, server, answered, is_ok, balance):
    server.script(fake.answer(200, answered))
    health = build().check()
    [request] = server.requests
    assert (request.method, request.target) == ("GET", "/account/get-balance")
    assert request.headers["authorization"] == "Basic YWJjZDEyMzQ6aHVzaC1odXNo"
    assert (health.is_ok, health.balance) == (is_ok, balance)


def test_check_tells_of_wrong_credentials(build, server):
    server.script(fake.answer(401, {"error-code": "401", "error-code-label": "authentication failed"}))
    with pytest.raises(ProviderError) as caught:
        build().check()
    assert caught.value.outcome is Outcome.MISCONFIGURED


# Verifying receipts

VECTOR_TIME = 1582650446
VECTOR = {
    "msisdn": "998901234567",
    "messageId": "0A0000001234567B",
    "status": "delivered",
    "timestamp": str(VECTOR_TIME),
    "nonce": "n1",
    "api-key": "abcd1234",
    "sig": "998da72bad37f445ac689c5d884c5294146b067bf294724b97a1ba56a86b6910",
}


@pytest.mark.parametrize("seconds", [-300, 0, 300])
@pytest.mark.parametrize("request_", [call(VECTOR), by_get(VECTOR), call(json.dumps(VECTOR).encode())])
def test_it_accepts_the_known_signature_while_it_is_fresh(build, monkeypatch, request_, seconds):
    monkeypatch.setattr(time, "time", lambda: VECTOR_TIME + seconds)
    [found] = receipts_of(build(signature_secret=SECRET), request_)
    assert (found.status, found.provider_message_id) == (ReceiptStatus.SUCCESS, "0A0000001234567B")


@pytest.mark.parametrize("seconds", [-301, 301, 10**9])
def test_it_refuses_a_stale_signature(build, monkeypatch, seconds):
    monkeypatch.setattr(time, "time", lambda: VECTOR_TIME + seconds)
    with pytest.raises(HookForged):
        build(signature_secret=SECRET).verify_hook(call(VECTOR))


@pytest.mark.parametrize(
    "request_",
    [
        call({**VECTOR, "sig": ""}),
        call({**VECTOR, "sig": VECTOR["sig"][:-1] + "1"}),
        call({**VECTOR, "sig": "ü"}),
        call({**VECTOR, "status": "failed"}),
        call({**VECTOR, "new": "1"}),
        call({name: value for name, value in VECTOR.items() if name != "nonce"}),
        call(urlencode([*VECTOR.items(), ("status", "failed")]).encode(), kind="application/x-www-form-urlencoded"),
        call(b"\xff\xfe", kind="application/x-www-form-urlencoded"),
        call(b"&".join([b"a=b"] * 300), kind="application/x-www-form-urlencoded"),
        call(b"[" * 60_000),
        call(b"[]"),
        call(json.dumps({**VECTOR, "sig": ["x"]}).encode()),
        call(rb'{"sig":"\ud800","messageId":"\ud800"}'),
        by_get({}),
    ],
)
def test_it_refuses_a_forged_receipt(build, monkeypatch, request_):
    monkeypatch.setattr(time, "time", lambda: VECTOR_TIME)
    with pytest.raises(HookForged):
        build(signature_secret=SECRET).verify_hook(request_)


@pytest.mark.parametrize("digest", ["md5", "sha1", "sha256", "sha512"])
def test_it_knows_the_account_s_methods(build, digest):
    fields = receipt(**{"to": "A&B=C", "timestamp": str(int(time.time()))})
    build(signature_secret=SECRET, signature_method=digest).verify_hook(call(signed(fields, digest)))
    with pytest.raises(HookForged):
        other = "sha1" if digest != "sha1" else "md5"
        build(signature_secret=SECRET, signature_method=other).verify_hook(call(signed(fields, digest)))


def test_the_case_of_a_signature_does_not_matter(build):
    fields = signed(receipt())
    build(signature_secret=SECRET).verify_hook(call({**fields, "sig": fields["sig"].upper()}))


@pytest.mark.parametrize("timestamp", ["", "soon", "-5", "2026-11-21 12:00:00"])
def test_a_signed_nonsense_time_is_refused(build, timestamp):
    with pytest.raises(HookForged):
        build(signature_secret=SECRET).verify_hook(call(signed(receipt(timestamp=timestamp))))


def test_where_signing_is_off_the_address_is_the_secret(build):
    [found] = receipts_of(build(), call(receipt()))
    assert found.status is ReceiptStatus.SUCCESS


# Reading receipts


@pytest.mark.parametrize(
    ("word", "ours"),
    [
        ("accepted", ReceiptStatus.SENT),
        ("buffered", ReceiptStatus.SENT),
        ("delivered", ReceiptStatus.SUCCESS),
        ("expired", ReceiptStatus.EXPIRED),
        ("failed", ReceiptStatus.FAILED),
        ("rejected", ReceiptStatus.FAILED),
    ],
)
def test_it_reads_a_status(build, word, ours):
    [found] = receipts_of(build(), call(receipt(word)))
    assert (found.status, found.provider_message_id, found.message_id) == (ours, "0A0000000123ABCD1", 42)
    assert found.provider_status == word
    assert bool(found.error) == (ours in (ReceiptStatus.FAILED, ReceiptStatus.EXPIRED))


@pytest.mark.parametrize("word", ["unknown", "", "new"])
def test_it_passes_over_what_changes_nothing(build, word):
    assert receipts_of(build(), call(receipt(word))) == ()


@pytest.mark.parametrize(
    ("code", "words", "is_opted_out"),
    [
        ("1", "reason is unknown", False),
        ("2", "handset", False),
        ("3", "no longer in use", False),
        ("4", "barred", True),
        ("5", "carrier", False),
        ("6", "spam", False),
        ("7", "busy", False),
        ("8", "network", False),
        ("9", "has opted out", True),
        ("10", "not valid", False),
        ("11", "no route", False),
        ("12", "cannot be reached", False),
        ("13", "age", False),
        ("14", "blocks", True),
        ("15", "prepaid", False),
        ("50", "entity", False),
        ("51", "header", False),
        ("52", "template", False),
        ("53", "consented", False),
        ("54", "regulation", False),
        ("99", "general", False),
        ("77", "not delivered (error 77)", False),
        ("<b>", "not delivered (failed)", False),
    ],
)
def test_it_tells_why_a_message_failed(build, code, words, is_opted_out):
    [found] = receipts_of(build(), call(receipt("failed", **{"err-code": code})))
    assert words in found.error
    assert (found.is_opted_out, found.is_suppressed) == (is_opted_out, code == "3")


def test_a_delivered_message_suppresses_nobody(build):
    [found] = receipts_of(build(), call(receipt("delivered", **{"err-code": "9"})))
    assert not found.is_opted_out and not found.error


@pytest.mark.parametrize("reference", ["", "x", "msg-42", "9" * 19])
def test_a_reference_that_is_not_ours_is_left_out(build, reference):
    [found] = receipts_of(build(), call(receipt(**{"client-ref": reference})))
    assert (found.message_id, found.provider_message_id) == (None, "0A0000000123ABCD1")


@pytest.mark.parametrize(
    "request_",
    [
        call({}),
        call({"status": "delivered"}),
        call(b'{"messageId":5}'),
        call(b"nonsense"),
        call(urlencode([("messageId", "1"), ("messageId", "2")]).encode(), kind="application/x-www-form-urlencoded"),
    ],
)
def test_it_does_not_read_a_receipt_that_names_no_message(build, request_):
    with pytest.raises(HookUnreadable):
        build().parse_hook(request_)


# Prices


def test_the_price_is_that_of_all_parts_and_unknown_if_one_lacks_it(build, server):
    [part] = ACCEPTED["messages"]
    server.script(answer(part, {**part, "message-price": "0.01"}))
    assert build().send(make_sms()).price == MessagePrice(Decimal("0.0433"), "EUR")
    server.script(answer(part, {**part, "message-price": None}))
    assert build().send(make_sms()).price is None
