from __future__ import annotations

import base64
import hashlib
import hmac
import json
import time

from providers.base import Outcome, ReceiptStatus
from providers.errors import HookUnreadable
from tests.fakes.hooks import JSON, call
from tests.fakes.http_server import answer
from tests.fakes.messages import HOOK_URL
from tests.providers.vendors import NO_WAY_TO_REPORT, Told, Vendor, each, grouped, statuses

KEY = "secureSigningKey"
WORKSPACE, CHANNEL = "a1405560-c8d3-4b1a-877d-3f449ad95352", "0b0123bb-ef2e-468f-908a-c026d51636aa"
PATH = f"/workspaces/{WORKSPACE}/channels/{CHANNEL}"
ID = "cf241cb9-0762-43d0-8b74-4f763f788c93"
# Of the body ``{}``, the digest and the signature made by openssl.
VECTOR = {
    "messagebird_signature": "pjD553qFCixFyC+8ePo2eO+Xa6D9G55gSdUodKcfd7A=",
    "messagebird_request_timestamp": "1700000000",
}


def accepted(identity=ID):
    told = {"id": identity, "channelId": CHANNEL, "status": "accepted", "direction": "outgoing", "reference": "42"}
    return answer(202, told)


def refused(status):
    return answer(int(status), {"code": "InvalidPayload", "message": "about +4915112345678", "id": ID})


def event(status="delivered", *, kind="sms.outbound", **payload):
    return {
        "service": "channels",
        "event": kind,
        "payload": {
            "id": ID,
            "channelId": CHANNEL,
            "receiver": {"contacts": [{"identifierKey": "phonenumber", "identifierValue": "+4915112345678"}]},
            "reference": "42",
            "status": status,
            "reason": "",
            "direction": "outgoing",
            **payload,
        },
    }


def signed(content, *, at=0, key=KEY, url=HOOK_URL, query="", **headers):
    """Written on its own, after Bird's example in PHP."""
    body = content if isinstance(content, bytes) else json.dumps(content).encode()
    timestamp = str(int(time.time()) + at)
    text = f"{timestamp}\n{url}\n".encode() + hashlib.sha256(body).digest()
    signature = base64.b64encode(hmac.new(key.encode(), text, hashlib.sha256).digest()).decode()
    named = {"messagebird_signature": signature, "messagebird_request_timestamp": timestamp, **headers}
    return call(body, query=query, **named)


VENDOR = Vendor(
    type="bird",
    settings={"access_key": "abc", "workspace_id": WORKSPACE, "channel_id": CHANNEL, "signing_key": KEY},
    secrets="access_key signing_key",
    defaults={"base_url": "https://api.bird.com"},
    wrong={
        "access_key": ["", "a b"],
        "workspace_id": ["../x"],
        "channel_id": [""],
        "base_url": ["http://api.bird.com"],
    },
    taken=accepted(),
    sends=[
        (
            {},
            {},
            {
                "method": "POST",
                "target": f"{PATH}/messages",
                "header authorization": "AccessKey abc",
                "header content-type": JSON,
                "body": b'{"receiver":{"contacts":[{"identifierKey":"phonenumber","identifierValue":"+4915112345678"}]}'
                b',"reference":"42","body":{"type":"text","text":{"text":"Your code is 4711"}}}',
                "provider_message_id": ID,
                "provider_status": "202",
                "is_delivered": False,
            },
        ),
        ({"signing_key": ""}, {"text": "Код 4711 😀"}, {"is_delivered": True, "body.text": {"text": "Код 4711 😀"}}),
        *[({}, {"hook_url": url}, {"is_delivered": True}) for url in NO_WAY_TO_REPORT],
    ],
    not_applicable=[({"text": ""},)],
    refusals=[
        *grouped(
            {
                Outcome.DECLINED: "400 403 404 422",
                Outcome.MISCONFIGURED: "401",
                Outcome.OUT_OF_FUNDS: "402",
                Outcome.RATE_LIMITED: "429",
                Outcome.TEMPORARY: "500",
                Outcome.UNKNOWN: "502",
            },
            refused,
        ),
        *[(accepted(wrong), Outcome.UNCLEAR) for wrong in (None, "", 5, [], "9" * 201)],
    ],
    check_request=f"GET {PATH}",
    checks=[
        (answer(200, {"id": CHANNEL, "status": "active"}), True),
        (answer(200, {"status": "inactive"}), False),
        (answer(200, []), False),
        (answer(401, {"code": "Unauthorized"}), Outcome.MISCONFIGURED),
    ],
    sign=signed,
    genuine=[
        (call(b"{}", **VECTOR), {"signing_key": "key"}, 1_700_000_000),
        (lambda: signed(event(), url=f"{HOOK_URL}?x=1", query="x=1"),),
    ],
    forged=[
        (lambda: signed(event(), key="other"),),
        (lambda: signed(event(), url="https://other.example/hooks/1/2"),),
        (lambda: signed(event(), query="x=1"),),
        (lambda: signed(event(), at=-301),),
        (lambda: signed(event(), at=330),),
        (lambda: signed(event(), messagebird_request_timestamp=str(int(time.time()) + 1)),),
        (lambda: signed(event(), messagebird_signature=""),),
        (lambda: signed(event(), messagebird_signature="é"),),
        (call(json.dumps(event()).encode()),),
        (lambda: signed(event(), key=""), {"signing_key": ""}),
    ],
    reports=[
        *statuses(
            {
                ReceiptStatus.SENT: "sent",
                ReceiptStatus.SUCCESS: "delivered",
                ReceiptStatus.FAILED: "rejected sending_failed delivery_failed skipped",
            },
            event,
            provider_message_id=ID,
            message_id=42,
        ),
        (
            event("delivery_failed", failure={"code": 44, "description": "about +4915112345678"}),
            {"error": Told("not delivered (error 44)")},
        ),
        *[
            (event("delivery_failed", failure=failure), {"error": Told("not delivered (delivery_failed)")})
            for failure in ({"code": "x"}, [])
        ],
        *each([event("accepted"), event("processing"), event(kind="sms.inbound"), event(None, kind=None)], ()),
        *[
            (event(reference=other), {"message_id": None, "provider_message_id": ID})
            for other in (None, 42, "", "x", "9" * 19)
        ],
        *each([b"no", b"[]", {"event": "sms.outbound"}, event(id=None), event(id="9" * 201)], HookUnreadable),
    ],
)
