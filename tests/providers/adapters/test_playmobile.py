from __future__ import annotations

import base64

import pytest

from providers import registry
from providers.base import Outcome
from providers.errors import ProviderError, SettingsInvalid
from tests.fakes import http_server as fake
from tests.fakes.messages import error_of, make_sms

TYPE = "playmobile"
SETTINGS = {"base_url": "https://send.example.uz", "username": "shop", "password": "hush-hush", "sender": "3700"}
TAKEN = fake.answer(200, b"Request is received")


# Settings


@pytest.mark.parametrize(
    ("changes", "name"),
    [
        ({"base_url": ""}, "base_url"),
        ({"base_url": "http://send.example.uz"}, "base_url"),
        ({"base_url": "https://send.example.uz?x"}, "base_url"),
        ({"username": "a:b"}, "username"),
        ({"password": ""}, "password"),
        ({"sender": ""}, "sender"),
        ({"id_prefix": "a b"}, "id_prefix"),
    ],
)
def test_it_refuses_wrong_settings(changes, name):
    with pytest.raises(SettingsInvalid) as caught:
        registry.clean_settings(TYPE, {**SETTINGS, **changes})
    assert list(caught.value.errors) == [name]


# Sending


def test_it_sends_a_message(build, server):
    server.script(TAKEN)
    result = build(id_prefix="our").send(make_sms(to="+998901234567"))
    [request] = server.requests
    assert (request.method, request.target) == ("POST", "/broker-api/send")
    assert request.headers["authorization"] == "Basic " + base64.b64encode(b"shop:hush-hush").decode()
    assert request.headers["content-type"] == "application/json"
    assert request.body.decode() == (
        '{"messages":[{"recipient":"998901234567","message-id":"our42",'
        '"sms":{"originator":"3700","content":{"text":"Your code is 4711"}}}]}'
    )
    # No receipt will follow, so acceptance is the end.
    assert (result.outcome, result.provider_message_id, result.is_delivered) == (Outcome.ACCEPTED, "our42", True)


def test_a_country_s_sender_comes_first(build, server):
    server.script(TAKEN)
    build().send(make_sms(sender="Shop"))
    assert server.requests[0].json()["messages"][0]["sms"]["originator"] == "Shop"


def test_an_empty_text_is_not_applicable(build, server):
    assert error_of(build(), make_sms(text="")).outcome is Outcome.NOT_APPLICABLE
    assert server.requests == []


# The answer


@pytest.mark.parametrize("body", [b"Request is received", b"Request is received\r\n", b"request is received"])
def test_it_knows_the_sentence_of_an_acceptance(build, server, body):
    server.script(fake.answer(200, body))
    assert build().send(make_sms()).outcome is Outcome.ACCEPTED


@pytest.mark.parametrize("body", [b"", b"Request is received not", b"{}", b"OK"])
def test_any_other_sentence_is_unclear(build, server, body):
    server.script(fake.answer(200, body))
    assert error_of(build()).outcome is Outcome.UNCLEAR


@pytest.mark.parametrize(
    ("code", "outcome"),
    [
        (100, Outcome.TEMPORARY),
        (101, Outcome.MISCONFIGURED),
        (102, Outcome.MISCONFIGURED),
        (105, Outcome.MISCONFIGURED),
        (202, Outcome.REFUSED),
        (206, Outcome.MISCONFIGURED),
        (301, Outcome.MISCONFIGURED),
        (306, Outcome.MISCONFIGURED),
        (401, Outcome.MISCONFIGURED),
        (404, Outcome.MISCONFIGURED),
        (411, Outcome.MISCONFIGURED),
    ],
)
def test_it_reads_an_error_by_its_number(build, server, code, outcome):
    server.script(fake.answer(400, {"error-code": code, "error-description": "about 4915112345678"}))
    error = error_of(build())
    assert (error.outcome, error.provider_status) == (outcome, str(code))


def test_an_error_that_is_not_listed_was_not_sent(build, server):
    server.script(fake.answer(400, {"error-code": 999}))
    error = error_of(build())
    assert (error.outcome, error.provider_status) == (Outcome.DECLINED, "400")


# Check


def test_check_tries_the_way_only(build, server):
    assert "can be reached" in build().check().detail
    assert server.requests == []


def test_check_tells_that_the_host_is_away(build, server):
    adapter = build()
    server.close()
    with pytest.raises(ProviderError, match="connection refused"):
        adapter.check()
