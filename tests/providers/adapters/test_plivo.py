from __future__ import annotations

import base64
import hmac
import json
from decimal import Decimal
from urllib.parse import urlencode

import pytest

from providers.base import HookRequest, MessagePrice, Outcome, ReceiptStatus
from providers.errors import HookUnreadable
from tests.fakes.hooks import FORM, JSON, call
from tests.fakes.http_server import answer
from tests.fakes.messages import HOOK_URL
from tests.providers.vendors import Vendor, each, reasons, statuses

TOKEN = "tok"
UUID = "db3ce55a-7f1d-11e1-8ea7-1231380bc196"
POWERPACK = "5ec4c8c9-cd74-42b5-9e41-0d7670d6bb46"
ACCOUNT_PATH = "/v1/Account/MA1234567890ABCDEFGH/"


def accepted(ids):
    told = {"api_id": "db342550-7f1d-11e1-8ea7-1231380bc196", "message": "message(s) queued", "message_uuid": ids}
    return answer(202, told)


def refused(status, sentence, **headers):
    return answer(status, {"api_id": "x", "error": sentence}, headers)


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


VECTOR_URL = "https://example.com/hooks/plivo"
VECTOR = {"MessageUUID": "u1", "Status": "delivered"}
V3, V2 = "RxLkhbvm8A2UONN1L34uhIHUyKQeZlggO0a36dOzMVE=", "GVgA7JF/VahFi3ckVH8srRY/4dIf+sk3O+l7zS7XxUc="
GENUINE = {"status": ReceiptStatus.SUCCESS, "provider_message_id": "u1"}


def vector3(signature=V3, fields=VECTOR, *, nonce="nonce1", url=VECTOR_URL, query="x=1", **headers):
    named = {"x_plivo_signature_v3": signature, "x_plivo_signature_v3_nonce": nonce, **headers}
    return call(fields, url=url, query=query, **named)


def vector2(signature=V2, fields=VECTOR, *, nonce="nonce1", url=VECTOR_URL, query="x=1"):
    return call(fields, url=url, query=query, x_plivo_signature_v2=signature, x_plivo_signature_v2_nonce=nonce)


STATUSES = {
    ReceiptStatus.SENT: "sent",
    ReceiptStatus.SUCCESS: "delivered read",
    ReceiptStatus.FAILED: "failed undelivered rejected",
}
EMPTY = call({}, query="id=42", x_plivo_signature_v3=sign(f"{HOOK_URL}?id=42.n1"), x_plivo_signature_v3_nonce="n1")

VENDOR = Vendor(
    type="plivo",
    settings={"auth_id": "MA1234567890ABCDEFGH", "auth_token": TOKEN, "sender": "14155551234"},
    secrets="auth_token",
    defaults={"base_url": "https://api.plivo.com", "hides_text": True},
    wrong={
        "auth_id": ["", "MA/../x"],
        "auth_token": [""],
        "sender": [""],
        "base_url": ["http://api.plivo.com"],
    },
    taken=accepted([UUID]),
    sends=[
        (
            {},
            {},
            {
                "method": "POST",
                "target": f"{ACCOUNT_PATH}Message/",
                "header authorization": "Basic TUExMjM0NTY3ODkwQUJDREVGR0g6dG9r",
                "header content-type": JSON,
                "body": b'{"src":"14155551234","dst":"4915112345678","text":"Your code is 4711","type":"sms",'
                b'"message_expiry":180,"url":"https://codes.example/hooks/1/2?id=42","method":"POST","log":"false"}',
                "provider_message_id": UUID,
                "provider_status": "202",
                "is_delivered": False,
            },
        ),
        ({"hides_text": False}, {"text": "Код 4711 😀"}, {"text": "Код 4711 😀", "log": None}),
        ({}, {"sender": "+4930123456"}, {"src": "4930123456", "powerpack_uuid": None}),
        ({}, {"sender": "Laden"}, {"src": "Laden", "powerpack_uuid": None}),
        ({"powerpack_uuid": POWERPACK}, {}, {"src": None, "powerpack_uuid": POWERPACK}),
        ({"sender": "", "powerpack_uuid": POWERPACK}, {}, {"src": None, "powerpack_uuid": POWERPACK}),
        ({"powerpack_uuid": POWERPACK}, {"sender": "Laden"}, {"src": "Laden", "powerpack_uuid": None}),
        *[
            ({}, {"expires_in": seconds}, {"message_expiry": expiry})
            for seconds, expiry in [(-5, 5), (5, 5), (179, 179), (20_000, 10_800)]
        ],
        (
            {},
            {"dlt_entity_id": "11", "dlt_template_id": "22"},
            {"dlt_entity_id": "11", "dlt_template_id": "22"},
        ),
        *[
            ({}, {"hook_url": url}, {"is_delivered": True, "url": None})
            for url in (None, "http://10.1.1.1/hooks/1/2", "https://10.0.0.5/hooks/1/2")
        ],
        ({}, {}, {"provider_message_id": None}, accepted([UUID, UUID[::-1]])),  # of several ids none is kept
    ],
    not_applicable=[({"text": ""},)],
    refusals=[
        (refused(400, "dst parameter 4915112345678 is invalid"), Outcome.REFUSED, "400", {"retry_after": None}),
        (refused(400, "destination country is not supported"), Outcome.DECLINED, "400"),
        (refused(400, "src parameter is not valid for dst"), Outcome.MISCONFIGURED, "400"),
        (refused(400, "powerpack_uuid not found"), Outcome.MISCONFIGURED, "400"),
        (refused(400, "url is not valid"), Outcome.MISCONFIGURED, "400"),
        (refused(400, "dlt_entity_id is not valid"), Outcome.MISCONFIGURED, "400"),
        (refused(400, "Insufficient Credit"), Outcome.OUT_OF_FUNDS, "400"),
        (refused(403, "insufficient balance"), Outcome.OUT_OF_FUNDS, "403"),
        (refused(402, ""), Outcome.OUT_OF_FUNDS, "402"),
        (refused(400, "something new"), Outcome.DECLINED, "400"),
        (refused(401, "authentication failed for dst"), Outcome.MISCONFIGURED, "401"),
        (refused(404, "not found"), Outcome.DECLINED, "404"),
        (refused(405, "method not allowed"), Outcome.MISCONFIGURED, "405"),
        (
            refused(429, "too many requests for src", **{"Retry-After": "3"}),
            Outcome.RATE_LIMITED,
            "429",
            {"retry_after": 3},
        ),
        (refused(500, "internal error at dst"), Outcome.TEMPORARY, "500"),
        (refused(503, ""), Outcome.TEMPORARY, "503"),
        *[(accepted(ids), Outcome.UNCLEAR) for ids in (None, UUID, [], [""], [5], [None], ["9" * 201], {})],
    ],
    check_request=f"GET {ACCOUNT_PATH}",
    checks=[
        (answer(200, {"account_type": "standard", "cash_credits": "84.15240"}), True, "", "84.15240 credits"),
        (answer(200, {"cash_credits": "0.00000"}), False, "", "0.00000 credits"),
        (answer(200, {"cash_credits": None}), False),
        (answer(200, []), False),
        (answer(401, b"Could not verify your access level for that URL."), Outcome.MISCONFIGURED),
    ],
    sign=v3,
    genuine=each([vector2(query="other=1"), EMPTY]),
    forged=each(
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
            vector3(fields={**VECTOR, "Status": "failed"}),
            vector3(fields={**VECTOR, "New": "1"}),
            vector3(fields=json.dumps(VECTOR).encode()),
            vector3(fields=b"\xff=1", kind=FORM),
            vector2(V3),
            vector2(""),
            vector2(nonce="nonce2"),
            vector2(url="https://example.com/hooks/other"),
            call(VECTOR),
            HookRequest("GET", VECTOR_URL, "x=1", vector2().headers, b""),
        ]
    ),
    reports=[
        *each([vector3(), vector3(f"{V2},{V3}"), vector3(f"{V3}, {V2}"), vector2()], GENUINE),
        (vector3(x_plivo_signature_v2="wrong"), GENUINE),
        *statuses(STATUSES, receipt, provider_message_id=UUID, message_id=42),
        *statuses(STATUSES, lambda word: v2(receipt(word)), provider_message_id=UUID, message_id=42),
        *each([receipt("queued"), receipt(""), receipt("new")], ()),
        *reasons(
            "10 message is not valid | 20 network | 30 spam | 40 sender's number | 50 recipient's number | 60 loop"
            " | 70 any more | 80 handset | 90 no route | 100 carrier does not allow it | 110 too long"
            " | 200 opted out | 201 cannot send | 300 passed on | 420 in time | 450 country | 900 balance"
            " | 910 disabled | 1000 reason is unknown | 77 not delivered (error 77)"
            " | <b> not delivered (undelivered)",
            lambda code: receipt("undelivered", ErrorCode=code),
            opted_out="200",
        ),
        (receipt("delivered", ErrorCode="200"), {"error": ""}),
        *[
            (v3(receipt(), query=query), {"message_id": None, "provider_message_id": UUID})
            for query in ("", "id=", "id=x", "id=" + "9" * 19, "other=42")
        ],
        *each([{"Status": "sent"}, {"MessageUUID": "", "Status": "sent"}, {"MessageUUID": "9" * 201}], HookUnreadable),
        (EMPTY, HookUnreadable),
        (receipt(TotalAmount="0.0070"), {"price": MessagePrice(Decimal("0.007"), "USD")}),
    ],
)


@pytest.mark.parametrize("query", ["", "id=42", "b=2&a=1&a=0", "id="])
def test_query_and_repeated_fields_are_sorted(server, query):
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
    VENDOR.build(server).verify_hook(request)
