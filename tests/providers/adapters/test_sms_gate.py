from __future__ import annotations

import hmac
import json
import time

from providers.base import Outcome, ReceiptStatus
from providers.errors import HookUnreadable
from tests.fakes.hooks import JSON, call
from tests.fakes.http_server import answer
from tests.providers.vendors import NO_WAY_TO_REPORT, Told, Vendor, each, reasons, statuses

KEY = "A1b2C3d4"
ID = "zXDYfTmTVf3iMd16zzdBj"
PHONES = [
    {"id": "one", "name": "Google/oriole", "lastSeen": "2026-11-20T10:00:00Z"},
    {"id": "two", "name": "Xiaomi/lisa", "lastSeen": "2026-11-26T09:30:12.5Z"},
]
NO_SERVICE = "Send result: RESULT_ERROR_NO_SERVICE (Failed because service is currently unavailable)"
# HMAC-SHA256 with the key ``key`` of the body ``{}`` and the time, by another tool.
VECTOR = "93800482ca289ca2ab5ad69bbb6a631e6a997ad0fb659f5edfb80f566fc07457"


def accepted(identity=ID):
    told = {
        "id": identity,
        "deviceId": "yVULogr4Y1ksRfnos1Dsw",
        "state": "Pending",
        "isHashed": False,
        "isEncrypted": False,
        "recipients": [{"phoneNumber": "+4915112345678", "state": "Pending"}],
        "states": {},
    }
    return answer(202, told)


def refused(status, sentence):
    return answer(status, {"message": sentence, "code": status})


def event(word="sms:delivered", **payload):
    return {
        "deviceId": "ffffffffceb0b1db0000018e937c815b",
        "event": word,
        "id": "Ey6ECgOkVVFjz3CL48B8C",
        "payload": {
            "messageId": ID,
            "sender": "+1234567890",
            "recipient": "+4915112345678",
            "phoneNumber": "+4915112345678",
            "simNumber": 1,
            **payload,
        },
        "webhookId": "LreFUt-Z3sSq0JufY9uWB",
    }


def signed(content, *, at=0, key=KEY, **headers):
    """Written on its own, after the description."""
    body = content if isinstance(content, bytes) else json.dumps(content).encode()
    timestamp = str(int(time.time()) + at)
    signature = hmac.digest(key.encode(), body + timestamp.encode(), "sha256").hex()
    return call(body, **{"x_signature": signature, "x_timestamp": timestamp, **headers})


VENDOR = Vendor(
    type="sms_gate",
    settings={"username": "ABC123", "password": "pass-word", "signing_key": KEY},
    secrets="password signing_key",
    defaults={"base_url": "https://api.sms-gate.app/3rdparty/v1", "sim_number": "0"},
    wrong={
        "username": ["", "a:b"],
        "password": [""],
        "device_id": ["../x"],
        "sim_number": ["4"],
        "base_url": ["http://192.168.1.10:8080"],
    },
    taken=accepted(),
    sends=[
        (
            {"base_url": "SERVER/3rdparty/v1"},
            {},
            {
                "method": "POST",
                "target": "/3rdparty/v1/messages?skipPhoneValidation=true",
                "header authorization": "Basic QUJDMTIzOnBhc3Mtd29yZA==",
                "header content-type": JSON,
                "body": b'{"textMessage":{"text":"Your code is 4711"},"phoneNumbers":["+4915112345678"],'
                b'"withDeliveryReport":true,"ttl":180,"priority":100}',
                "provider_message_id": ID,
                "provider_status": "202",
                "is_delivered": False,
            },
        ),
        ({}, {"text": "Код 4711 😀"}, {"textMessage": {"text": "Код 4711 😀"}}),
        (
            {"device_id": "yVULogr4Y1ksRfnos1Dsw", "sim_number": "2"},
            {},
            {"deviceId": "yVULogr4Y1ksRfnos1Dsw", "simNumber": 2},
        ),
        *[({}, {"expires_in": seconds}, {"ttl": ttl}) for seconds, ttl in [(-5, 5), (4, 5), (179, 179)]],
        ({"signing_key": ""}, {}, {"is_delivered": True, "withDeliveryReport": False}),
        *[({}, {"hook_url": url}, {"is_delivered": True, "withDeliveryReport": False}) for url in NO_WAY_TO_REPORT],
    ],
    not_applicable=[({"text": ""},)],
    refusals=[
        (refused(400, "record not found"), Outcome.MISCONFIGURED, "400"),
        (refused(400, "Invalid device ID"), Outcome.MISCONFIGURED, "400"),
        (refused(400, "invalid phone number"), Outcome.DECLINED, "400"),
        (refused(400, "something about +4915112345678"), Outcome.DECLINED, "400"),
        (refused(401, "Unauthorized"), Outcome.MISCONFIGURED, "401"),
        (refused(403, "Forbidden"), Outcome.DECLINED, "403"),
        (refused(500, "failed to handle request"), Outcome.TEMPORARY, "500"),
        (refused(503, "queue limits exceeded: too many pending messages: 10 / 10"), Outcome.TEMPORARY, "503"),
        *[(accepted(wrong), Outcome.UNCLEAR) for wrong in (None, "", 5, [], "9" * 201)],
    ],
    check_request="GET /api/3rdparty/v1/devices",
    checks=[
        (answer(200, told), is_ok, words, None, {"device_id": device, "base_url": "SERVER/api/3rdparty/v1"})
        for device, told, is_ok, words in [
            ("", PHONES, True, "its phones: 2; one was last seen on 2026-11-26 09:30."),
            ("one", PHONES, True, "its phones: 1; one was last seen on 2026-11-20 10:00."),
            ("one", [{"id": "one", "lastSeen": 5}], True, "its phones: 1."),
            ("three", PHONES, False, "no such phone"),
            ("", [], False, "no such phone"),
            ("", {}, False, "no such phone"),
        ]
    ]
    + [(refused(401, "Unauthorized"), Outcome.MISCONFIGURED, "", None, {"base_url": "SERVER/api/3rdparty/v1"})],
    sign=signed,
    genuine=[
        (call(b"{}", x_signature=signature, x_timestamp="1700000000"), {"signing_key": "key"}, 1_700_000_000)
        for signature in (VECTOR, VECTOR.upper())
    ],
    forged=[
        (lambda: signed(event(), key="other"),),
        (lambda: signed(event(), at=-301),),
        (lambda: signed(event(), at=330),),
        (lambda: signed(event(), x_timestamp=str(int(time.time()) + 1)),),
        (lambda: signed(event(), x_timestamp=""),),
        (lambda: signed(event(), x_signature=""),),
        (lambda: signed(event(), x_signature="é"),),
        (call(json.dumps(event()).encode()),),
        (lambda: signed(event(), key=""), {"signing_key": ""}),
    ],
    reports=[
        *statuses(
            {
                ReceiptStatus.SENT: "sms:sent",
                ReceiptStatus.SUCCESS: "sms:delivered",
                ReceiptStatus.FAILED: "sms:failed sms:cancelled",
            },
            event,
            provider_message_id=ID,
        ),
        (
            event("sms:failed", reason="Network error"),
            {"status": ReceiptStatus.FAILED, "provider_status": "sms:failed"},
        ),
        (
            event("sms:failed", reason="TTL expired"),
            {"status": ReceiptStatus.EXPIRED, "provider_status": "sms:failed", "error": Told("not sent in time")},
        ),
        (
            event("sms:failed", reason=NO_SERVICE),
            {"status": ReceiptStatus.FAILED, "provider_status": "sms:failed RESULT_ERROR_NO_SERVICE"},
        ),
        *reasons(
            {
                "Send result: RESULT_ERROR_GENERIC_FAILURE (Generic failure cause)": "credit and signal",
                "Send result: RESULT_ERROR_RADIO_OFF (x)": "radio is off",
                "Send result: RESULT_ERROR_LIMIT_EXCEEDED (x)": "too many messages",
                "Send result: RESULT_NETWORK_REJECT (x)": "operator rejected",
                "Send result: RESULT_RIL_SIM_ABSENT (x)": "no SIM card",
                "Send result: RESULT_SOMETHING_NEW (x)": "not delivered (RESULT_SOMETHING_NEW)",
                "the number +4915112345678 is wrong": "not delivered (sms:failed)",
            },
            lambda reason: event("sms:failed", reason=reason),
        ),
        *[(event(word), ()) for word in ("sms:received", "system:ping", "app:started", "", None, [])],
        *each([b"no", b"[]", {"event": "sms:sent"}, event("sms:sent", messageId=None)], HookUnreadable),
    ],
)


def test_a_phone_in_local_mode_is_asked_at_its_own_path(server):
    server.script(answer(200, PHONES[:1]))
    assert VENDOR.build(server).check().is_ok
    assert server.requests[0].target == "/device"
