from __future__ import annotations

import json
from decimal import Decimal

from providers.base import MessagePrice, Outcome, ReceiptStatus
from providers.errors import HookUnreadable
from tests.fakes.hooks import JSON, call, receipts_of
from tests.fakes.http_server import answer
from tests.providers.vendors import Told, Vendor

PENDING = {"groupName": "PENDING"}


def answered(group="PENDING", id=26, name="PENDING_ACCEPTED", **headers):
    status = {"groupId": 1, "groupName": group, "id": id, "name": name, "description": "about 4915112345678"}
    sent = {"messageId": "42", "status": status, "destination": "4915112345678", "details": {"messageCount": 1}}
    return answer(200, {"bulkId": "2034072219640523072", "messages": [sent]}, headers)


def result(group="DELIVERED", id=5, name="DELIVERED_TO_HANDSET", error=(0, "NO_ERROR", False), **changes):
    return {
        "bulkId": "2034072219640523072",
        "messageId": "42",
        "to": "4915112345678",
        "sender": "Shop",
        "sentAt": "2026-11-21T12:00:00.000+0000",
        "doneAt": "2026-11-21T12:00:03.000+0000",
        "messageCount": 1,
        "mccMnc": "26201",
        "callbackData": "42",
        "price": {"pricePerMessage": 0.01, "currency": "EUR"},
        "status": {"groupId": 3, "groupName": group, "id": id, "name": name, "description": "about 4915112345678"},
        "error": {"groupId": 0, "groupName": "OK", "id": error[0], "name": error[1], "permanent": error[2]},
        "platform": {},
        **changes,
    }


def report(*results):
    return call(json.dumps({"results": list(results)}).encode())


def v3(status, code, *properties, **headers):
    violations = [{"property": name, "violation": "4915112345678 is not valid"} for name in properties]
    body = {"errorCode": code, "description": "x", "action": "y", "violations": violations, "resources": []}
    return answer(status, body, headers)


def older(status, word, **headers):
    told = {"messageId": word, "text": "about 4915112345678"}
    return answer(status, {"requestError": {"serviceException": told}}, headers)


REJECTED = [
    (6, "REJECTED_NETWORK", Outcome.DECLINED),
    (8, "REJECTED_PREFIX_MISSING", Outcome.REFUSED),
    (10, "REJECTED_DND", Outcome.OPTED_OUT),
    (11, "REJECTED_SOURCE", Outcome.DECLINED),
    (12, "REJECTED_NOT_ENOUGH_CREDITS", Outcome.OUT_OF_FUNDS),
    (13, "REJECTED_SENDER", Outcome.MISCONFIGURED),
    (14, "REJECTED_DESTINATION", Outcome.OPTED_OUT),
    (17, "REJECTED_PREPAID_PACKAGE_EXPIRED", Outcome.OUT_OF_FUNDS),
    (18, "REJECTED_DESTINATION_NOT_REGISTERED", Outcome.DECLINED),
    (19, "REJECTED_ROUTE_NOT_AVAILABLE", Outcome.DECLINED),
    (20, "REJECTED_FLOODING_FILTER", Outcome.RECIPIENT_LIMITED),
    (21, "REJECTED_SYSTEM_ERROR", Outcome.TEMPORARY),
    (23, "REJECTED_DUPLICATE_MESSAGE_ID", Outcome.UNCLEAR),
    (24, "REJECTED_INVALID_UDH", Outcome.MISCONFIGURED),
    (25, "REJECTED_MESSAGE_TOO_LONG", Outcome.MISCONFIGURED),
    (51, "MISSING_TO", Outcome.MISCONFIGURED),
    (52, "REJECTED_DESTINATION", Outcome.REFUSED),
    (99, "REJECTED_SOMETHING_NEW", Outcome.DECLINED),
]
FAILED = [
    ("UNDELIVERABLE", 9, (1, "EC_UNKNOWN_SUBSCRIBER", True), "number is unknown (error 1)", False),
    ("UNDELIVERABLE", 9, (5, "EC_UNIDENTIFIED_SUBSCRIBER", False), "number is unknown (error 5)", False),
    ("UNDELIVERABLE", 9, (6, "EC_ABSENT_SUBSCRIBER_SM", False), "cannot be reached (error 6)", False),
    ("UNDELIVERABLE", 9, (9, "EC_ILLEGAL_SUBSCRIBER", True), "not valid (error 9)", False),
    ("UNDELIVERABLE", 9, (11, "EC_TELESERVICE_NOT_PROVISIONED", True), "cannot receive SMS (error 11)", False),
    ("UNDELIVERABLE", 9, (13, "EC_CALL_BARRED", False), "barred (error 13)", False),
    ("UNDELIVERABLE", 9, (27, "EC_ABSENT_SUBSCRIBER", False), "cannot be reached (error 27)", False),
    ("UNDELIVERABLE", 9, (31, "EC_SUBSCRIBER_BUSY_FOR_MT_SMS", False), "busy (error 31)", False),
    ("UNDELIVERABLE", 9, (2049, "EC_IMSI_BLACKLISTED", True), "blocked (error 2049)", True),
    ("UNDELIVERABLE", 9, (2050, "EC_DEST_ADDRESS_BLACKLISTED", True), "has opted out", True),
    ("REJECTED", 14, (2052, "EC_BLACKLISTED_DESTINATIONADDRESS", True), "blocked (error 2052)", True),
    ("REJECTED", 13, (2053, "EC_BLACKLISTED_SENDERADDRESS", True), "sender is blocked", False),
    ("REJECTED", 20, (4103, "EC_DESTINATION_FLOODING", True), "too many messages (error 4103)", False),
    ("REJECTED", 20, (4104, "EC_DESTINATION_TXT_FLOODING", True), "too many messages (error 4104)", False),
    ("REJECTED", 10, (0, "NO_ERROR", False), "has opted out (status 10)", True),
    ("REJECTED", 14, (0, "NO_ERROR", False), "blocked (status 14)", True),
    ("REJECTED", 12, (0, "NO_ERROR", False), "balance is used up (status 12)", False),
    ("EXPIRED", 15, (4101, "EC_VALIDITYEXPIRED", True), "not delivered (EC_VALIDITYEXPIRED)", False),
    ("UNDELIVERABLE", 9, ("x", "to 4915112345678", True), "not delivered (SOME_NAME)", False),
]
STATUSES = [
    ("PENDING", "PENDING_ENROUTE", ReceiptStatus.SENT),
    ("DELIVERED", "DELIVERED_TO_HANDSET", ReceiptStatus.SUCCESS),
    ("UNDELIVERABLE", "UNDELIVERABLE_NOT_DELIVERED", ReceiptStatus.FAILED),
    ("REJECTED", "REJECTED_NETWORK", ReceiptStatus.FAILED),
    ("EXPIRED", "EXPIRED_EXPIRED", ReceiptStatus.EXPIRED),
]

VENDOR = Vendor(
    type="infobip",
    settings={"base_url": "https://xyz123.api.infobip.com", "api_key": "hush-hush", "sender": "Shop"},
    secrets="api_key",
    wrong={
        "base_url": ["", "http://xyz123.api.infobip.com", "https://xyz123.api.infobip.com/?x"],
        "api_key": ["", "hush hush", "hüsh"],
        "sender": [""],
    },
    taken=answered(),
    sends=[
        (
            {},
            {},
            {
                "method": "POST",
                "target": "/sms/3/messages",
                "header authorization": "App hush-hush",
                "header content-type": JSON,
                "header accept": JSON,
                "body": b'{"messages":[{"sender":"Shop","destinations":[{"to":"4915112345678","messageId":"42"}],'
                b'"content":{"text":"Your code is 4711"},"options":{"validityPeriod":{"amount":180,"timeUnit":'
                b'"SECONDS"}},"webhooks":{"delivery":{"url":"https://codes.example/hooks/1/2",'
                b'"intermediateReport":false,"notify":true},"contentType":"application/json","callbackData":"42"}}],'
                b'"options":{"includeSmsCountInResponse":true}}',
                "provider_message_id": "42",
                "provider_status": "PENDING_ACCEPTED",
                "is_delivered": False,
            },
        ),
        ({}, {"text": "Код 4711 😀"}, {"messages.0.content": {"text": "Код 4711 😀"}}),
        *[
            (
                {},
                {"expires_in": seconds},
                {"messages.0.options.validityPeriod": {"amount": amount, "timeUnit": "SECONDS"}},
            )
            for seconds, amount in [(-5, 1), (0, 1), (179, 179), (200_000, 172_800)]
        ],
        ({}, {"sender": "Laden"}, {"messages.0.sender": "Laden"}),
        ({}, {"sender": "+4930123456"}, {"messages.0.sender": "4930123456"}),
        (
            {},
            {"dlt_entity_id": "11", "dlt_template_id": "22"},
            {"messages.0.options.regional": {"indiaDlt": {"principalEntityId": "11", "contentTemplateId": "22"}}},
        ),
        ({}, {"dlt_entity_id": "11"}, {"messages.0.options.regional": {"indiaDlt": {"principalEntityId": "11"}}}),
        *[
            ({}, {"hook_url": url}, {"is_delivered": True, "messages.0.webhooks": None})
            for url in (None, "http://10.1.1.1/hooks/1/2", "https://10.0.0.5/hooks/1/2")
        ],
        *[({}, {}, {}, answered(group)) for group in ("ACCEPTED", "PENDING", "DELIVERED")],
    ],
    not_applicable=[({"text": ""},)],
    refusals=[
        *[
            (answered(group, id, name), outcome, str(id), {"args": (Told(name),)})
            for group in ("REJECTED", "UNDELIVERABLE", "EXPIRED")
            for id, name, outcome in REJECTED
        ],
        (
            answered("REJECTED", 20, "REJECTED_FLOODING_FILTER", **{"Retry-After": "7"}),
            Outcome.RECIPIENT_LIMITED,
            "20",
            {"retry_after": 7},
        ),
        (v3(400, "E400"), Outcome.DECLINED, "E400", {"retry_after": None}),
        (v3(400, "E400", "messages[0].sender"), Outcome.DECLINED, "E400"),
        (v3(400, "E400", "messages[0].destinations[0].to"), Outcome.REFUSED, "E400"),
        (v3(401, "E401"), Outcome.MISCONFIGURED, "E401"),
        (v3(403, "E403"), Outcome.MISCONFIGURED, "E403"),
        (v3(429, "E429", **{"Retry-After": "4"}), Outcome.RATE_LIMITED, "E429", {"retry_after": 4}),
        (v3(500, "E500"), Outcome.TEMPORARY, "E500"),
        (older(401, "UNAUTHORIZED"), Outcome.MISCONFIGURED, "UNAUTHORIZED"),
        (older(400, "BAD_REQUEST"), Outcome.DECLINED, "BAD_REQUEST"),
        (
            older(429, "TOO_MANY_REQUESTS", **{"Retry-After": "4"}),
            Outcome.RATE_LIMITED,
            "TOO_MANY_REQUESTS",
            {"retry_after": 4},
        ),
        (v3(503, "E999"), Outcome.TEMPORARY, "E999"),
        (v3(400, "code 4711"), Outcome.DECLINED, "400"),
        (answer(400, {"requestError": []}), Outcome.DECLINED, "400"),
        (answer(200, {}), Outcome.UNCLEAR),
        *[
            (answer(200, {"messages": messages}), Outcome.UNCLEAR)
            for messages in [
                [],
                ["x"],
                [{"messageId": "42"}],
                [{"messageId": "42", "status": "PENDING"}],
                [{"messageId": "42", "status": {"groupName": "NEW"}}],
                [{"messageId": "42", "status": {"groupName": 1}}],
                [{"messageId": "42", "status": {"groupName": []}}],
                [{"messageId": "", "status": PENDING}],
                [{"messageId": 42, "status": PENDING}],
            ]
        ],
    ],
    check_request="GET /account/1/balance",
    checks=[
        (answer(200, {"balance": 47.79134, "currency": "EUR"}), True, "", "47.79134 EUR"),
        (answer(200, {"balance": 0, "currency": "USD"}), False, "", "0 USD"),
        (answer(200, {"balance": 5}), False),
        (answer(200, []), False),
        (older(401, "UNAUTHORIZED"), Outcome.MISCONFIGURED, "API key is not accepted"),
    ],
    reports=[
        *[
            (
                report(result(group, 9, name)),
                {
                    "status": ours,
                    "provider_message_id": "42",
                    "message_id": 42,
                    "provider_status": Told(name),
                    "error": Told(" " if ours in (ReceiptStatus.FAILED, ReceiptStatus.EXPIRED) else ""),
                },
            )
            for group, name, ours in STATUSES
        ],
        *[
            (report(result(group, 26, name)), ())
            for group, name in [
                ("PENDING", "PENDING_ACCEPTED"),
                ("PENDING", "PENDING_WAITING_DELIVERY"),
                ("ACCEPTED", ""),
                ("NEW", "NEW"),
                (5, 5),
            ]
        ],
        *[
            (
                report(result(group, id, "SOME_NAME", error)),
                {"error": Told(words), "provider_status": Told("SOME_NAME"), "is_opted_out": is_opted_out},
            )
            for group, id, error, words, is_opted_out in FAILED
        ],
        (report(result(error=(2050, "EC_DEST_ADDRESS_BLACKLISTED", True))), {"error": ""}),
        *[
            (report(result(callbackData=data)), {"message_id": None, "provider_message_id": "42"})
            for data in (None, "", "x", 42, "9" * 19)
        ],
        *[(call(body), HookUnreadable) for body in (b"", b"x", b"[]", b"{}", b'{"results":{}}', b"\xff")],
        (report(result(messageCount=2)), {"price": MessagePrice(Decimal("0.02"), "EUR")}),
        (report(result(price=None)), {"price": None}),
    ],
)


def test_one_call_brings_many_reports(server):
    results = [result(), "x", {}, result(messageId=5), result(status="x"), result(messageId="43", callbackData="43")]
    found = receipts_of(VENDOR.build(server), report(*results))
    assert [(receipt.provider_message_id, receipt.message_id) for receipt in found] == [("42", 42), ("43", 43)]
