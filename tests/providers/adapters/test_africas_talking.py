from __future__ import annotations

from decimal import Decimal

from providers.base import Consent, MessagePrice, Outcome, ReceiptStatus
from providers.errors import HookUnreadable
from tests.fakes.hooks import FORM, call
from tests.fakes.http_server import answer
from tests.fakes.messages import HOOK_URL
from tests.providers.vendors import NO_WAY_TO_REPORT, Vendor, each, grouped, reasons, statuses

ID = "ATXid_e8ac5b1b8ea3b3fe08d53d2b2b8df2bc"


def answered(code=101, **changes):
    told = {
        "statusCode": code,
        "number": "+4915112345678",
        "status": "Success",
        "cost": "KES 0.8000",
        "messageId": ID,
        "messageParts": 1,
        **changes,
    }
    return whole("Sent to 1/1 Total Cost: KES 0.8000", told)


def whole(word, *recipients):
    return answer(201, {"SMSMessageData": {"Message": word, "Recipients": list(recipients)}})


def refused(code):
    return answered(int(code), messageId="None", cost="0", status="about +4915112345678")


def report(status="Success", **changes):
    return {"id": ID, "status": status, "phoneNumber": "+4915112345678", "networkCode": "63902", **changes}


def told(balance):
    return answer(200, {"UserData": balance})


VENDOR = Vendor(
    type="africas_talking",
    settings={"username": "shop", "api_key": "atsk_abc", "sender": "Shop", "has_webhook": True},
    secrets="api_key",
    defaults={"base_url": "https://api.africastalking.com"},
    wrong={"username": [""], "api_key": ["", "a b"], "base_url": ["http://api.africastalking.com"]},
    taken=answered(),
    sends=[
        (
            {},
            {},
            {
                "method": "POST",
                "target": "/version1/messaging",
                "header apikey": "atsk_abc",
                "header accept": "application/json",
                "header content-type": FORM,
                "body": b"username=shop&to=%2B4915112345678&message=Your+code+is+4711&bulkSMSMode=1&from=Shop",
                "provider_message_id": ID,
                "provider_status": "101",
                "is_delivered": False,
            },
        ),
        ({}, {"sender": "Laden"}, {"from": "Laden"}),
        ({"sender": ""}, {}, {"from": None, "bulkSMSMode": "1"}),
        ({"has_webhook": False}, {"hook_url": HOOK_URL}, {"is_delivered": True}),
        *[({}, {"hook_url": url}, {"is_delivered": True}) for url in NO_WAY_TO_REPORT],
        *[({}, {}, {"provider_status": str(code)}, answered(code)) for code in (100, 101, 102, "102")],
        ({}, {}, {"price": MessagePrice(Decimal("0.8"), "KES")}),
        *[({}, {}, {"price": None}, answered(cost=cost)) for cost in ("0", None, "KES x", 0.8)],
    ],
    not_applicable=[({"text": ""},)],
    refusals=[
        *grouped(
            {
                Outcome.DECLINED: "401 402 404 407 409 502 999",
                Outcome.REFUSED: "403",
                Outcome.OUT_OF_FUNDS: "405",
                Outcome.OPTED_OUT: "406",
                Outcome.TEMPORARY: "500 501",
            },
            refused,
        ),
        (whole("InvalidSenderId"), Outcome.DECLINED),
        (whole("InsufficientBalance"), Outcome.OUT_OF_FUNDS),
        (whole("RiskHold"), Outcome.DECLINED),
        (whole("something new about +4915112345678"), Outcome.DECLINED),
        (whole("Sent to 0/1 Total Cost: 0"), Outcome.DECLINED),
        (whole("Sent to 0/1 Total Cost: 0", {"status": "Could Not Send", "messageId": "None"}), Outcome.DECLINED),
        (whole("Something new", {}), Outcome.DECLINED),
        (answer(201, {"SMSMessageData": {"Recipients": []}}), Outcome.DECLINED),
        (answer(400, b"The supplied authentication is invalid"), Outcome.DECLINED),
        (answer(401, b"The supplied authentication is invalid"), Outcome.MISCONFIGURED),
        (answer(429, b"x"), Outcome.RATE_LIMITED),
        (answer(500, b"x"), Outcome.TEMPORARY),
        (answer(502, b"x"), Outcome.UNKNOWN),
        *each([answer(201, {}), answer(201, {"SMSMessageData": []}), answered("x")], Outcome.UNCLEAR),
        *[(answered(messageId=wrong), Outcome.UNCLEAR) for wrong in (None, "None", "9" * 201)],
    ],
    check_request="GET /version1/user?username=a%26b",
    checks=[
        (told({"balance": "KES 1785.50"}), True, "", "1785.50 KES", {"username": "a&b"}),
        (told({"balance": "USD 0.00"}), False, "", "0.00 USD", {"username": "a&b"}),
        (told({"balance": None}), False, "", None, {"username": "a&b"}),
        (told([]), False, "", None, {"username": "a&b"}),
        (answer(401, b"invalid"), Outcome.MISCONFIGURED, "", None, {"username": "a&b"}),
    ],
    sign=call,
    forged=[(report(), {"has_webhook": False})],
    reports=[
        *statuses(
            {
                ReceiptStatus.SENT: "Sent Submitted Buffered",
                ReceiptStatus.SUCCESS: "Success",
                ReceiptStatus.FAILED: "Rejected Failed AbsentSubscriber",
                ReceiptStatus.EXPIRED: "Expired",
            },
            report,
            provider_message_id=ID,
        ),
        *reasons(
            {
                "InsufficientCredit": "credit",
                "UserIsInactive": "not active",
                "UserInBlackList": "opted out",
                "UserAccountSuspended": "barred",
                "NotNetworkSubscriber": "another network",
                "UserDoesNotExist": "does not exist",
                "DeliveryFailure": "did not deliver",
                "DoNotDisturbRejection": "do-not-disturb list",
                "about +4915112345678": "not delivered (Failed)",
            },
            lambda reason: report("Failed", failureReason=reason),
            opted_out="UserInBlackList",
        ),
        (report("Success", failureReason="UserInBlackList"), {"error": ""}),
        ({"senderId": "Shop", "phoneNumber": "+254711000111"}, (Consent("+254711000111", is_given=False),)),
        (
            call(b"senderId=Shop&phoneNumber=+254711000111", kind=FORM),  # its plus is bare
            (Consent("+254711000111", is_given=False),),
        ),
        *each([report("queued"), report(""), {"senderId": "Shop", "phoneNumber": "0711"}], ()),
        ({"senderId": "x", "phoneNumber": ""}, ()),
        *each([{"status": "Success"}, {"id": "", "status": "Success"}], HookUnreadable),
        ({"from": "+254711000111", "text": "STOP"}, HookUnreadable),
    ],
)
