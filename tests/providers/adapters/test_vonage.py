from __future__ import annotations

import hmac
import json
import time
from decimal import Decimal
from urllib.parse import urlencode

import pytest

from providers.base import HookRequest, MessagePrice, Outcome, ReceiptStatus
from providers.errors import HookForged, HookUnreadable
from tests.fakes import http_server as fake
from tests.fakes.hooks import FORM, call
from tests.fakes.messages import HOOK_URL
from tests.providers.vendors import Vendor, each, reasons, statuses

SECRET = "sigsecret"
SIGNED = {"signature_secret": SECRET}
LOGIN = "Basic YWJjZDEyMzQ6aHVzaC1odXNo"
LONG_HOOK_URL = "https://codes.example/" + "x" * 79
ID = "0A0000000123ABCD1"
PART = {
    "to": "4915112345678",
    "message-id": ID,
    "status": "0",
    "remaining-balance": "3.14159265",
    "message-price": "0.03330000",
    "network": "26201",
    "client-ref": "42",
}
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


def answer(*parts, status=200, **headers):
    return fake.answer(status, {"message-count": str(len(parts)), "messages": list(parts)}, headers)


def refusal(status):
    return {"status": str(status), "error-text": "about 4915112345678"}


def receipt(status="delivered", **changes):
    return {
        "msisdn": "4915112345678",
        "to": "Shop",
        "network-code": "26201",
        "messageId": ID,
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


def upper():
    fields = signed(receipt())
    return call({**fields, "sig": fields["sig"].upper()})


REFUSALS = {
    Outcome.RATE_LIMITED: "1 10",
    Outcome.MISCONFIGURED: "2 12 23 32 4 14 8 11",
    Outcome.TEMPORARY: "5",
    Outcome.OPTED_OUT: "7",
    Outcome.REFUSED: "33",
    Outcome.DECLINED: "6 22 3 15 29 34 999",
    Outcome.OUT_OF_FUNDS: "9",
}
REASONS = (
    "1 reason is unknown | 2 handset | 4 barred | 5 carrier | 6 spam | 7 busy | 8 network | 9 has opted out"
    " | 10 not valid | 11 no route | 12 cannot be reached | 13 age | 14 blocks | 15 prepaid | 50 entity | 51 header"
    " | 52 template | 53 consented | 54 regulation | 99 general | 77 not delivered (error 77)"
    " | <b> not delivered (failed)"
)

VENDOR = Vendor(
    type="vonage",
    settings={"api_key": "abcd1234", "api_secret": "hush-hush", "sender": "Shop"},
    secrets="api_secret signature_secret",
    defaults={"base_url": "https://rest.nexmo.com"},
    wrong={
        "api_key": ["", "a:b"],
        "api_secret": [""],
        "sender": [""],
        "signature_method": ["md5hash"],
        "base_url": ["http://rest.nexmo.com"],
    },
    taken=answer(PART),
    sends=[
        (
            {},
            {},
            {
                "method": "POST",
                "target": "/sms/json",
                "header authorization": LOGIN,
                "header content-type": FORM,
                "body": b"from=Shop&to=4915112345678&text=Your+code+is+4711&type=text&ttl=180000&client-ref=42"
                b"&callback=https%3A%2F%2Fcodes.example%2Fhooks%2F1%2F2",
                "provider_message_id": ID,
                "provider_status": "0",
            },
        ),
        *[
            ({}, {"text": text}, {"type": kind, "text": text})
            for text, kind in [
                ("Code 4711 à 1€", "text"),
                ("Код 4711", "unicode"),
                ("`4711`", "unicode"),
                ("😀 4711", "unicode"),
            ]
        ],
        *[
            ({}, {"expires_in": seconds}, {"ttl": ttl})
            for seconds, ttl in [(-5, "20000"), (20, "20000"), (21, "21000"), (700_000, "604800000")]
        ],
        ({}, {"sender": "Laden"}, {"from": "Laden"}),
        ({}, {"sender": "+4930123456"}, {"from": "4930123456"}),
        (
            {},
            {"dlt_entity_id": "110011", "dlt_template_id": "220022"},
            {"entity-id": "110011", "content-id": "220022"},
        ),
        *[
            (
                {"has_account_webhook": in_account},
                {"hook_url": url},
                {
                    "callback": callback,
                    "is_delivered": is_delivered,
                    "status-report-req": "false" if is_delivered else None,
                },
            )
            for url, in_account, callback, is_delivered in [
                (HOOK_URL, False, HOOK_URL, False),
                (LONG_HOOK_URL[:100], False, LONG_HOOK_URL[:100], False),
                (LONG_HOOK_URL, False, None, True),
                (LONG_HOOK_URL, True, None, False),
                ("https://10.0.0.5/hooks/1/2", True, None, True),
                (None, True, None, True),
            ]
        ],
        (
            {},
            {},
            {"provider_message_id": None, "price": MessagePrice(Decimal("0.0433"), "EUR")},  # our id tells parts apart
            answer(PART, {**PART, "message-id": "0A0000000123ABCD2", "message-price": "0.01"}),
        ),
        ({}, {}, {"price": None}, answer(PART, {**PART, "message-price": None})),
    ],
    not_applicable=[({"text": ""},)],
    refusals=[
        *[
            (answer(refusal(code), status=status), outcome, code, {"is_suppressed": outcome is Outcome.REFUSED})
            for status in (200, 400)
            for outcome, codes in REFUSALS.items()
            for code in codes.split()
        ],
        (answer(refusal(1), **{"Retry-After": "3"}), Outcome.RATE_LIMITED, "1", {"retry_after": 3}),
        (answer(PART, refusal(9)), Outcome.UNCLEAR, "9"),  # taken in part: it may have been sent
        (answer(refusal(9), refusal(9)), Outcome.OUT_OF_FUNDS),
        (answer(), Outcome.UNCLEAR),
        *[
            (answer(part), Outcome.UNCLEAR)
            for part in [
                "x",
                {},
                {"status": None},
                {"status": "ok"},
                {"status": "0"},
                {"status": "0", "message-id": ""},
                {"status": "0", "message-id": 5},
                {"status": "0", "message-id": "9" * 201},
                {"status": True, "message-id": "1"},
            ]
        ],
    ],
    check_request="GET /account/get-balance",
    checks=[
        (fake.answer(200, {"value": 10.28, "autoReload": False}), True, "", "10.28 EUR"),
        (fake.answer(200, {"value": "0.00"}), False, "", "0.00 EUR"),
        (fake.answer(200, {"value": None}), False),
        (fake.answer(200, []), False),
        (fake.answer(401, {"error-code": "401"}), Outcome.MISCONFIGURED),
    ],
    sign=call,
    genuine=[
        *[
            (request, SIGNED, VECTOR_TIME + seconds)
            for request in (VECTOR, by_get(VECTOR), json.dumps(VECTOR).encode())
            for seconds in (-300, 0, 300)
        ],
        (upper, SIGNED),
        (receipt(),),  # where signing is off, the address is the secret
    ],
    forged=[
        *[(VECTOR, SIGNED, VECTOR_TIME + seconds) for seconds in (-301, 301, 10**9)],
        *[
            (request, SIGNED, VECTOR_TIME)
            for request in [
                {**VECTOR, "sig": ""},
                {**VECTOR, "sig": VECTOR["sig"][:-1] + "1"},
                {**VECTOR, "sig": "ü"},
                {**VECTOR, "status": "failed"},
                {**VECTOR, "new": "1"},
                {name: value for name, value in VECTOR.items() if name != "nonce"},
                call(urlencode([*VECTOR.items(), ("status", "failed")]).encode(), kind=FORM),
                call(b"\xff\xfe", kind=FORM),
                call(b"&".join([b"a=b"] * 300), kind=FORM),
                b"[" * 60_000,
                b"[]",
                json.dumps({**VECTOR, "sig": ["x"]}).encode(),
                rb'{"sig":"\ud800","messageId":"\ud800"}',
                by_get({}),
            ]
        ],
        *[(signed(receipt(timestamp=timestamp)), SIGNED) for timestamp in ("", "soon", "-5", "2026-11-21 12:00:00")],
    ],
    takes_get=True,
    reports=[
        *[
            (made, {"status": ReceiptStatus.SUCCESS, "provider_message_id": "0A0000001234567B"})
            for made in (VECTOR, by_get(VECTOR), json.dumps(VECTOR).encode())
        ],
        *statuses(
            {
                ReceiptStatus.SENT: "accepted buffered",
                ReceiptStatus.SUCCESS: "delivered",
                ReceiptStatus.EXPIRED: "expired",
                ReceiptStatus.FAILED: "failed rejected",
            },
            receipt,
            provider_message_id=ID,
            message_id=42,
        ),
        *each([receipt("unknown"), receipt(""), receipt("new")], ()),
        *reasons(REASONS, lambda code: receipt("failed", **{"err-code": code}), opted_out="4 9 14"),
        *reasons("3 no longer in use", lambda code: receipt("failed", **{"err-code": code}), is_suppressed=True),
        (receipt("delivered", **{"err-code": "9"}), {"error": ""}),
        *[
            (receipt(**{"client-ref": other}), {"message_id": None, "provider_message_id": ID})
            for other in ("", "x", "msg-42", "9" * 19)
        ],
        *each([{}, {"status": "delivered"}, b'{"messageId":5}', b"nonsense"], HookUnreadable),
        (call(urlencode([("messageId", "1"), ("messageId", "2")]).encode(), kind=FORM), HookUnreadable),
    ],
)


@pytest.mark.parametrize("digest", ["md5", "sha1", "sha256", "sha512"])
def test_it_knows_the_account_s_methods(server, digest):
    request = call(signed(receipt(to="A&B=C"), digest))
    VENDOR.build(server, **SIGNED, signature_method=digest).verify_hook(request)
    other = "sha1" if digest != "sha1" else "md5"
    with pytest.raises(HookForged):
        VENDOR.build(server, **SIGNED, signature_method=other).verify_hook(request)
