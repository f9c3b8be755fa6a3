"""``POST /manual/verified``: the customer's server tells what became of a code that we did not check."""

import pytest
from django.db import connection as database

from tests import factories
from tests.api.calls import problem, wrong_fields
from verification.core.numbers import MAX_ID
from verification.models import GuardedSend, HourlyFigures, Message, Recipient
from verification.services.analytics import rollups
from verification.services.analytics.timeline.read import read_timeline

pytestmark = pytest.mark.django_db
PHONE = "+4915112345678"


def test_a_message_is_reported_by_its_id(api, outbox):
    message_id = api.manual_send(code="493817").data["message_id"]
    answered = api.report_verified(message_id=message_id)
    assert (answered.status_code, answered.data) == (200, {"verified": True})
    assert Message.objects.get().verified_at is not None
    recipient = Recipient.objects.get()
    assert recipient.known_at is not None and recipient.known_since == recipient.known_at
    assert recipient.verified_channel == "sms"
    assert GuardedSend.objects.get().verified_at is not None


def test_a_recipient_stands_for_their_newest_message(api):
    first = api.manual_send(code="493817").data["message_id"]
    second = api.manual_send(code="493818", channel="voice").data["message_id"]
    assert api.report_verified(to="+49 151 12345678").status_code == 200
    assert Message.objects.get(pk=first).verified_at is None
    assert Message.objects.get(pk=second).verified_at is not None
    assert Recipient.objects.get().verified_channel == "voice"


def test_a_repeated_report_changes_nothing(api):
    message_id = api.manual_send(code="493817").data["message_id"]
    api.report_verified(message_id=message_id)
    before = Message.objects.values().get(), Recipient.objects.values().get()
    assert api.report_verified(message_id=message_id).data == {"verified": True}
    assert (Message.objects.values().get(), Recipient.objects.values().get()) == before


def test_an_unknown_message_or_recipient_is_not_found(api):
    assert problem(api.report_verified(message_id=4711)) == (404, "message_not_found")
    answer = api.report_verified(to=PHONE)
    assert problem(answer) == (404, "message_not_found")
    assert "to this recipient within the last day" in answer.json()["detail"]


def test_anothers_message_and_a_sessions_are_not_found(api, client, outbox):
    from tests.api.calls import Api

    message_id = api.manual_send(code="493817").data["message_id"]
    other = factories.project(channels=("sms",))
    stranger = Api(client, other.api_key, other.secret_key)
    assert problem(stranger.report_verified(message_id=message_id)) == (404, "message_not_found")
    assert problem(stranger.report_verified(to=PHONE)) == (404, "message_not_found")
    api.create("+4915112345670")
    session_message = Message.objects.get(session__isnull=False)
    assert problem(api.report_verified(message_id=session_message.pk)) == (404, "message_not_found")
    assert problem(api.report_verified(to="+4915112345670")) == (404, "message_not_found")


def test_a_message_of_the_day_before_yesterday_is_reported_by_its_id_alone(api):
    message_id = api.manual_send(code="493817").data["message_id"]
    with database.cursor() as cursor:
        cursor.execute("UPDATE verification_message SET created_at = created_at - interval '2 days'")
    assert problem(api.report_verified(to=PHONE)) == (404, "message_not_found")
    assert api.report_verified(message_id=message_id).status_code == 200


@pytest.mark.parametrize(
    ("body", "fields"),
    [
        ({}, ["message_id"]),
        ({"message_id": None, "to": None}, ["message_id"]),
        ({"message_id": 1, "to": PHONE}, ["message_id"]),
        ({"message_id": "1"}, ["message_id"]),
        ({"message_id": True}, ["message_id"]),
        ({"message_id": MAX_ID + 1}, ["message_id"]),
        ({"to": "nobody"}, ["to"]),
        ({"to": 5}, ["to"]),
    ],
)
def test_what_is_wrong_is_named(api, body, fields):
    assert wrong_fields(api.report_verified(**body)) == fields


def test_a_test_login_becomes_nobody_known(api, project):
    project.test_login(PHONE, "123456")
    message_id = api.manual_send().data["message_id"]
    assert api.report_verified(message_id=message_id).status_code == 200
    assert Recipient.objects.get().known_at is None


def test_the_figures_count_it_as_a_session_once_the_server_reports(api, outbox):
    api.manual_send(code="493817")
    api.manual_send("+4915112345679", code="493818")
    assert len(outbox.messages) == 2
    rollups.count_due()
    assert [(line.is_manual, line.sessions, line.messages) for line in HourlyFigures.objects.all()] == [(True, 0, 2)]
    api.report_verified(to=PHONE)
    rollups.count_due()
    line = HourlyFigures.objects.get()
    assert (line.is_manual, line.messages, line.attempts) == (False, 2, 2)
    assert (line.sessions, line.sessions_sent, line.sessions_verified, line.sessions_proved) == (2, 2, 1, 1)
    assert sum(line.verify_times) == 1


def test_the_timeline_tells_of_it(api, outbox):
    message_id = api.manual_send(code="493817").data["message_id"]
    assert len(outbox.messages) == 1
    api.report_verified(message_id=message_id)
    told = [event.text for event in read_timeline(Message.objects.get()).events]
    assert told[-1] == "Your server reported the user as verified"


def test_the_routing_learns_from_it(api, outbox, project):
    from verification import sql

    api.manual_send(code="493817")
    assert len(outbox.messages) == 1
    api.report_verified(to=PHONE)
    rollups.count_due()
    with database.cursor() as cursor:
        cursor.execute("SELECT asked, verified FROM routing_hours(%s, 'sms', now() - interval '1 day')", [project.id])
        assert cursor.fetchall() == [(1, 1)]
    assert sql.value("counts_handed", project=project.id, now=sql.now()) is True
