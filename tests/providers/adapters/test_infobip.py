from __future__ import annotations

import json
from decimal import Decimal

import pytest

from providers import registry
from providers.base import MessagePrice, Outcome, ReceiptStatus
from providers.errors import HookUnreadable, ProviderError, SettingsInvalid
from tests.fakes import http_server as fake
from tests.fakes.hooks import call, receipts_of
from tests.fakes.messages import error_of, make_sms

TYPE = "infobip"
SETTINGS = {"base_url": "https://xyz123.api.infobip.com", "api_key": "hush-hush", "sender": "Shop"}


def answer(group="PENDING", id=26, name="PENDING_ACCEPTED", message_id="42", **headers):
    status = {"groupId": 1, "groupName": group, "id": id, "name": name, "description": "about 4915112345678"}
    sent = {
        "messageId": message_id,
        "status": status,
        "destination": "4915112345678",
        "details": {"messageCount": 1},
    }
    return fake.answer(200, {"bulkId": "2034072219640523072", "messages": [sent]}, headers)


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


# Settings


@pytest.mark.parametrize(
    ("changes", "name"),
    [
        ({"base_url": ""}, "base_url"),
        ({"base_url": "http://xyz123.api.infobip.com"}, "base_url"),
        ({"base_url": "https://xyz123.api.infobip.com/?x"}, "base_url"),
        ({"api_key": ""}, "api_key"),
        ({"api_key": "hush hush"}, "api_key"),
        ({"api_key": "hüsh"}, "api_key"),
        ({"sender": ""}, "sender"),
    ],
)
def test_it_refuses_wrong_settings(changes, name):
    with pytest.raises(SettingsInvalid) as caught:
        registry.clean_settings(TYPE, {**SETTINGS, **changes})
    assert list(caught.value.errors) == [name]


def test_the_key_is_secret():
    assert set(registry.split_secrets(TYPE, registry.clean_settings(TYPE, SETTINGS))[1]) == {"api_key"}


# Sending


def test_it_sends_a_message(build, server):
    server.script(answer())
    result = build().send(make_sms())
    [request] = server.requests
    assert (request.method, request.target) == ("POST", "/sms/3/messages")
    assert request.headers["authorization"] == "App hush-hush"
    assert (request.headers["content-type"], request.headers["accept"]) == ("application/json", "application/json")
    assert request.body.decode() == (
        '{"messages":[{"sender":"Shop","destinations":[{"to":"4915112345678","messageId":"42"}],'
        '"content":{"text":"Your code is 4711"},"options":{"validityPeriod":{"amount":180,"timeUnit":"SECONDS"}},'
        '"webhooks":{"delivery":{"url":"https://codes.example/hooks/1/2","intermediateReport":false,"notify":true},'
        '"contentType":"application/json","callbackData":"42"}}],"options":{"includeSmsCountInResponse":true}}'
    )
    assert (result.outcome, result.provider_message_id) == (Outcome.ACCEPTED, "42")
    assert (result.provider_status, result.is_delivered) == ("PENDING_ACCEPTED", False)


def test_a_text_goes_out_as_it_is(build, server):
    server.script(answer())
    build().send(make_sms(text="Код 4711 😀"))
    assert server.requests[0].json()["messages"][0]["content"] == {"text": "Код 4711 😀"}


@pytest.mark.parametrize(("seconds", "amount"), [(-5, 1), (0, 1), (179, 179), (200_000, 172_800)])
def test_the_validity_keeps_its_bounds(build, server, seconds, amount):
    server.script(answer())
    build().send(make_sms(expires_in=seconds))
    options = server.requests[0].json()["messages"][0]["options"]
    assert options == {"validityPeriod": {"amount": amount, "timeUnit": "SECONDS"}}


@pytest.mark.parametrize(("sender", "sent"), [("", "Shop"), ("Laden", "Laden"), ("+4930123456", "4930123456")])
def test_a_country_s_sender_comes_first(build, server, sender, sent):
    server.script(answer())
    build().send(make_sms(sender=sender))
    assert server.requests[0].json()["messages"][0]["sender"] == sent


@pytest.mark.parametrize(
    ("ids", "dlt"),
    [
        ({"dlt_entity_id": "11", "dlt_template_id": "22"}, {"principalEntityId": "11", "contentTemplateId": "22"}),
        ({"dlt_entity_id": "11"}, {"principalEntityId": "11"}),
    ],
)
def test_india_s_ids_go_along(build, server, ids, dlt):
    server.script(answer())
    build().send(make_sms(**ids))
    assert server.requests[0].json()["messages"][0]["options"]["regional"] == {"indiaDlt": dlt}


@pytest.mark.parametrize("hook_url", [None, "http://10.1.1.1/hooks/1/2", "https://10.0.0.5/hooks/1/2"])
def test_without_a_way_to_report_acceptance_is_the_end(build, server, hook_url):
    server.script(answer())
    assert build().send(make_sms(hook_url=hook_url)).is_delivered
    assert "webhooks" not in server.requests[0].json()["messages"][0]


def test_an_empty_text_is_not_applicable(build, server):
    assert error_of(build(), make_sms(text="")).outcome is Outcome.NOT_APPLICABLE
    assert server.requests == []


# The answer


@pytest.mark.parametrize("group", ["ACCEPTED", "PENDING", "DELIVERED"])
def test_it_reads_an_acceptance(build, server, group):
    server.script(answer(group))
    assert build().send(make_sms()).outcome is Outcome.ACCEPTED


@pytest.mark.parametrize(
    ("id", "name", "outcome"),
    [
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
    ],
)
@pytest.mark.parametrize("group", ["REJECTED", "UNDELIVERABLE", "EXPIRED"])
def test_it_reads_a_refusal_by_its_number(build, server, group, id, name, outcome):
    server.script(answer(group, id, name))
    error = error_of(build())
    assert (error.outcome, error.provider_status) == (outcome, str(id))
    assert name in str(error)


def test_it_passes_on_how_long_to_wait(build, server):
    server.script(answer("REJECTED", 20, "REJECTED_FLOODING_FILTER", **{"Retry-After": "7"}))
    assert error_of(build()).retry_after == 7


def v3(code, *properties):
    violations = [{"property": name, "violation": "4915112345678 is not valid"} for name in properties]
    return {"errorCode": code, "description": "x", "action": "y", "violations": violations, "resources": []}


def older(word):
    return {"requestError": {"serviceException": {"messageId": word, "text": "about 4915112345678"}}}


@pytest.mark.parametrize(
    ("http_status", "body", "outcome", "status"),
    [
        (400, v3("E400"), Outcome.DECLINED, "E400"),
        (400, v3("E400", "messages[0].sender"), Outcome.DECLINED, "E400"),
        (400, v3("E400", "messages[0].destinations[0].to"), Outcome.REFUSED, "E400"),
        (401, v3("E401"), Outcome.MISCONFIGURED, "E401"),
        (403, v3("E403"), Outcome.MISCONFIGURED, "E403"),
        (429, v3("E429"), Outcome.RATE_LIMITED, "E429"),
        (500, v3("E500"), Outcome.TEMPORARY, "E500"),
        (401, older("UNAUTHORIZED"), Outcome.MISCONFIGURED, "UNAUTHORIZED"),
        (400, older("BAD_REQUEST"), Outcome.DECLINED, "BAD_REQUEST"),
        (429, older("TOO_MANY_REQUESTS"), Outcome.RATE_LIMITED, "TOO_MANY_REQUESTS"),
        (503, v3("E999"), Outcome.TEMPORARY, "E999"),
        (400, v3("code 4711"), Outcome.DECLINED, "400"),
        (400, {"requestError": []}, Outcome.DECLINED, "400"),
    ],
)
def test_it_reads_the_errors_of_both_versions(build, server, http_status, body, outcome, status):
    server.script(fake.answer(http_status, body, {"Retry-After": "4"} if http_status == 429 else None))
    error = error_of(build())
    assert (error.outcome, error.provider_status) == (outcome, status)
    assert error.retry_after == (4 if http_status == 429 else None)


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"messages": []},
        {"messages": ["x"]},
        {"messages": [{"messageId": "42"}]},
        {"messages": [{"messageId": "42", "status": "PENDING"}]},
        {"messages": [{"messageId": "42", "status": {"groupName": "NEW"}}]},
        {"messages": [{"messageId": "42", "status": {"groupName": 1}}]},
        {"messages": [{"messageId": "42", "status": {"groupName": []}}]},
        {"messages": [{"messageId": "", "status": {"groupName": "PENDING"}}]},
        {"messages": [{"messageId": 42, "status": {"groupName": "PENDING"}}]},
    ],
)
def test_an_answer_that_makes_no_sense_is_unclear(build, server, body):
    server.script(fake.answer(200, body))
    assert error_of(build()).outcome is Outcome.UNCLEAR


# Check


@pytest.mark.parametrize(
    ("answered", "is_ok", "balance"),
    [
        ({"balance": 47.79134, "currency": "EUR"}, True, "47.79134 EUR"),
        ({"balance": 0, "currency": "USD"}, False, "0 USD"),
        ({"balance": 5}, False, None),
        ([], False, None),
    ],
)
def test_check_tells_the_balance(build, server, answered, is_ok, balance):
    server.script(fake.answer(200, answered))
    health = build().check()
    [request] = server.requests
    assert (request.method, request.target) == ("GET", "/account/1/balance")
    assert request.headers["authorization"] == "App hush-hush"
    assert (health.is_ok, health.balance) == (is_ok, balance)


def test_check_tells_of_a_wrong_key(build, server):
    server.script(fake.answer(401, older("UNAUTHORIZED")))
    with pytest.raises(ProviderError, match="API key is not accepted") as caught:
        build().check()
    assert caught.value.outcome is Outcome.MISCONFIGURED


# Reading reports


@pytest.mark.parametrize(
    ("group", "name", "ours"),
    [
        ("PENDING", "PENDING_ENROUTE", ReceiptStatus.SENT),
        ("DELIVERED", "DELIVERED_TO_HANDSET", ReceiptStatus.SUCCESS),
        ("UNDELIVERABLE", "UNDELIVERABLE_NOT_DELIVERED", ReceiptStatus.FAILED),
        ("REJECTED", "REJECTED_NETWORK", ReceiptStatus.FAILED),
        ("EXPIRED", "EXPIRED_EXPIRED", ReceiptStatus.EXPIRED),
    ],
)
def test_it_reads_a_status(build, group, name, ours):
    [found] = receipts_of(build(), report(result(group, 9, name)))
    assert (found.status, found.provider_message_id, found.message_id) == (ours, "42", 42)
    assert found.provider_status.startswith(name)
    assert bool(found.error) == (ours in (ReceiptStatus.FAILED, ReceiptStatus.EXPIRED))


@pytest.mark.parametrize(
    ("group", "name"),
    [
        ("PENDING", "PENDING_ACCEPTED"),
        ("PENDING", "PENDING_WAITING_DELIVERY"),
        ("ACCEPTED", ""),
        ("NEW", "NEW"),
        (5, 5),
    ],
)
def test_it_passes_over_what_changes_nothing(build, group, name):
    assert receipts_of(build(), report(result(group, 26, name))) == ()


@pytest.mark.parametrize(
    ("group", "id", "error", "words", "is_opted_out"),
    [
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
    ],
)
def test_it_tells_why_a_message_failed(build, group, id, error, words, is_opted_out):
    [found] = receipts_of(build(), report(result(group, id, "SOME_NAME", error)))
    assert words in found.error and found.is_opted_out is is_opted_out
    assert "4915112345678" not in found.error + found.provider_status


def test_a_delivered_message_suppresses_nobody(build):
    [found] = receipts_of(build(), report(result(error=(2050, "EC_DEST_ADDRESS_BLACKLISTED", True))))
    assert not found.is_opted_out and not found.error


def test_one_call_brings_many_reports(build):
    results = [result(), "x", {}, result(messageId=5), result(status="x"), result(messageId="43", callbackData="43")]
    found = receipts_of(build(), report(*results))
    assert [(receipt.provider_message_id, receipt.message_id) for receipt in found] == [("42", 42), ("43", 43)]


@pytest.mark.parametrize("data", [None, "", "x", 42, "9" * 19])
def test_data_that_is_not_ours_is_left_out(build, data):
    [found] = receipts_of(build(), report(result(callbackData=data)))
    assert (found.message_id, found.provider_message_id) == (None, "42")


@pytest.mark.parametrize("body", [b"", b"x", b"[]", b"{}", b'{"results":{}}', b"[" * 60_000, b"\xff"])
def test_it_does_not_read_what_is_no_report(build, body):
    with pytest.raises(HookUnreadable):
        build().parse_hook(call(body))


# Prices


def test_a_receipt_tells_the_price_of_all_its_messages(build):
    [two] = receipts_of(build(), report(result(messageCount=2)))
    [unknown] = receipts_of(build(), report(result(price=None)))
    assert (two.price, unknown.price) == (MessagePrice(Decimal("0.02"), "EUR"), None)
