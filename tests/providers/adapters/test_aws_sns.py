"""Against moto, which answers as Amazon does; what it cannot do is answered byte for byte."""

from __future__ import annotations

import logging
from urllib.parse import parse_qs

import pytest

from providers import registry
from providers.base import Outcome
from providers.errors import AddressBlocked
from providers.http.client import HttpClient
from tests.fakes import http_server as fake
from tests.fakes.messages import make_sms
from tests.fakes.store import FakeStore
from tests.providers.vendors import Vendor

TYPE = "aws_sns"
LOOPBACK = ("127.0.0.0/8",)
SETTINGS = {"region": "eu-central-1", "access_key_id": "AKIA1234567890", "secret_access_key": "hush-hush"}


@pytest.fixture(scope="module")
def amazon():
    from moto.server import ThreadedMotoServer

    logging.getLogger("werkzeug").disabled = True
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0)
    server.start()
    yield "http://{}:{}".format(*server.get_host_and_port())
    server.stop()


@pytest.fixture
def adapter(amazon):
    """An adapter with the usual time, because moto is slow with its first answer."""
    settings = registry.clean_settings(TYPE, {**SETTINGS, "base_url": amazon}, LOOPBACK)
    return registry.build(TYPE, settings, http=HttpClient(LOOPBACK), store=FakeStore())


def failure(status, code, text="about +4915112345678"):
    body = f"<ErrorResponse><Error><Type>Sender</Type><Code>{code}</Code><Message>{text}</Message></Error>"
    return fake.answer(status, f"{body}<RequestId>1</RequestId></ErrorResponse>".encode(), {"Content-Type": "text/xml"})


def taken(identity="5f4dcc3b"):
    body = f"<PublishResponse><PublishResult><MessageId>{identity}</MessageId></PublishResult></PublishResponse>"
    return fake.answer(200, body.encode(), {"Content-Type": "text/xml"})


VENDOR = Vendor(
    type=TYPE,
    settings=SETTINGS,
    secrets="secret_access_key",
    wrong={
        "region": ["", "evil.example/", "eu-central-1.evil.example"],
        "access_key_id": ["a b"],
        "secret_access_key": [""],
        "sender": ["a name that is too long"],
        "max_price": ["a lot"],
        "base_url": ["http://127.0.0.1:5000", "https://169.254.169.254"],
    },
    taken=taken(),
    refusals=[
        *[
            (failure(int(pair[:3]), pair[4:]), outcome, pair[4:])
            for outcome, pairs in {
                Outcome.DECLINED: "400:InvalidParameter 400:ParameterValueInvalid",
                Outcome.OPTED_OUT: "400:OptedOut",
                Outcome.MISCONFIGURED: "403:AuthorizationError 403:InvalidClientTokenId 403:SignatureDoesNotMatch",
                Outcome.RATE_LIMITED: "400:Throttling 400:ThrottledException",
                Outcome.TEMPORARY: "500:InternalError 503:ServiceUnavailable",
            }.items()
            for pair in pairs.split()
        ],
        (failure(400, "SomethingNew"), Outcome.DECLINED, "400"),
        (failure(500, "SomethingNew"), Outcome.TEMPORARY, "500"),
    ],
    checks=[(failure(403, "InvalidClientTokenId"), Outcome.MISCONFIGURED, "access key is not valid")],
)


# Against moto


def test_it_sends_a_message(adapter):
    from moto.core import DEFAULT_ACCOUNT_ID
    from moto.sns import sns_backends

    result = adapter.send(make_sms(text="Код 4711"))
    [sent] = sns_backends[DEFAULT_ACCOUNT_ID]["eu-central-1"].sms_messages.values()
    assert sent == ("+4915112345678", "Код 4711")
    assert result.outcome is Outcome.ACCEPTED and len(result.provider_message_id) == 36
    assert result.is_delivered  # nothing will be reported


def test_check_asks_for_the_account_s_attributes(adapter):
    health = adapter.check()
    assert health.is_ok and health.balance is None


# On the wire


def test_it_signs_and_asks_once(build, server):
    server.script(taken())
    result = build(sender="Shop", max_price="0.25").send(make_sms(dlt_entity_id="11", dlt_template_id="22"))
    [request] = server.requests
    form = {name: values[0] for name, values in parse_qs(request.body.decode()).items()}
    entries = [
        (form[f"MessageAttributes.entry.{index}.Name"], form[f"MessageAttributes.entry.{index}.Value.StringValue"])
        for index in range(1, 6)
    ]
    assert (form["Action"], form["PhoneNumber"], form["Message"]) == ("Publish", "+4915112345678", "Your code is 4711")
    assert entries == [
        ("AWS.SNS.SMS.SMSType", "Transactional"),
        ("AWS.SNS.SMS.SenderID", "Shop"),
        ("AWS.MM.SMS.EntityId", "11"),
        ("AWS.MM.SMS.TemplateId", "22"),
        ("AWS.SNS.SMS.MaxPrice", "0.25"),
    ]
    assert form["MessageAttributes.entry.5.Value.DataType"] == "Number"
    assert "AKIA1234567890" in request.headers["authorization"]
    assert result.provider_message_id == "5f4dcc3b"


def test_a_number_is_another_attribute_than_a_name(build, server):
    server.script(taken())
    build().send(make_sms(sender="4930123456"))
    assert b"AWS.MM.SMS.OriginationNumber" in server.requests[0].body
    assert b"%2B4930123456" in server.requests[0].body and b"SenderID" not in server.requests[0].body


def test_check_tells_the_spend_limit(build, server):
    entry = "<entry><key>MonthlySpendLimit</key><value>50</value></entry>"
    body = f"<R><GetSMSAttributesResult><attributes>{entry}</attributes></GetSMSAttributesResult></R>"
    server.script(fake.answer(200, body.encode(), {"Content-Type": "text/xml"}))
    assert "50 USD a month" in build().check().detail
    assert b"Action=GetSMSAttributes" in server.requests[0].body


# The guard


def test_the_environment_says_nothing(build, server, monkeypatch):
    """Neither a proxy nor an endpoint nor a profile of the operator's is a tenant's."""
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_SNS"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    monkeypatch.setenv("AWS_PROFILE", "the-operator")
    server.script(taken())
    assert build(access_key_id="AKIAOTHER").send(make_sms()).outcome is Outcome.ACCEPTED


def test_amazon_s_own_address_is_judged_when_it_is_connected_to(server):
    """Its name is fixed; should it lead inside, nothing is connected to."""
    door = HttpClient(resolver=lambda *_: ["10.0.0.7"])
    adapter = registry.build(TYPE, registry.clean_settings(TYPE, SETTINGS), http=door, store=FakeStore())
    with pytest.raises(AddressBlocked, match=r"sns\.eu-central-1\.amazonaws\.com is not a public address"):
        adapter.send(make_sms())
