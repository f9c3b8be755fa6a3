"""A session whose code was refused says why, to its owner."""

from datetime import timedelta

import pytest
from django.db import connection
from django.utils import timezone

from tests import factories
from tests.api.calls import problem
from verification.core import caching
from verification.core.errors import OUTCOMES
from verification.models import Channel, GuardBlock, ListEntry, Session
from verification.services.analytics.timeline.refusals import refusal_of, why_not_sent
from verification.services.records.decisions import RULES

pytestmark = pytest.mark.django_db

TO = "+4915112345678"


def why(session_id):
    return why_not_sent(Session.objects.get(pk=session_id))


def block_prefix(project):
    now = timezone.now()
    GuardBlock.objects.create(
        project=project.row,
        rule="prefix",
        subject=TO[:-4],
        level=1,
        since=now,
        until=now + timedelta(minutes=30),
        figures={"numbers": 11, "limit": 10, "minutes": 10},
    )


@pytest.fixture
def bot(project):
    Channel.objects.create(project=project.row, type="messenger_a", position=9)
    return project.provider("messenger_a", "bot", type="collector_bot")


def test_a_number_that_the_guard_refused_does_not_seem_to_wait_for_a_bot_alone(api, project, bot):
    block_prefix(project)
    session = api.create(TO)
    assert (session.status_code, session.data["sent_to"]) == (200, None)
    assert why(session.data["session_id"]) == (
        "The traffic guard refused SMS and calls to this number."
        " The remaining channel is Telegram, whose bot the user has not started."
    )


def test_a_code_that_went_another_way_says_what_was_refused_first(api, project, bot):
    factories.subscribe(TO, bot)
    block_prefix(project)
    project.set(default_phone_channel="sms")
    session = api.create(TO)
    assert session.data["sent_to"] == "messenger_a"
    assert why(session.data["session_id"]).startswith("A send was refused: the traffic guard")


def test_a_session_in_the_60_seconds_of_another_says_so(api, outbox):
    first = api.create(TO, type="sms").data["session_id"]
    api.check(first, outbox.code)
    second = api.create(TO, type="sms").data
    assert second["sent_to"] is None
    assert why(second["session_id"]) == RULES["channel_timeout"].meaning


def test_a_refused_send_is_noted_until_a_code_goes_out(api, project):
    session = api.create(TO, send=False).data["session_id"]
    assert "without requesting a code" in why(session)
    entry = ListEntry.objects.create(project=project.row, kind="block", subject="recipient", value=TO)
    caching.clear_all()
    assert problem(api.send(session)) == (403, "recipient_not_allowed")
    assert why(session) == RULES["block_list"].meaning
    entry.delete()
    caching.clear_all()
    assert api.send(session).status_code == 200
    assert why(session) == ""


def test_a_send_within_the_60_seconds_is_a_refusal_beside_a_sent_code(api):
    session = api.create(TO, type="sms").data["session_id"]
    assert problem(api.send(session)) == (429, "channel_timeout")
    assert why(session).startswith("A send was refused: another code was requested on the same channel")


def test_a_limit_that_is_used_up_is_noted(api, project):
    session = api.create(TO, send=False).data["session_id"]
    project.set(sends_per_10_minutes=1)
    api.manual_send(TO)
    assert problem(api.send(session)) == (429, "too_many_sends")
    assert why(session) == RULES["too_many_sends"].meaning


def test_a_refusal_that_is_noted_already_is_not_written_again(api):
    session = api.create(TO, type="sms").data["session_id"]
    api.send(session)
    version = "SELECT xmin FROM verification_session WHERE id = %s"
    with connection.cursor() as cursor:
        before = cursor.execute(version, [session]).fetchone()
        api.send(session)
        assert cursor.execute(version, [session]).fetchone() == before


def test_a_code_that_waits_for_a_bot_says_that(api, bot):
    session = api.create(TO, type="messenger_a").data["session_id"]
    assert why(session) == "The code is sent once the user starts the Telegram bot."
    factories.expire_everything()
    assert why(session) == "The user did not start the Telegram bot."


@pytest.mark.parametrize(
    "outcome", [*sorted(OUTCOMES.keys() - {"challenge_used"}), "channel_timeout", "too_many_sends", "too_many_attempts"]
)
def test_every_refusal_that_a_session_may_note_has_words(outcome):
    assert refusal_of(Session(refusal=outcome)).meaning.endswith(".")
