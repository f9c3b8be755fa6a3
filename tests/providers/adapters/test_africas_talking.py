from __future__ import annotations

from decimal import Decimal

import pytest

from providers import registry
from providers.base import Consent, HookRequest, MessagePrice, Outcome, ReceiptStatus
from providers.errors import HookForged, HookUnreadable, ProviderError, SettingsInvalid
from tests.fakes import http_server as fake
from tests.fakes.hooks import call, receipts_of
from tests.fakes.messages import HOOK_URL, error_of, make_sms

TYPE = "africas_talking"
SETTINGS = {"username": "shop", "api_key": "atsk_abc", "sender": "Shop", "has_webhook": True}
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
    return {"SMSMessageData": {"Message": "Sent to 1/1 Total Cost: KES 0.8000", "Recipients": [told]}}


def report(status="Success", **changes):
    return {"id": ID, "status": status, "phoneNumber": "+4915112345678", "networkCode": "63902", **changes}


# Settings


@pytest.mark.parametrize(
    ("changes", "name"),
    [
        ({"username": ""}, "username"),
        ({"api_key": ""}, "api_key"),
        ({"api_key": "a b"}, "api_key"),
        ({"base_url": "http://api.africastalking.com"}, "base_url"),
    ],
)
def test_it_refuses_wrong_settings(changes, name):
    with pytest.raises(SettingsInvalid) as caught:
        registry.clean_settings(TYPE, {**SETTINGS, **changes})
    assert list(caught.value.errors) == [name]


def test_the_key_is_secret():
    values = registry.clean_settings(TYPE, {"username": "shop", "api_key": "x"})
    assert set(registry.split_secrets(TYPE, values)[1]) == {"api_key"}
    assert (values["base_url"], values["has_webhook"]) == ("https://api.africastalking.com", False)


# Sending


def test_it_sends_a_message(build, server):
    server.script(fake.answer(201, answered()))
    result = build().send(make_sms())
    [request] = server.requests
    assert (request.method, request.target) == ("POST", "/version1/messaging")
    assert (request.headers["apikey"], request.headers["accept"]) == ("atsk_abc", "application/json")
    assert request.headers["content-type"] == "application/x-www-form-urlencoded"
    assert request.body == b"username=shop&to=%2B4915112345678&message=Your+code+is+4711&bulkSMSMode=1&from=Shop"
    assert (result.outcome, result.provider_message_id) == (Outcome.ACCEPTED, ID)
    assert (result.provider_status, result.is_delivered) == ("101", False)


@pytest.mark.parametrize(
    ("settings", "sender", "sent"),
    [({}, "Laden", b"&from=Laden"), ({"sender": ""}, "", b"bulkSMSMode=1"), ({}, "", b"&from=Shop")],
)
def test_a_country_s_sender_comes_first(build, server, settings, sender, sent):
    server.script(fake.answer(201, answered()))
    build(**settings).send(make_sms(sender=sender))
    assert server.requests[0].body.endswith(sent)


@pytest.mark.parametrize(
    ("settings", "hook_url"), [({"has_webhook": False}, HOOK_URL), ({}, None), ({}, "https://10.0.0.5/hooks/1/2")]
)
def test_without_a_way_to_report_acceptance_is_the_end(build, server, settings, hook_url):
    server.script(fake.answer(201, answered()))
    assert build(**settings).send(make_sms(hook_url=hook_url)).is_delivered


def test_an_empty_text_is_not_applicable(build, server):
    assert error_of(build(), make_sms(text="")).outcome is Outcome.NOT_APPLICABLE
    assert server.requests == []


# The answer


@pytest.mark.parametrize("code", [100, 101, 102, "102"])
def test_what_is_processed_sent_or_queued_is_taken(build, server, code):
    server.script(fake.answer(201, answered(code)))
    assert build().send(make_sms()).provider_status == str(code)


@pytest.mark.parametrize(
    ("code", "outcome"),
    [
        (401, Outcome.DECLINED),
        (402, Outcome.DECLINED),
        (403, Outcome.REFUSED),
        (404, Outcome.DECLINED),
        (405, Outcome.OUT_OF_FUNDS),
        (406, Outcome.OPTED_OUT),
        (407, Outcome.DECLINED),
        (409, Outcome.DECLINED),
        (500, Outcome.TEMPORARY),
        (501, Outcome.TEMPORARY),
        (502, Outcome.DECLINED),
        (999, Outcome.DECLINED),
    ],
)
def test_it_reads_a_refusal_by_its_number(build, server, code, outcome):
    server.script(fake.answer(201, answered(code, messageId="None", cost="0", status="about +4915112345678")))
    error = error_of(build())
    assert (error.outcome, error.provider_status, error.is_suppressed) == (outcome, str(code), False)


@pytest.mark.parametrize(
    ("word", "outcome"),
    [
        ("InvalidSenderId", Outcome.DECLINED),
        ("InsufficientBalance", Outcome.OUT_OF_FUNDS),
        ("RiskHold", Outcome.DECLINED),
        ("something new about +4915112345678", Outcome.DECLINED),
    ],
)
def test_it_reads_the_refusal_of_a_whole_request_by_its_word(build, server, word, outcome):
    server.script(fake.answer(201, {"SMSMessageData": {"Message": word, "Recipients": []}}))
    assert error_of(build()).outcome is outcome


@pytest.mark.parametrize(
    ("status", "outcome"),
    [
        (400, Outcome.DECLINED),
        (401, Outcome.MISCONFIGURED),
        (429, Outcome.RATE_LIMITED),
        (500, Outcome.TEMPORARY),
        (502, Outcome.UNKNOWN),
    ],
)
def test_without_a_number_the_status_of_http_decides(build, server, status, outcome):
    server.script(fake.answer(status, b"The supplied authentication is invalid"))
    assert error_of(build()).outcome is outcome


@pytest.mark.parametrize(
    "data",
    [
        {},
        {"SMSMessageData": []},
        answered("x"),
        answered(messageId=None),
        answered(messageId="None"),
        answered(messageId="9" * 201),
    ],
)
def test_an_answer_without_an_id_is_unclear(build, server, data):
    server.script(fake.answer(201, data))
    assert error_of(build()).outcome is Outcome.UNCLEAR


@pytest.mark.parametrize(
    ("cost", "price"),
    [("KES 0.8000", MessagePrice(Decimal("0.8"), "KES")), ("0", None), (None, None), ("KES x", None), (0.8, None)],
)
def test_the_answer_tells_the_price(build, server, cost, price):
    server.script(fake.answer(201, answered(cost=cost)))
    assert build().send(make_sms()).price == price


# Check


@pytest.mark.parametrize(
    ("told", "is_ok", "balance"),
    [
        ({"balance": "KES 1785.50"}, True, "1785.50 KES"),
        ({"balance": "USD 0.00"}, False, "0.00 USD"),
        ({"balance": None}, False, None),
        ([], False, None),
    ],
)
def test_check_tells_the_balance(build, server, told, is_ok, balance):
    server.script(fake.answer(200, {"UserData": told}))
    health = build(username="a&b").check()
    assert [(request.method, request.target) for request in server.requests] == [
        ("GET", "/version1/user?username=a%26b")
    ]
    assert (health.is_ok, health.balance) == (is_ok, balance)


def test_check_tells_of_a_wrong_key(build, server):
    server.script(fake.answer(401, b"The supplied authentication is invalid"))
    with pytest.raises(ProviderError) as caught:
        build().check()
    assert caught.value.outcome is Outcome.MISCONFIGURED


# Reading receipts


@pytest.mark.parametrize(
    ("word", "ours"),
    [
        ("Sent", ReceiptStatus.SENT),
        ("Submitted", ReceiptStatus.SENT),
        ("Buffered", ReceiptStatus.SENT),
        ("Success", ReceiptStatus.SUCCESS),
        ("Rejected", ReceiptStatus.FAILED),
        ("Failed", ReceiptStatus.FAILED),
        ("AbsentSubscriber", ReceiptStatus.FAILED),
        ("Expired", ReceiptStatus.EXPIRED),
    ],
)
def test_it_reads_a_status(build, word, ours):
    [found] = receipts_of(build(), call(report(word)))
    assert (found.status, found.provider_message_id, found.provider_status) == (ours, ID, word)
    assert bool(found.error) == (ours in (ReceiptStatus.FAILED, ReceiptStatus.EXPIRED))


@pytest.mark.parametrize(
    ("reason", "words"),
    [
        ("InsufficientCredit", "credit"),
        ("UserIsInactive", "not active"),
        ("UserInBlackList", "opted out"),
        ("UserAccountSuspended", "barred"),
        ("NotNetworkSubscriber", "another network"),
        ("UserDoesNotExist", "does not exist"),
        ("DeliveryFailure", "did not deliver"),
        ("DoNotDisturbRejection", "do-not-disturb list"),
        ("about +4915112345678", "not delivered (Failed)"),
    ],
)
def test_it_tells_why_a_message_failed_in_our_words(build, reason, words):
    [found] = receipts_of(build(), call(report("Failed", failureReason=reason)))
    assert words in found.error and "4915112345678" not in found.error
    assert found.is_opted_out is (reason == "UserInBlackList")


def test_a_delivered_message_suppresses_nobody(build):
    [found] = receipts_of(build(), call(report("Success", failureReason="UserInBlackList")))
    assert not found.is_opted_out and not found.error


def test_an_opt_out_ends_messages_to_that_phone(build):
    notice = call({"senderId": "Shop", "phoneNumber": "+254711000111"})
    assert receipts_of(build(), notice) == (Consent("+254711000111", is_given=False),)


def test_an_opt_out_is_read_though_its_plus_is_bare(build):
    bare = call(b"senderId=Shop&phoneNumber=+254711000111", kind="application/x-www-form-urlencoded")
    assert receipts_of(build(), bare) == (Consent("+254711000111", is_given=False),)


@pytest.mark.parametrize(
    "fields",
    [report("queued"), report(""), {"senderId": "Shop", "phoneNumber": "0711"}, {"senderId": "x", "phoneNumber": ""}],
)
def test_it_passes_over_what_changes_nothing(build, fields):
    assert receipts_of(build(), call(fields)) == ()


@pytest.mark.parametrize(
    "fields", [{"status": "Success"}, {"id": "", "status": "Success"}, {"from": "+254711000111", "text": "STOP"}]
)
def test_it_does_not_read_a_report_that_names_no_message(build, fields):
    with pytest.raises(HookUnreadable):
        build().parse_hook(call(fields))


def test_no_report_is_believed_where_none_is_set_up(build):
    with pytest.raises(HookForged):
        build(has_webhook=False).verify_hook(call(report()))
    with pytest.raises(HookForged):
        build().verify_hook(HookRequest("GET", HOOK_URL, "", {}, b""))


@pytest.mark.parametrize(
    "told",
    [
        {"Message": "Sent to 0/1 Total Cost: 0", "Recipients": []},
        {"Message": "Sent to 0/1 Total Cost: 0", "Recipients": [{"status": "Could Not Send", "messageId": "None"}]},
        {"Message": "Something new", "Recipients": [{}]},
        {"Recipients": []},
    ],
)
def test_a_message_that_was_sent_to_nobody_has_failed(build, server, told):
    server.script(fake.answer(201, {"SMSMessageData": told}))
    assert error_of(build()).outcome is Outcome.DECLINED
