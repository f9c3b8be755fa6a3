from __future__ import annotations

import base64
import json
import time
from decimal import Decimal

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from providers.base import MessagePrice, Outcome, ReceiptStatus
from providers.errors import HookUnreadable
from tests.fakes.hooks import JSON, call
from tests.fakes.http_server import answer
from tests.fakes.messages import HOOK_URL
from tests.providers.vendors import NO_WAY_TO_REPORT, Vendor, each, reasons, statuses

PRIVATE = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
PUBLIC_KEY = base64.b64encode(PRIVATE.public_key().public_bytes_raw()).decode()
ID = "40385f64-5717-4562-b3fc-2c963f66afa6"
PROFILE = "4000eba1-a0c0-4563-9925-b25e842a7cb6"
# The key of RFC 8032's first test, and a signature made with it by openssl.
RFC_KEY = "11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo="
VECTOR = "f0kvp2B0X7hYF2YqAbFqf98vvyGYUYizhRvOmebGvVV9pLF3QQJHxehtMhG1IfrSPp1xBgx1DPdrpLbSPM0zCw=="


def accepted(data):
    return answer(200, {"data": data})


def refused(status, *codes):
    errors = [{"code": code, "title": "x", "detail": "about +4915112345678"} for code in codes]
    return answer(status, {"errors": errors}, {"Retry-After": "3"})


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


def signed(content, *, at=0, key=PRIVATE, **headers):
    body = content if isinstance(content, bytes) else json.dumps(content).encode()
    timestamp = str(int(time.time()) + at)
    signature = base64.b64encode(key.sign(f"{timestamp}|".encode() + body)).decode()
    return call(body, **{"telnyx_signature_ed25519": signature, "telnyx_timestamp": timestamp, **headers})


CODES = {
    Outcome.DECLINED: "400:10001 422:10002 400:10015 422:10016 400:40309 400:40329 400:40330 400:40331",
    Outcome.MISCONFIGURED: "400:10003 422:10004 401:10009 403:10010 400:40305 400:40306 400:40312 400:40313 403:40314"
    " 400:40315 400:40321",
    Outcome.TEMPORARY: "500:10007",
    Outcome.RATE_LIMITED: "429:10011 429:40318",
    Outcome.OUT_OF_FUNDS: "403:20100 403:40333",
    Outcome.OPTED_OUT: "400:40300",
    Outcome.REFUSED: "400:40310",
}
WITHOUT_CODE = [
    (401, Outcome.MISCONFIGURED),
    (402, Outcome.OUT_OF_FUNDS),
    (429, Outcome.RATE_LIMITED),
    (503, Outcome.TEMPORARY),
]

VENDOR = Vendor(
    type="telnyx",
    settings={"api_key": "KEY0123", "public_key": PUBLIC_KEY, "sender": "+14155551234"},
    secrets="api_key",
    defaults={"base_url": "https://api.telnyx.com"},
    wrong={
        "api_key": ["", "a b"],
        "public_key": ["", "%%%", "c2hvcnQ="],
        "sender": [""],
        "base_url": ["http://api.telnyx.com"],
    },
    taken=accepted({"record_type": "message", "id": ID, "to": [{"phone_number": "+49", "status": "queued"}]}),
    sends=[
        (
            {},
            {},
            {
                "method": "POST",
                "target": "/v2/messages",
                "header authorization": "Bearer KEY0123",
                "header content-type": JSON,
                "body": b'{"from":"+14155551234","to":"+4915112345678","text":"Your code is 4711","type":"SMS",'
                b'"use_profile_webhooks":false,"webhook_url":"https://codes.example/hooks/1/2"}',
                "provider_message_id": ID,
                "provider_status": "200",
                "is_delivered": False,
                "messaging_profile_id": None,
            },
        ),
        ({"sender": "14155551234"}, {}, {"from": "+14155551234"}),
        ({"sender": "12345"}, {}, {"from": "12345"}),
        ({}, {"sender": "Laden"}, {"from": "Laden", "messaging_profile_id": None}),
        (
            {"messaging_profile_id": PROFILE},
            {"sender": "Laden"},
            {"from": "Laden", "messaging_profile_id": PROFILE},
        ),
        ({"sender": "", "messaging_profile_id": PROFILE}, {}, {"from": None, "messaging_profile_id": PROFILE}),
        *[
            (
                {},
                {"hook_url": url, "text": "Код 4711 😀"},
                {"is_delivered": True, "webhook_url": None, "text": "Код 4711 😀"},
            )
            for url in NO_WAY_TO_REPORT
        ],
    ],
    not_applicable=[({"text": ""},)],
    refusals=[
        *[
            (
                refused(int(pair[:3]), pair[4:]),
                outcome,
                pair[4:],
                {"retry_after": 3} if outcome is Outcome.RATE_LIMITED else {},
            )
            for outcome, pairs in CODES.items()
            for pair in pairs.split()
        ],
        (refused(400, 40306), Outcome.MISCONFIGURED, "40306"),
        (refused(400, "99999", "40310"), Outcome.REFUSED, "40310"),
        (refused(400, "99999"), Outcome.DECLINED, "400"),
        *[(refused(status), outcome, str(status)) for status, outcome in WITHOUT_CODE],
        *[(accepted(data), Outcome.UNCLEAR) for data in (None, [], {}, {"id": None}, {"id": 5}, {"id": "9" * 201})],
    ],
    check_request="GET /v2/balance",
    checks=[
        (accepted({"balance": "300.00", "available_credit": "400.00", "currency": "USD"}), True, "", "400.00 USD"),
        (accepted({"balance": "-5.00", "available_credit": "0.00", "currency": "USD"}), False, "", "0.00 USD"),
        (accepted({}), False),
        (accepted([]), False),
        (refused(401, "10009"), Outcome.MISCONFIGURED, "API key is not accepted"),
    ],
    sign=signed,
    genuine=[
        (
            call(b"{}", telnyx_signature_ed25519=VECTOR, telnyx_timestamp="1700000000"),
            {"public_key": RFC_KEY},
            1_700_000_000,
        )
    ],
    forged=[
        (lambda: signed(event(), key=Ed25519PrivateKey.generate()),),
        (lambda: signed(event(), at=-301),),
        (lambda: signed(event(), at=330),),
        (lambda: signed(event(), telnyx_timestamp=str(int(time.time()) + 1)),),
        (lambda: signed(event(), telnyx_signature_ed25519=""),),
        (lambda: signed(event(), telnyx_signature_ed25519="%"),),
        (lambda: signed(event(), telnyx_signature_ed25519="é"),),
        (call(json.dumps(event()).encode()),),
    ],
    reports=[
        *statuses(
            {
                ReceiptStatus.SENT: "delivery_unconfirmed",
                ReceiptStatus.SUCCESS: "delivered read",
                ReceiptStatus.FAILED: "sending_failed delivery_failed",
                ReceiptStatus.EXPIRED: "expired",
            },
            event,
            provider_message_id=ID,
        ),
        (
            event("sent", kind="message.sent"),
            {"status": ReceiptStatus.SENT, "provider_message_id": ID, "provider_status": "sent", "error": ""},
        ),
        *reasons(
            "40001 cannot receive SMS | 40002 spam | 40003 blocked for spam | 40004 rejected it | 40005 in time"
            " | 40006 cannot be reached | 40007 loop | 40008 did not accept | 40009 text | 40011 too many"
            " | 40012 recipient's number | 40013 sender's number | 40014 in time | 40015 spam | 40300 opted out"
            " | 77 not delivered (error 77) | <b> not delivered (delivery_failed)",
            lambda code: event("delivery_failed", code),
            opted_out="40300",
        ),
        (event("delivered", "40300"), {"error": ""}),
        (event(kind="message.received"), ()),
        (event("queued", kind="message.sent"), ()),
        (event("", kind=None), ()),
        *each([b"no", b"[]", {}, {"data": []}, event(id=None), event(id="9" * 201)], HookUnreadable),
        (event(), {"price": MessagePrice(Decimal("0.0051"), "USD")}),
        (event(cost={"amount": 0.0102, "currency": "USD"}), {"price": MessagePrice(Decimal("0.0102"), "USD")}),
        (event(cost=None), {"price": None}),
        (event(cost={"amount": None}), {"price": None}),
    ],
)
