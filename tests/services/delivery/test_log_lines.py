"""Lines of the log about deliveries and errors: what they are about stands in fields, and one event has one text."""

import json
import logging

import psycopg
import pytest
from django.db import OperationalError
from django.test import RequestFactory

from config.logs import formatter
from providers.base import Outcome, Result
from verification.api import exceptions
from verification.contrib.twilio import answers
from verification.models import Message, Provider
from verification.services.delivery import dispatch
from verification.worker import tasks

pytestmark = pytest.mark.django_db


@pytest.fixture
def lines(caplog):
    """Return the lines with this event, as a machine reads them."""
    caplog.set_level(logging.INFO)
    write = formatter("json").format

    def of(event):
        written = [json.loads(write(record)) for record in caplog.records]
        return [line for line in written if line["event"] == event]

    return of


@pytest.mark.parametrize("request_id", ["", "order.4711"])
def test_a_refused_message_is_found_by_its_request_message_and_provider(api, outbox, lines, request_id):
    outbox.answer("sms first", Result(Outcome.TEMPORARY, error="busy"))
    sent = api.manual_send(headers={"x-request-id": request_id} if request_id else {})
    dispatch.deliver(sent.data["message_id"])
    [line] = lines("a provider did not accept a message")
    provider = Provider.objects.get(name="sms first")
    told = {name: line[name] for name in ("request_id", "message_id", "provider", "provider_name", "outcome", "error")}
    assert told == {
        "request_id": request_id or sent["X-Request-Id"],
        "message_id": int(sent.data["message_id"]),
        "provider": provider.pk,
        "provider_name": provider.name,
        "outcome": "temporary",
        "error": "busy",
    }
    assert "4915112345678" not in json.dumps(line)


def test_a_line_about_a_sessions_message_names_the_request_that_made_the_session(api, outbox, lines):
    outbox.answer("sms first", Result(Outcome.TEMPORARY, error="busy"))
    response = api.create()
    dispatch.deliver(Message.objects.get().pk)
    [line] = lines("a provider did not accept a message")
    assert line["request_id"] == response["X-Request-Id"]


def test_a_delivery_that_the_database_refuses_is_told_by_its_sqlstate(api, lines, monkeypatch):
    response = api.create()

    def deliver(*_, **__):
        raise OperationalError("could not extend file") from psycopg.errors.DiskFull("could not extend file")

    monkeypatch.setattr(dispatch, "deliver", deliver)
    tasks.deliver_message.fn(Message.objects.get().pk)
    [line] = lines("delivery failed")
    assert (line["request_id"], line["error"]) == (response["X-Request-Id"], "DiskFull (53100)")


@pytest.mark.parametrize("face", ["/session/settings", "/v2/Services/x/Verifications"])
def test_an_error_of_ours_has_its_request_in_a_field(lines, face):
    request = RequestFactory().get(face)
    request.id = "ticket-4711"
    was_sent = "+4915112345678"
    try:
        raise KeyError(was_sent)
    except KeyError as error:
        if face.startswith("/v2"):
            assert answers.refused(error, request).status_code == 500
        else:
            assert exceptions.to_refusal(error, request).problem_code == "internal_error"
    [line] = lines("a request failed")
    assert (line["request_id"], line["error"]) == ("ticket-4711", "KeyError")
    assert "test_log_lines.py" in line["places"] and was_sent not in json.dumps(line)
