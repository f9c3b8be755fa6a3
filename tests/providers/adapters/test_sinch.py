from __future__ import annotations

import base64
import hmac
import json
import time

import pytest

from providers.base import Outcome, ReceiptStatus
from providers.errors import HookUnreadable
from tests.fakes.hooks import JSON, call
from tests.fakes.http_server import answer
from tests.providers.vendors import Told, Vendor, each, reasons, statuses

SECRET = "hooksecret"
SIGNED = {"hook_secret": SECRET}
BATCH = "01FC66621XXXXX119Z8PMV1QPQ"
NOW = 1795262400  # 2026-11-21T12:00:00Z
VECTOR_TIME = 1634579353
VECTOR_BODY = b'{"type":"recipient_delivery_report_sms"}'
VECTOR_SIGNATURE = "2uDsTdHUCTlzmx2V0D7PxGzuouMk2TnqWcRrbikU6P8="


def accepted(id=BATCH):
    batch = {
        "id": id,
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
    return answer(201, batch)


def refused(status, word, **headers):
    return answer(status, {"code": word, "text": "about 4915112345678"}, headers)


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


def hook(body=VECTOR_BODY, signature=VECTOR_SIGNATURE, nonce="nonce1", timestamp=str(VECTOR_TIME)):
    return call(
        body,
        x_sinch_webhook_signature=signature,
        x_sinch_webhook_signature_nonce=nonce,
        x_sinch_webhook_signature_timestamp=timestamp,
    )


def unsigned(word):
    return call(report(word))


VENDOR = Vendor(
    type="sinch",
    settings={"service_plan_id": "jd63jf88477ll123", "api_token": "hush-hush", "sender": "12345"},
    secrets="api_token hook_secret",
    defaults={"base_url": "https://us.sms.api.sinch.com"},
    wrong={
        "service_plan_id": ["", "../x"],
        "api_token": ["", "hush hush"],
        "base_url": ["http://us.sms.api.sinch.com"],
    },
    taken=accepted(),
    sends=[
        *[
            ({}, {"text": text}, {".body": text, "max_number_of_message_parts": parts})
            for text, parts in [
                ("x" * 160, 1),
                ("x" * 161, 2),
                ("€" * 81, 2),
                ("ж" * 70, 1),
                ("ж" * 71, 2),
                ("😀" * 67, 3),
            ]
        ],
        ({}, {"sender": "Laden"}, {"from": "Laden"}),
        ({"sender": ""}, {"sender": "+4930123456"}, {"from": "4930123456"}),
        ({"sender": ""}, {}, {"from": None}),
        *[
            ({}, {"hook_url": url}, {"is_delivered": True, "delivery_report": "none", "callback_url": None})
            for url in (None, "http://10.1.1.1/hooks/1/2", "https://10.0.0.5/hooks/1/2")
        ],
    ],
    not_applicable=[({"text": ""},)],
    refusals=[
        *[
            (refused(status, word), outcome, word, {"retry_after": None})
            for status, word, outcome in [
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
                (500, "internal_error", Outcome.TEMPORARY),
            ]
        ],
        (
            refused(429, "too_many_requests", **{"Retry-After": "3"}),
            Outcome.RATE_LIMITED,
            "too_many_requests",
            {"retry_after": 3},
        ),
        (
            answer(400, {"error": {"code": 400, "message": "about 4915112345678", "status": "INVALID_ARGUMENT"}}),
            Outcome.DECLINED,
            "400",
        ),
        *[(answer(400, {"code": code}), Outcome.DECLINED, "400") for code in (400, ["x"], "to 4915112345678")],
        *[(accepted(wrong), Outcome.UNCLEAR) for wrong in (None, "", 5, [], "9" * 201)],
    ],
    check_request="GET /xms/v1/jd63jf88477ll123/groups?page_size=1",
    checks=[
        (answer(200, {"page": 0, "page_size": 0, "count": 0, "groups": []}), True),
        *each([answer(200, {"groups": "x"}), answer(200, {}), answer(200, [])], False),
        (answer(401, b""), Outcome.MISCONFIGURED),
        (answer(403, b""), Outcome.DECLINED),
        (answer(404, b""), Outcome.DECLINED),
    ],
    sign=call,
    genuine=[
        *[(hook(), SIGNED, VECTOR_TIME + seconds) for seconds in (-300, 0, 300)],
        (call(report()),),  # where Sinch does not sign, the address is the secret
    ],
    forged=[
        *[(hook(), SIGNED, VECTOR_TIME + seconds) for seconds in (-301, 301, 10**9)],
        *[
            (forged, SIGNED, VECTOR_TIME)
            for forged in [
                hook(VECTOR_BODY + b" "),
                hook(b""),
                hook(signature=VECTOR_SIGNATURE[:-2] + "A="),
                hook(signature=VECTOR_SIGNATURE.lower()),
                hook(signature=""),
                hook(signature="ü"),
                hook(signature="\udcff"),
                hook(nonce="nonce2"),
                hook(nonce="\udcff"),
                hook(timestamp=str(VECTOR_TIME + 1)),
                hook(timestamp=""),
            ]
        ],
        *[(signed(report(), timestamp), SIGNED) for timestamp in ("", "soon", "-5", "1e9", "٣", "9" * 13)],
        (call(report()), SIGNED),
    ],
    reports=[
        (hook(), HookUnreadable),
        *[
            (made, {**expected, "provider_status": expected["provider_status"].lower()})
            for made, expected in statuses(
                {
                    ReceiptStatus.SENT: "Dispatched",
                    ReceiptStatus.SUCCESS: "Delivered DELIVERED",
                    ReceiptStatus.EXPIRED: "Expired",
                    ReceiptStatus.FAILED: "Aborted Rejected Failed Deleted Cancelled",
                },
                report,
                provider_message_id=BATCH,
                message_id=42,
            )
        ],
        (lambda: signed(report()), {"status": ReceiptStatus.SUCCESS}, SIGNED),
        *each([report("Queued", 400), report("Unknown"), report("New"), report(None), report([]), b"{}"], ()),
        *each([report(type="mo_text"), report(type="delivery_report_sms")], ()),
        *reasons(
            "402 no route | 403 server error | 404 failed temporarily | 405 parameter | 406 in time | 407 cancelled"
            " | 408 rejected | 410 default sender | 411 too many parts | 412 region | 413 balance"
            " | 418 not delivered (error 418) | 0 not delivered (aborted)",
            lambda code: report("Aborted", int(code)),
        ),
        (report("Aborted", "<b>"), {"error": Told("not delivered (aborted)")}),
        *[
            (report(client_reference=other), {"message_id": None, "provider_message_id": BATCH})
            for other in (None, 42, "", "x", "9" * 19)
        ],
        *each([b"", b"x", b"[]", b"\xff", report(batch_id=None), report(batch_id=5)], HookUnreadable),
    ],
)


@pytest.mark.parametrize(("seconds", "at"), [(180, "12:03:00"), (-5, "12:00:01"), (0, "12:00:01"), (600, "12:10:00")])
def test_it_sends_a_message_that_expires_with_the_code(server, monkeypatch, seconds, at):
    monkeypatch.setattr(time, "time", lambda: NOW)
    server.script(accepted())
    result = VENDOR.build(server).send(VENDOR.make_message(expires_in=seconds))
    [request] = server.requests
    assert (request.method, request.target) == ("POST", "/xms/v1/jd63jf88477ll123/batches")
    assert (request.headers["authorization"], request.headers["content-type"]) == ("Bearer hush-hush", JSON)
    assert request.body.decode() == (
        '{"from":"12345","to":["4915112345678"],"body":"Your code is 4711","type":"mt_text",'
        '"delivery_report":"per_recipient","callback_url":"https://codes.example/hooks/1/2",'
        f'"expire_at":"2026-11-21T{at}Z","client_reference":"42","feedback_enabled":false,'
        '"truncate_concat":false,"max_number_of_message_parts":1}'
    )
    assert (result.outcome, result.provider_message_id) == (Outcome.ACCEPTED, BATCH)
    assert (result.provider_status, result.is_delivered) == ("201", False)
