"""Two names of the channel, and members that look like ours and are not."""

from types import SimpleNamespace

import pytest
from rest_framework import serializers

from tests.api.calls import problem, wrong_fields
from tests.conftest import ROOT
from verification.api.reference.schema import OVERVIEW
from verification.api.serializers import manual
from verification.api.serializers import session as sessions
from verification.core.addresses import parse_address
from verification.models import Message, Session

pytestmark = pytest.mark.django_db

PHONE = "+4915112345678"


@pytest.mark.parametrize("named", [{"channel": "voice"}, {"type": "voice"}, {"channel": "voice", "type": "voice"}])
def test_the_channel_has_two_names(api, named):
    assert api.create(**named).data["sent_to"] == "voice"
    session_id = api.create("jane@example.com", send=False).data["session_id"]
    for name in named:
        named = {**named, name: "email"}
    assert api.call("POST", "/session/send", {"session_id": session_id, **named}, key=api.api_key).status_code == 200
    assert sorted(Message.objects.values_list("channel", flat=True)) == ["email", "voice"]


@pytest.mark.parametrize("named", [{"channel": None, "type": "voice"}, {"channel": "voice", "type": None}])
def test_null_is_the_same_as_leaving_it_out(api, named):
    assert api.create(**named).data["sent_to"] == "voice"


def test_two_channels_are_a_wrong_field_and_send_nothing(api):
    assert wrong_fields(api.create(channel="voice", type="sms")) == ["channel"]
    session_id = api.create(send=False).data["session_id"]
    assert wrong_fields(api.send(session_id, "sms", channel="voice")) == ["channel"]
    assert not Message.objects.exists()


@pytest.mark.parametrize("channel", ["", "pigeon", 7, ["sms"]])
def test_a_wrong_channel_is_named_by_its_own_name(api, channel):
    session_id = api.create(send=False).data["session_id"]
    body = {"session_id": session_id, "channel": channel}
    assert wrong_fields(api.create(channel=channel)) == ["channel"]
    assert wrong_fields(api.call("POST", "/session/send", body, key=api.api_key)) == ["channel"]


def test_without_either_name_a_send_asks_for_type(api):
    session_id = api.create(send=False).data["session_id"]
    for body in ({}, {"channel": None}):
        answer = api.call("POST", "/session/send", {"session_id": session_id, **body}, key=api.api_key)
        assert wrong_fields(answer) == ["type"]


BODIES = {
    "/session/create": sessions.SessionCreateRequest,
    "/session/send": sessions.SessionSendRequest,
    "/manual/send": manual.ManualSendRequest,
}


@pytest.mark.parametrize(("path", "name"), [(path, name) for path, body in BODIES.items() for name in body().refused])
def test_what_looks_like_ours_is_refused_with_what_to_write(api, path, name):
    session_id = api.create(send=False).data["session_id"]
    body = {"session_id": session_id, "to": PHONE, "channel": "sms", name: "x"}
    answer = api.call("POST", path, body, key=api.key("secret" if path == "/manual/send" else "api"))
    assert problem(answer) == (400, "validation_error")
    [error] = answer.data["errors"]
    assert (error["field"], error["code"]) == (name, "unexpected") and error["detail"].endswith(".")
    assert not Message.objects.exists()


@pytest.mark.parametrize("name", ["phone", "email"])
def test_nobody_takes_a_check_or_a_verify_for_a_comparison_with_a_number(api, outbox, name):
    session_id = api.create().data["session_id"]
    body = {"session_id": session_id, "code": outbox.code, name: PHONE}
    assert wrong_fields(api.call("POST", "/session/check", body, key=api.api_key)) == [name]
    assert Session.objects.get().attempts == 0
    token = api.check(session_id, outbox.code).data["verify_token"]
    body = {"verify_token": token, name: PHONE}
    assert wrong_fields(api.call("POST", "/session/verify", body, key=api.secret_key)) == [name]
    assert api.verify(token).status_code == 200


def test_other_unknown_members_and_nulls_are_ignored(api):
    assert api.create(phone=None, language=None, sms=True, recipient="x", country="SE").status_code == 200


def test_the_description_names_what_is_refused():
    refused = {name for body in BODIES.values() for name in body().refused}
    assert {"phone", "email"} <= refused
    for text in (OVERVIEW.read_text(), (ROOT / "docs/integrate.md").read_text()):
        assert {name for name in refused if f"`{name}`" not in text} == set()


def test_a_name_that_becomes_a_field_is_taken():
    class WithLocale(sessions.SessionCreateRequest):
        locale = serializers.CharField()

    project = SimpleNamespace(read_address=parse_address)
    body = WithLocale(data={"to": PHONE, "locale": "de"}, context={"project": project})
    assert body.is_valid() and body.validated_data["locale"] == "de" and "language" in body.refused
