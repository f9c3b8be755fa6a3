"""How long rows are kept: the live ones survive, the dead ones go."""

from datetime import timedelta

import pytest
from django.utils import timezone

from tests import clock, factories
from tests.api.calls import WRONG, problem
from verification.errors import Misuse
from verification.models import (
    DailySpend,
    DeliveryAttempt,
    IdempotentRequest,
    Message,
    Recipient,
    Session,
    VerifyToken,
    WrongCode,
)
from verification.services.retention import purge

pytestmark = pytest.mark.django_db


@pytest.fixture
def history(api, outbox):
    """A verification with everything that it leaves behind, and a manual send."""
    session_id = api.create().data["session_id"]
    api.check(session_id, WRONG)
    token = api.check(session_id, outbox.code).data["verify_token"]
    api.manual_send(headers={"idempotency-key": "order-1"})
    assert len(outbox.messages) == 2
    return session_id, token


TABLES = (Session, VerifyToken, WrongCode, Message, DeliveryAttempt, Recipient, IdempotentRequest)


def rows():
    return {table.__name__: table.objects.count() for table in TABLES}


def test_what_is_older_than_asked_for_goes(history):
    clock.forward(31 * clock.DAY)
    purge(days=30)
    assert set(rows().values()) == {0}


def test_what_is_younger_stays(history):
    before = rows()
    clock.forward(clock.DAY - 60)
    purge(days=1)
    assert rows() == before


def test_it_tells_how_many_rows_went(history):
    clock.forward(2 * clock.DAY)
    counts = purge(days=1)
    assert (counts["sessions"], counts["messages"], counts["recipients"]) == (1, 2, 1)
    assert set(purge(days=1).values()) == {0}


def test_a_live_session_survives_beside_a_dead_one(api, history):
    clock.forward(40 * clock.DAY)
    live = api.create().data["session_id"]
    purge(days=30)
    assert list(Session.objects.values_list("pk", flat=True)) == [live]
    assert api.send(live, "voice").status_code == 200


def test_a_message_that_is_not_final_survives_with_its_session(api):
    api.create()
    clock.forward(40 * clock.DAY)
    purge(days=30)
    assert (Message.objects.count(), Session.objects.count()) == (1, 1)


def test_for_a_day_a_session_and_a_token_that_are_over_are_known(api, history):
    session_id, token = history
    clock.forward(clock.DAY - 60)
    factories.forget()
    purge(days=1)
    assert problem(api.check(session_id, WRONG)) == (409, "session_verified")
    assert problem(api.verify(token)) == (410, "verify_token_expired")


def test_an_idempotency_key_goes_after_a_day_whatever_else_is_kept(history):
    clock.forward(clock.DAY + 1)
    purge(days=30)
    assert rows()["IdempotentRequest"] == 0
    assert rows()["Message"] == 2


def test_the_limits_of_a_day_survive(api, project, history):
    project.set(sends_per_10_minutes=0, sends_per_hour=0, sends_per_day=2)
    clock.forward(clock.DAY - 60)
    factories.forget()
    purge(days=1)
    assert problem(api.manual_send()) == (429, "too_many_sends")


def test_a_recipient_with_a_bot_survives(api, project):
    subscription = factories.subscribe(
        "+4915112345678", project.provider("messenger_a", name="bot", type="collector_bot")
    )
    clock.forward(400 * clock.DAY)
    purge(days=30)
    subscription.refresh_from_db()
    assert Recipient.objects.count() == 1


def test_the_spending_of_old_days_goes_and_todays_stays(project):
    today = timezone.now().date()
    for day in (today, today - timedelta(days=31)):
        DailySpend.objects.create(project=project.row, channel="sms", day=day, messages=1)
    purge(days=30)
    assert list(DailySpend.objects.values_list("day", flat=True)) == [today]


@pytest.mark.parametrize("days", [0, -1])
def test_less_than_a_day_is_refused(history, days):
    before = rows()
    with pytest.raises(Misuse):
        purge(days=days)
    assert rows() == before
