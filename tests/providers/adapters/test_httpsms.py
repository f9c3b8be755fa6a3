from __future__ import annotations

import json
import time

from providers.base import Outcome, ReceiptStatus
from providers.errors import HookUnreadable
from tests.fakes.hooks import JSON, call
from tests.fakes.http_server import answer
from tests.fakes.messages import HOOK_URL
from tests.fakes.tokens import make_token
from tests.providers.vendors import NO_WAY_TO_REPORT, Vendor, each, reasons, statuses

KEY = "DGW8NwQp7mxKaSZ72Xq9v67SLqSbWQvckzzmK8D6rvd7NywSEkdMJtuxKyEkYnCY"
ID = "32343a19-da5e-4b1b-a767-3298a73703cb"
PENDING = {"id": ID, "owner": "+18005550199", "contact": "+4915112345678", "status": "pending", "request_id": "42"}


def accepted(data):
    return answer(200, {"status": "success", "message": "message added to queue", "data": data})


def refused(status, fields=None):
    return answer(status, {"status": "error", "message": "validation errors", "data": fields})


def phones(*numbers):
    told = [{"phone_number": number} for number in numbers]
    return answer(200, {"status": "success", "message": "fetched", "data": told})


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


def signed(content, *, key=KEY, query="", scheme="Bearer", ago=0, **changes):
    body = content if isinstance(content, bytes) else json.dumps(content).encode()
    now = int(time.time()) - ago
    times = {"iat": now, "nbf": now - 600, "exp": now + 600}
    claims = {"iss": "api.httpsms.com", "sub": "XtABz6", "aud": [HOOK_URL], **times, **changes}
    return call(body, query=query, authorization=f"{scheme} {make_token(claims, key)}")


VENDOR = Vendor(
    type="httpsms",
    settings={"api_key": "uk_abc", "sender": "+18005550199", "signing_key": KEY},
    secrets="api_key signing_key",
    defaults={"base_url": "https://api.httpsms.com"},
    wrong={"api_key": ["", "a b"], "sender": ["", "18005550199"], "base_url": ["http://api.httpsms.com"]},
    taken=accepted(PENDING),
    sends=[
        (
            {},
            {},
            {
                "method": "POST",
                "target": "/v1/messages/send",
                "header x-api-key": "uk_abc",
                "header content-type": JSON,
                "body": b'{"from":"+18005550199","to":"+4915112345678","content":"Your code is 4711",'
                b'"request_id":"42"}',
                "provider_message_id": ID,
                "provider_status": "200",
                "is_delivered": False,
            },
        ),
        (
            {},
            {"text": "Код 4711 😀", "sender": "Laden"},  # the phone is the sender, whatever a country asks for
            {"from": "+18005550199", "content": "Код 4711 😀"},
        ),
        ({"signing_key": ""}, {}, {"is_delivered": True}),
        *[({}, {"hook_url": url}, {"is_delivered": True}) for url in NO_WAY_TO_REPORT],
    ],
    not_applicable=[({"text": text},) for text in ("", " ", "x" * 2_049)],
    refusals=[
        (refused(422, {"from": ["no phone found with [+18005550199]"]}), Outcome.MISCONFIGURED, "422 from"),
        (refused(422, {"to": ["must contain only digits: +4915112345678"]}), Outcome.REFUSED, "422 to"),
        (refused(422, {"content": ["The content field is required"]}), Outcome.MISCONFIGURED, "422 content"),
        (refused(422, {"to": ["x"], "from": ["x"]}), Outcome.MISCONFIGURED, "422 from"),
        (refused(422, {"new": ["x"]}), Outcome.DECLINED, "422"),
        (refused(422, "a sentence"), Outcome.DECLINED, "422"),
        (refused(400, {}), Outcome.DECLINED, "400"),
        (refused(401, "Make sure your API key is set"), Outcome.MISCONFIGURED, "401"),
        (refused(402), Outcome.OUT_OF_FUNDS, "402"),
        (refused(429), Outcome.RATE_LIMITED, "429"),
        (refused(500), Outcome.TEMPORARY, "500"),
        *[(accepted(data), Outcome.UNCLEAR) for data in (None, [], {}, {"id": None}, {"id": 5}, {"id": "9" * 201})],
    ],
    check_request="GET /v1/phones?limit=20&query=18005550199",
    checks=[
        (phones("+18005550198", "+18005550199"), True),
        (phones("+180055501990"), False),
        (phones(), False),
        (accepted(None), False),
        (answer(401, {"status": "error"}), Outcome.MISCONFIGURED),
    ],
    sign=signed,
    genuine=[
        (lambda: signed(event()),),
        (lambda: signed(event(), aud=HOOK_URL),),
        (lambda: signed(event(), query="x=1", aud=["https://other.example", f"{HOOK_URL}?x=1"]),),
    ],
    forged=[
        (lambda: signed(event(), key="other"),),
        (lambda: signed(event(), aud=["https://other.example/hooks/1/2"]),),
        (lambda: signed(event(), aud=None),),
        (lambda: signed(event(), query="x=1"),),
        (lambda: signed(event(), iss="another"),),
        (lambda: signed(event(), ago=1200),),
        (lambda: signed(event(), scheme="Basic"),),
        (call(json.dumps(event()).encode()),),
        (lambda: signed(event(), key=""), {"signing_key": ""}),
    ],
    reports=[
        *statuses(
            {
                ReceiptStatus.SENT: "message.phone.sent",
                ReceiptStatus.SUCCESS: "message.phone.delivered",
                ReceiptStatus.FAILED: "message.send.failed",
                ReceiptStatus.EXPIRED: "message.send.expired",
            },
            event,
            provider_message_id=ID,
            message_id=42,
        ),
        *reasons(
            {
                "GENERIC_FAILURE": "credit and signal (GENERIC_FAILURE)",
                "NO_SERVICE": "no network",
                "RADIO_OFF": "radio is off",
                "LIMIT_EXCEEDED": "too many messages",
                "UNKNOWN:17": "not delivered (message.send.failed)",
                "about +4915112345678": "not delivered (message.send.failed)",
            },
            lambda reason: event("message.send.failed", error_message=reason),
        ),
        (event("message.send.expired", is_final=False), ()),  # the phone is asked again
        (event("message.send.expired", is_final=True), {"status": ReceiptStatus.EXPIRED}),
        *[(event(word), ()) for word in ("message.phone.received", "phone.heartbeat.offline", "", None)],
        *[
            (event(request_id=other), {"message_id": None, "provider_message_id": ID})
            for other in (None, 42, "", "x", "9" * 19)
        ],
        *each([b"no", b"[]", {"type": "message.phone.sent"}, event(id=None), event(id="9" * 201)], HookUnreadable),
    ],
)
