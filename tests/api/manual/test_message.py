"""Reading what became of a manual send."""

import pytest

from providers.base import Outcome, Result
from tests.api.calls import problem
from verification.models import Message

pytestmark = pytest.mark.django_db


def test_a_delivered_message_is_a_success(api, outbox):
    message_id = api.manual_send(channel="voice").data["message_id"]
    assert len(outbox.messages) == 1
    assert api.manual_message(message_id).data == {
        "id": message_id,
        "channel": "voice",
        "status": "success",
        "error": None,
    }


def test_an_accepted_message_that_awaits_its_receipt_is_sent(api, outbox):
    outbox.answer("sms first", Result.accepted("p-1"))
    message_id = api.manual_send().data["message_id"]
    assert len(outbox.messages) == 1
    assert api.manual_message(message_id).data["status"] == "sent"


def test_a_failed_message_tells_why(api, outbox):
    outbox.answer("sms first", Result(Outcome.REFUSED, error="There is no such number."))
    message_id = api.manual_send().data["message_id"]
    assert outbox.messages == []
    read = api.manual_message(message_id).data
    assert (read["status"], read["error"]) == ("failed", "There is no such number.")


def test_the_message_of_a_session_is_not_found(api):
    api.create()
    assert problem(api.manual_message(Message.objects.get().pk)) == (404, "message_not_found")


@pytest.mark.requirement(103)
@pytest.mark.parametrize(
    "text",
    [
        "0",
        "-1",
        "+1",
        "1.0",
        "1e3",
        "0x1",
        "abc",
        "null",
        "9007199254740992",
        "99999999999999999999",
        "9" * 5000,
        "%00",
        "1%00",
        "%20",
        "1%20",
        "%0A",
        "%D9%A1",
        "%EF%BC%91",
        "%FF",
        "'",
        "1;drop",
    ],
)
def test_what_is_no_message_id_is_not_found(api, text):
    assert problem(api.manual_message(text)) == (404, "message_not_found")
