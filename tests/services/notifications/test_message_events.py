"""Telling the customer's server how messages ended, and that a code did not arrive."""

import pytest

from providers.base import Outcome, Result
from tests import clock
from verification.models import Message, Session, WebhookEvent
from verification.services.delivery import sweep
from verification.services.notifications.payloads import body_of, webhook_id
from verification.sql import call_many
from verification.sql.rows import DescribedEvent

pytestmark = pytest.mark.django_db

FINISHED, UNDELIVERED = "message.finished", "session.undelivered"
URL = "https://shop.example/callback"


@pytest.fixture
def listening(project):
    """A project that wants both events, and has no address to be called at."""
    return project.set(events=[FINISHED, UNDELIVERED])


def described():
    return call_many(DescribedEvent, "events_to_tell", ids=list(WebhookEvent.objects.values_list("pk", flat=True)))


def told():
    return [(row.type, body_of(row)) for row in described()]


def refuse(outbox, name="sms first"):
    outbox.answer(name, Result(Outcome.REFUSED, error="There is no such number."))


def test_the_end_of_each_message_is_told_with_its_session(api, outbox, listening):
    session_id = api.create(reference="login-1").data["session_id"]
    api.manual_send("jane@example.com", "email")
    outbox.deliver()
    (first, of_session), (second, of_manual) = told()
    assert first == second == FINISHED
    assert (of_session["status"], of_session["session_id"], of_session["reference"]) == (
        *("success", session_id, "login-1"),
    )
    assert set(of_manual) == {"id", "channel", "status", "error", "finished_at"}
    assert [webhook_id(row) for row in described()] == [f"msg_{of_session['id']}", f"msg_{of_manual['id']}"]


def test_one_that_named_an_address_is_told_there_alone(api, outbox, listening):
    listening.set(event_url="https://shop.example/events")
    api.manual_send(callback_url=URL)
    outbox.deliver()
    assert [row.url for row in described()] == [URL]


@pytest.mark.parametrize(("address", "is_due"), [("", False), ("https://shop.example/events", True)])
def test_without_an_address_it_is_kept_for_listeners(api, outbox, listening, address, is_due):
    listening.set(event_url=address)
    api.create()
    outbox.deliver()
    event = WebhookEvent.objects.get()
    assert (event.due_at is not None, described()[0].url) == (is_due, address)


def test_who_wants_neither_is_told_nothing(api, project, outbox):
    project.set(events=["session.verified"])
    refuse(outbox)
    api.create()
    outbox.deliver()
    assert told() == []


def test_the_message_of_a_test_login_is_told_as_any(api, listening):
    listening.test_login("+4915112345678", "424242")
    api.create()
    [(kind, body)] = told()
    assert (kind, body["status"]) == (FINISHED, "success")


def test_a_code_that_did_not_arrive_is_told_with_its_channel(api, outbox, listening):
    refuse(outbox)
    session_id = api.create(reference="login-1").data["session_id"]
    outbox.deliver()
    (_, finished), (kind, body) = told()
    assert (finished["status"], kind) == ("failed", UNDELIVERED)
    data = body["data"]
    assert [data[name] for name in ("session_id", "reference", "channel", "reason")] == [
        *(session_id, "login-1", "sms", "failed")
    ]
    assert data["recipient"] != "+4915112345678"


def test_a_code_that_could_not_be_sent_in_time_did_not_arrive(api, listening):
    api.create()
    clock.forward(180)
    sweep.expire_messages()
    assert [(kind, body["data"]["reason"]) for kind, body in told() if kind == UNDELIVERED] == [
        (UNDELIVERED, "expired")
    ]
    assert [body["status"] for kind, body in told() if kind == FINISHED] == ["expired"]


def test_one_whose_receipt_did_not_come_may_have_arrived(api, outbox, listening):
    outbox.answer("sms first", Result.accepted("c-1"))
    api.create()
    outbox.deliver()
    assert Message.objects.get().status == "sent"
    clock.forward(clock.DAY)
    sweep.expire_messages()
    assert Message.objects.get().status == "expired"
    assert [kind for kind, _ in told()] == [FINISHED]


@pytest.mark.parametrize("ended", ["verified_at", "cancelled_at"])
def test_a_session_that_needs_the_code_no_more_is_not_told(api, listening, ended):
    api.create()
    Session.objects.update(**{ended: Session.objects.get().created_at})
    clock.forward(180)
    sweep.expire_messages()
    assert [kind for kind, _ in told()] == [FINISHED]


def test_of_a_manual_send_only_the_message_is_told(api, outbox, listening):
    refuse(outbox)
    api.manual_send()
    outbox.deliver()
    assert [kind for kind, _ in told()] == [FINISHED]
