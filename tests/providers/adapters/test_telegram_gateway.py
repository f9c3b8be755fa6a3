from __future__ import annotations

import hashlib
import hmac
import json
import time
from decimal import Decimal

from providers.base import MessagePrice, Outcome, ReceiptStatus
from providers.errors import HookUnreadable
from tests.fakes.hooks import JSON, call
from tests.fakes.http_server import answer
from tests.providers.vendors import Vendor, each, statuses

TOKEN = "AAEFAAAAexampletoken"
ID = "123456789"
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


def refused(word, status=200):
    return answer(status, {"ok": False, "error": word})


def accepted(result):
    return answer(200, {"ok": True, "result": result})


def hook(body=VECTOR_BODY, timestamp=VECTOR_TIME, signature=VECTOR_SIGNATURE):
    return call(body, x_request_timestamp=str(timestamp), x_request_signature=signature)


def signed(content, timestamp=None):
    body = content if isinstance(content, bytes) else json.dumps(content).encode()
    timestamp = str(int(time.time())) if timestamp is None else timestamp
    text = timestamp.encode() + b"\n" + body
    return hook(body, timestamp, hmac.new(hashlib.sha256(TOKEN.encode()).digest(), text, hashlib.sha256).hexdigest())


def report(status="delivered", **changes):
    return {
        "request_id": ID,
        "phone_number": "+998901234567",
        "request_cost": 0.01,
        "delivery_status": {"status": status, "updated_at": 1740571199},
        "payload": "42",
        **changes,
    }


REFUSALS = {
    Outcome.MISCONFIGURED: "ACCESS_TOKEN_INVALID ACCESS_TOKEN_REQUIRED CODE_INVALID CODE_LENGTH_INVALID"
    " CODE_LENGTH_REQUIRED TTL_INVALID PAYLOAD_INVALID CALLBACK_URL_INVALID UNKNOWN_METHOD SENDER_NOT_OWNED"
    " SENDER_NOT_VERIFIED SENDER_USERNAME_INVALID REQUEST_ID_INVALID REQUEST_ID_REQUIRED",
    Outcome.OUT_OF_FUNDS: "BALANCE_NOT_ENOUGH",
    Outcome.REFUSED: "PHONE_NUMBER_INVALID",
    Outcome.NO_ACCOUNT: "PHONE_NUMBER_NOT_FOUND",
    Outcome.UNCLEAR: "MESSAGE_ALREADY_SENT",
    Outcome.DECLINED: "SOMETHING_NEW",
}
NO_ANSWERS = [
    b"<html>502 Bad Gateway</html>",
    b"",
    b"{",
    b"[]",
    b"null",
    b'{"result":{"request_id":"1"}}',
    b'{"ok":1,"result":{"request_id":"1"}}',
    b"[" * 50_000,
    b"\xff",
]
BY_STATUS = [
    (200, Outcome.UNCLEAR),
    (401, Outcome.MISCONFIGURED),
    (429, Outcome.RATE_LIMITED),
    (502, Outcome.UNKNOWN),
]

VENDOR = Vendor(
    type="telegram_gateway",
    settings={"token": TOKEN},
    secrets="token",
    defaults={"sender_username": "", "base_url": "https://gatewayapi.telegram.org/"},
    wrong={
        "token": ["", "hush hush", "hüsh"],
        "sender_username": ["@shop", "a b"],
        "base_url": ["http://gateway.example/", "https://gateway.example/?x"],
    },
    message={"channel": "messenger_a"},
    taken=answer(200, ACCEPTED),
    sends=[
        (
            {"sender_username": "shop_codes"},
            {},
            {
                "method": "POST",
                "target": "/sendVerificationMessage",
                "header authorization": f"Bearer {TOKEN}",
                "header content-type": JSON,
                "body": b'{"phone_number":"+4915112345678","code":"4711","ttl":180,"payload":"42",'
                b'"sender_username":"shop_codes","callback_url":"https://codes.example/hooks/1/2"}',
                "provider_message_id": "123456789012345678",
                "provider_status": "sent",
                "is_delivered": False,
                "price": MessagePrice(Decimal("0.01"), "USD"),
            },
        ),
        ({"base_url": "SERVER/proxy"}, {}, {"target": "/proxy/sendVerificationMessage"}),
        *[
            ({}, {"expires_in": seconds}, {"ttl": ttl})
            for seconds, ttl in [(30, 30), (31, 31), (3600, 3600), (86400, 3600)]
        ],
        *[
            ({}, {"hook_url": url}, {"is_delivered": True, "callback_url": None})
            for url in [
                None,
                "http://codes.example/hooks/7d0c/hush",
                "https://codes.example/" + "x" * 235,
                "https://codes.example/" + "ü" * 150,
            ]
        ],
        (
            {},
            {"hook_url": "https://codes.example/" + "x" * 234},  # 256 bytes
            {"callback_url": "https://codes.example/" + "x" * 234},
        ),
        *[
            ({}, {}, {"provider_status": ""}, accepted({"request_id": "1", "delivery_status": delivery}))
            for delivery in (None, {}, {"status": 5}, {"status": "teleported 4711"}, "sent")
        ],
    ],
    not_applicable=[
        *[({"code": code},) for code in ("A1B2", "123", "123456789", "", "٤٧١١", "4711\n")],
        ({"expires_in": 29},),
    ],
    refusals=[
        *[
            (refused(word, status), outcome, word)
            for outcome, words in REFUSALS.items()
            for word in words.split()
            for status in (200, 400)
        ],
        *[
            (refused(word, status), outcome, told, attributes)
            for status in (200, 400)
            for word, outcome, told, attributes in [
                ("FLOOD_WAIT_7", Outcome.RECIPIENT_LIMITED, "FLOOD_WAIT", {"retry_after": 7}),
                ("FLOOD_WAIT_86400", Outcome.RECIPIENT_LIMITED, "FLOOD_WAIT", {"retry_after": 3600}),
                ("your code 4711 is bad", Outcome.DECLINED, "", {}),
                ("CODE_4711_INVALID", Outcome.MISCONFIGURED, "CODE", {}),
                ("", Outcome.DECLINED, "", {}),
            ]
        ],
        *each([refused(word) for word in (None, 5, ["ACCESS_TOKEN_INVALID"], {})], Outcome.DECLINED),
        *[(answer(status, body), outcome) for body in NO_ANSWERS for status, outcome in BY_STATUS],
        *[
            (accepted(result), Outcome.UNCLEAR)
            for result in (None, [], "1", {}, {"request_id": ""}, {"request_id": 5}, {"request_id": "9" * 201})
        ],
    ],
    check_request="POST /checkVerificationStatus",
    checks=[
        (refused("REQUEST_ID_INVALID"), True),
        (refused("REQUEST_ID_REQUIRED"), True),
        (refused("ACCESS_TOKEN_INVALID"), Outcome.MISCONFIGURED),
        (refused("ACCESS_TOKEN_INVALID", 401), Outcome.MISCONFIGURED),
        (refused("FLOOD_WAIT_3"), Outcome.RECIPIENT_LIMITED),
        (answer(502, b"<html>"), Outcome.UNKNOWN),
    ],
    sign=signed,
    genuine=[(hook(), {}, VECTOR_TIME + seconds) for seconds in (-300, 0, 300)],
    forged=[
        *[(hook(), {}, VECTOR_TIME + seconds) for seconds in (-301, 301, 10**9)],
        *[
            (forged, {}, VECTOR_TIME)
            for forged in [
                hook(VECTOR_BODY.replace(b"delivered", b"expired")),
                hook(VECTOR_BODY + b" "),
                hook(timestamp=VECTOR_TIME + 1),
                hook(timestamp=f"{VECTOR_TIME} "),
                hook(timestamp=""),
                hook(timestamp="\udcff"),
                hook(signature=VECTOR_SIGNATURE.upper()),
                hook(signature=VECTOR_SIGNATURE[:-1]),
                hook(signature=""),
                hook(signature="ü"),
                hook(signature="\udcff"),
                call(VECTOR_BODY),
            ]
        ],
        (lambda: signed(report()), {"token": TOKEN + "x"}),
        *[(signed(VECTOR_BODY, timestamp),) for timestamp in ("", "soon", "-5", "1e9", "٣", "9" * 13)],
    ],
    reports=[
        *statuses(
            {
                ReceiptStatus.SENT: "sent",
                ReceiptStatus.SUCCESS: "delivered read",
                ReceiptStatus.EXPIRED: "expired",
                ReceiptStatus.FAILED: "revoked",
            },
            report,
            provider_message_id=ID,
            message_id=42,
        ),
        *[
            (report(payload=payload), {"message_id": None, "provider_message_id": ID})
            for payload in ("msg-42", "", "4" * 19, 42, None, "-1", "٤", "42\n")
        ],
        *[
            (report(delivery_status=delivery), ())
            for delivery in (None, {}, "sent", [], {"status": None}, {"status": "teleported"})
        ],
        *each([b"", b"<html>", b"[]", b"5", b"{}", b'{"request_id":5}', b'{"request_id":""}', b"\xff"], HookUnreadable),
        (report("expired", is_refunded=True), {"price": MessagePrice(Decimal(0), "USD")}),
    ],
)


def test_it_answers_a_report_and_names_it_once(server):
    reply = VENDOR.build(server).parse_hook(signed(report("read")))
    assert (reply.status, reply.body, reply.dedup_key) == (200, b"", f"{ID}:read")


def test_check_asks_for_a_request_that_does_not_exist(server):
    server.script(refused("REQUEST_ID_INVALID"))
    VENDOR.build(server).check()
    assert server.requests[0].json() == {"request_id": "0"}
