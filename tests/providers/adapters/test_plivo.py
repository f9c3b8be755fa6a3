from __future__ import annotations

import base64
import hmac
import json
from decimal import Decimal
from urllib.parse import urlencode

import pytest

from providers import registry
from providers.base import HookRequest, MessagePrice, Outcome, ReceiptStatus
from providers.errors import HookForged, HookUnreadable, ProviderError, SettingsInvalid
from tests.fakes import http_server as fake
from tests.fakes.hooks import FORM, call, receipts_of
from tests.fakes.messages import HOOK_URL, error_of, make_sms

TYPE = "plivo"
TOKEN = "tok"
SETTINGS = {"auth_id": "MA1234567890ABCDEFGH", "auth_token": TOKEN, "sender": "14155551234"}
UUID = "db3ce55a-7f1d-11e1-8ea7-1231380bc196"
POWERPACK = "5ec4c8c9-cd74-42b5-9e41-0d7670d6bb46"

ACCEPTED = {"api_id": "db342550-7f1d-11e1-8ea7-1231380bc196", "message": "message(s) queued", "message_uuid": [UUID]}


def sign(text):
    """Written on its own, after the description."""
    return base64.b64encode(hmac.digest(TOKEN.encode(), text.encode(), "sha256")).decode()


def v3(fields, *, url=HOOK_URL, query="id=42", nonce="n1", **headers):
    base = f"{url}?{query}" + ("." if query else "")
    base += "".join(name + value for name, value in sorted(fields.items()))
    signature = {"x_plivo_signature_v3": sign(f"{base}.{nonce}"), "x_plivo_signature_v3_nonce": nonce}
    return call(fields, url=url, query=query, **{**signature, **headers})


def v2(fields, *, query="id=42", nonce="n1"):
    return call(fields, query=query, x_plivo_signature_v2=sign(HOOK_URL + nonce), x_plivo_signature_v2_nonce=nonce)


def receipt(status="delivered", **changes):
    return {
        "MessageUUID": UUID,
        "To": "4915112345678",
        "From": "14155551234",
        "Type": "sms",
        "Status": status,
        "Units": "1",
        "TotalRate": "0.0035",
        "TotalAmount": "0.0035",
        "MCC": "262",
        "MNC": "01",
        "ErrorCode": "",
        "Sequence": "2",
        "MessageTime": "2026-11-21 12:00:00+00:00",
        "PowerpackUUID": "",
        "requester_ip": "192.0.2.1",
        **changes,
    }


# Settings


@pytest.mark.parametrize(
    ("changes", "name"),
    [
        ({"auth_id": ""}, "auth_id"),
        ({"auth_id": "MA/../x"}, "auth_id"),
        ({"auth_token": ""}, "auth_token"),
        ({"sender": ""}, "sender"),
        ({"base_url": "http://api.plivo.com"}, "base_url"),
    ],
)
def test_it_refuses_wrong_settings(changes, name):
    with pytest.raises(SettingsInvalid) as caught:
        registry.clean_settings(TYPE, {**SETTINGS, **changes})
    assert list(caught.value.errors) == [name]


def test_the_token_is_secret():
    values = registry.clean_settings(TYPE, {**SETTINGS, "sender": "", "powerpack_uuid": POWERPACK})
    assert set(registry.split_secrets(TYPE, values)[1]) == {"auth_token"}
    assert (values["base_url"], values["hides_text"]) == ("https://api.plivo.com", True)


# Sending


def test_it_sends_a_message(build, server):
    server.script(fake.answer(202, ACCEPTED))
    result = build().send(make_sms())
    [request] = server.requests
    assert (request.method, request.target) == ("POST", "/v1/Account/MA1234567890ABCDEFGH/Message/")
    assert request.headers["authorization"] == "Basic TUExMjM0NTY3ODkwQUJDREVGR0g6dG9r"
    assert request.headers["content-type"] == "application/json"
    assert request.body == (
        b'{"src":"14155551234","dst":"4915112345678","text":"Your code is 4711","type":"sms","message_expiry":180,'
        b'"url":"https://codes.example/hooks/1/2?id=42","method":"POST","log":"false"}'
    )
    assert (result.outcome, result.provider_message_id) == (Outcome.ACCEPTED, UUID)
    assert (result.provider_status, result.is_delivered) == ("202", False)


def test_a_text_goes_out_as_it_is(build, server):
    server.script(fake.answer(202, ACCEPTED))
    build(hides_text=False).send(make_sms(text="Код 4711 😀"))
    assert server.requests[0].json()["text"] == "Код 4711 😀" and "log" not in server.requests[0].json()


@pytest.mark.parametrize(
    ("settings", "sender", "sent"),
    [
        ({}, "", {"src": "14155551234"}),
        ({}, "+4930123456", {"src": "4930123456"}),
        ({}, "Laden", {"src": "Laden"}),
        ({"powerpack_uuid": POWERPACK}, "", {"powerpack_uuid": POWERPACK}),
        ({"powerpack_uuid": POWERPACK}, "Laden", {"src": "Laden"}),
    ],
)
def test_a_country_s_sender_comes_first_then_the_powerpack(build, server, settings, sender, sent):
    server.script(fake.answer(202, ACCEPTED))
    build(**settings).send(make_sms(sender=sender))
    body = server.requests[0].json()
    assert {name: body[name] for name in ("src", "powerpack_uuid") if name in body} == sent


@pytest.mark.parametrize(("seconds", "expiry"), [(-5, 5), (5, 5), (179, 179), (20_000, 10_800)])
def test_the_expiry_keeps_its_bounds(build, server, seconds, expiry):
    server.script(fake.answer(202, ACCEPTED))
    build().send(make_sms(expires_in=seconds))
    assert server.requests[0].json()["message_expiry"] == expiry


def test_india_s_ids_go_along(build, server):
    server.script(fake.answer(202, ACCEPTED))
    build().send(make_sms(dlt_entity_id="11", dlt_template_id="22"))
    body = server.requests[0].json()
    assert (body["dlt_entity_id"], body["dlt_template_id"]) == ("11", "22")


@pytest.mark.parametrize("hook_url", [None, "http://10.1.1.1/hooks/1/2", "https://10.0.0.5/hooks/1/2"])
def test_without_a_way_to_report_acceptance_is_the_end(build, server, hook_url):
    server.script(fake.answer(202, ACCEPTED))
    assert build().send(make_sms(hook_url=hook_url)).is_delivered
    assert "url" not in server.requests[0].json()


def test_an_empty_text_is_not_applicable(build, server):
    assert error_of(build(), make_sms(text="")).outcome is Outcome.NOT_APPLICABLE
    assert server.requests == []


# The answer


@pytest.mark.parametrize(
    ("http_status", "sentence", "outcome"),
    [
        (400, "dst parameter 4915112345678 is invalid", Outcome.REFUSED),
        (400, "destination country is not supported", Outcome.DECLINED),
        (400, "src parameter is not valid for dst", Outcome.MISCONFIGURED),
        (400, "powerpack_uuid not found", Outcome.MISCONFIGURED),
        (400, "url is not valid", Outcome.MISCONFIGURED),
        (400, "dlt_entity_id is not valid", Outcome.MISCONFIGURED),
        (400, "Insufficient Credit", Outcome.OUT_OF_FUNDS),
        (403, "insufficient balance", Outcome.OUT_OF_FUNDS),
        (402, "", Outcome.OUT_OF_FUNDS),
        (400, "something new", Outcome.DECLINED),
        (401, "authentication failed for dst", Outcome.MISCONFIGURED),
        (404, "not found", Outcome.DECLINED),
        (405, "method not allowed", Outcome.MISCONFIGURED),
        (429, "too many requests for src", Outcome.RATE_LIMITED),
        (500, "internal error at dst", Outcome.TEMPORARY),
        (503, "", Outcome.TEMPORARY),
    ],
)
def test_it_reads_a_refusal_by_what_it_is_about(build, server, http_status, sentence, outcome):
    headers = {"Retry-After": "3"} if http_status == 429 else None
    server.script(fake.answer(http_status, {"api_id": "x", "error": sentence}, headers))
    error = error_of(build())
    assert (error.outcome, error.provider_status) == (outcome, str(http_status))
    assert error.retry_after == (3 if http_status == 429 else None)


def test_of_several_ids_none_is_kept(build, server):
    server.script(fake.answer(202, {**ACCEPTED, "message_uuid": [UUID, UUID[::-1]]}))
    result = build().send(make_sms())
    assert (result.outcome, result.provider_message_id) == (Outcome.ACCEPTED, None)


@pytest.mark.parametrize("ids", [None, UUID, [], [""], [5], [None], ["9" * 201], {}])
def test_an_answer_without_an_id_is_unclear(build, server, ids):
    server.script(fake.answer(202, {**ACCEPTED, "message_uuid": ids}))
    assert error_of(build()).outcome is Outcome.UNCLEAR


# Check


@pytest.mark.parametrize(
    ("answered", "is_ok", "balance"),
    [
        ({"account_type": "standard", "cash_credits": "84.15240"}, True, "84.15240 credits"),
        ({"cash_credits": "0.00000"}, False, "0.00000 credits"),
        ({"cash_credits": None}, False, None),
        ([], False, None),
    ],
)
def test_check_tells_the_balance(build, server, answered, is_ok, balance):
    server.script(fake.answer(200, answered))
    health = build().check()
    [request] = server.requests
    assert (request.method, request.target) == ("GET", "/v1/Account/MA1234567890ABCDEFGH/")
    assert (health.is_ok, health.balance) == (is_ok, balance)


def test_check_tells_of_wrong_credentials(build, server):
    server.script(fake.answer(401, b"Could not verify your access level for that URL."))
    with pytest.raises(ProviderError) as caught:
        build().check()
    assert caught.value.outcome is Outcome.MISCONFIGURED


# Verifying receipts

VECTOR_URL = "https://example.com/hooks/plivo"
VECTOR_FIELDS = {"MessageUUID": "u1", "Status": "delivered"}
V3, V2 = "RxLkhbvm8A2UONN1L34uhIHUyKQeZlggO0a36dOzMVE=", "GVgA7JF/VahFi3ckVH8srRY/4dIf+sk3O+l7zS7XxUc="


def vector3(signature=V3, fields=VECTOR_FIELDS, *, nonce="nonce1", url=VECTOR_URL, query="x=1", **headers):
    named = {"x_plivo_signature_v3": signature, "x_plivo_signature_v3_nonce": nonce, **headers}
    return call(fields, url=url, query=query, **named)


def vector2(signature=V2, fields=VECTOR_FIELDS, *, nonce="nonce1", url=VECTOR_URL, query="x=1"):
    return call(fields, url=url, query=query, x_plivo_signature_v2=signature, x_plivo_signature_v2_nonce=nonce)


@pytest.mark.parametrize(
    "request_",
    [
        vector3(),
        vector3(f"{V2},{V3}"),
        vector3(f"{V3}, {V2}"),
        vector3(x_plivo_signature_v2="wrong"),
        vector2(),
        vector2(query="other=1"),
    ],
)
def test_it_accepts_the_known_signatures(build, request_):
    [found] = receipts_of(build(), request_)
    assert (found.status, found.provider_message_id) == (ReceiptStatus.SUCCESS, "u1")


@pytest.mark.parametrize("query", ["", "id=42", "b=2&a=1&a=0", "id="])
def test_query_and_repeated_fields_are_sorted(build, query):
    body = [*receipt().items(), ("Units", "0"), ("Ü", "é +&=")]
    sorted_query = {"b=2&a=1&a=0": "a=0&a=1&b=2."}.get(query, query and f"{query}.")
    text = f"{HOOK_URL}?{sorted_query}" + "".join(name + value for name, value in sorted(body))
    request = call(
        urlencode(body).encode(),
        kind=f"{FORM}; charset=UTF-8",
        query=query,
        x_plivo_signature_v3=sign(f"{text}.n1"),
        x_plivo_signature_v3_nonce="n1",
    )
    build().verify_hook(request)


@pytest.mark.parametrize(
    "request_",
    [
        vector3(V3[:-2] + "A="),
        vector3(""),
        vector3(","),
        vector3("é"),
        vector3(V2),
        vector3("wrong", x_plivo_signature_v2=V2, x_plivo_signature_v2_nonce="nonce1"),
        vector3(nonce="nonce2"),
        vector3(nonce="\udcff"),
        vector3(query="x=2"),
        vector3(query=""),
        vector3(url="https://evil.example/hooks/plivo"),
        vector3(fields={**VECTOR_FIELDS, "Status": "failed"}),
        vector3(fields={**VECTOR_FIELDS, "New": "1"}),
        vector3(fields=json.dumps(VECTOR_FIELDS).encode()),
        vector3(fields=b"\xff=1", kind=FORM),
        vector2(V3),
        vector2(""),
        vector2(nonce="nonce2"),
        vector2(url="https://example.com/hooks/other"),
        call(VECTOR_FIELDS),
        HookRequest("GET", VECTOR_URL, "x=1", vector2().headers, b""),
    ],
)
def test_it_refuses_a_forged_receipt(build, request_):
    with pytest.raises(HookForged):
        build().verify_hook(request_)


def test_an_empty_form_is_signed_by_its_address_alone(build):
    headers = {"x_plivo_signature_v3": sign(f"{HOOK_URL}?id=42.n1"), "x_plivo_signature_v3_nonce": "n1"}
    request = call({}, query="id=42", **headers)
    build().verify_hook(request)
    with pytest.raises(HookUnreadable):
        build().parse_hook(request)


# Reading receipts


@pytest.mark.parametrize(
    ("word", "ours"),
    [
        ("sent", ReceiptStatus.SENT),
        ("delivered", ReceiptStatus.SUCCESS),
        ("read", ReceiptStatus.SUCCESS),
        ("failed", ReceiptStatus.FAILED),
        ("undelivered", ReceiptStatus.FAILED),
        ("rejected", ReceiptStatus.FAILED),
    ],
)
@pytest.mark.parametrize("signed", [v3, v2])
def test_it_reads_a_status(build, signed, word, ours):
    [found] = receipts_of(build(), signed(receipt(word)))
    assert (found.status, found.provider_message_id, found.message_id) == (ours, UUID, 42)
    assert found.provider_status == word and bool(found.error) == (ours is ReceiptStatus.FAILED)


@pytest.mark.parametrize("word", ["queued", "", "new"])
def test_it_passes_over_what_changes_nothing(build, word):
    assert receipts_of(build(), v3(receipt(word))) == ()


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("10", "message is not valid"),
        ("20", "network"),
        ("30", "spam"),
        ("40", "sender's number"),
        ("50", "recipient's number"),
        ("60", "loop"),
        ("70", "any more"),
        ("80", "handset"),
        ("90", "no route"),
        ("100", "carrier does not allow it"),
        ("110", "too long"),
        ("200", "opted out"),
        ("201", "cannot send"),
        ("300", "passed on"),
        ("420", "in time"),
        ("450", "country"),
        ("900", "balance"),
        ("910", "disabled"),
        ("1000", "reason is unknown"),
        ("77", "not delivered (error 77)"),
        ("<b>", "not delivered (undelivered)"),
    ],
)
def test_it_tells_why_a_message_failed(build, code, words):
    [found] = receipts_of(build(), v3(receipt("undelivered", ErrorCode=code)))
    assert words in found.error and found.is_opted_out is (code == "200")


def test_a_delivered_message_suppresses_nobody(build):
    [found] = receipts_of(build(), v3(receipt("delivered", ErrorCode="200")))
    assert not found.is_opted_out and not found.error


@pytest.mark.parametrize("query", ["", "id=", "id=x", "id=" + "9" * 19, "other=42"])
def test_an_id_that_is_not_ours_is_left_out(build, query):
    [found] = receipts_of(build(), v3(receipt(), query=query))
    assert (found.message_id, found.provider_message_id) == (None, UUID)


@pytest.mark.parametrize(
    "fields", [{"Status": "sent"}, {"MessageUUID": "", "Status": "sent"}, {"MessageUUID": "9" * 201}]
)
def test_it_does_not_read_a_receipt_that_names_no_message(build, fields):
    with pytest.raises(HookUnreadable):
        build().parse_hook(v3(fields))


# Prices


def test_a_receipt_tells_the_amount(build):
    [receipt_] = receipts_of(build(), v3(receipt(TotalAmount="0.0070")))
    assert receipt_.price == MessagePrice(Decimal("0.007"), "USD")
