"""The retention of rows: the live ones survive, the dead ones go."""

from datetime import timedelta

import pytest
from django.contrib.sessions.models import Session as PanelSession
from django.db import DatabaseError, IntegrityError, connection, transaction
from django.utils import timezone

from tests import clock, factories
from tests.api.calls import WRONG, Api, problem
from verification.core import caching
from verification.core.errors import UserError
from verification.models import (
    BotChat,
    DailySpend,
    Decision,
    DeliveryAttempt,
    IdempotentRequest,
    Message,
    Project,
    Recipient,
    Session,
    Suppression,
    UsedChallenge,
    VerifyToken,
    WebhookEvent,
    WrongCode,
)
from verification.services.maintenance import retention
from verification.services.maintenance.retention import purge
from verification.services.projects.projects import set_project

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


@pytest.mark.requirement(20)
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
    caching.clear_all()
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
    caching.clear_all()
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
    with pytest.raises(UserError):
        purge(days=days)
    assert rows() == before


# --- each project for itself -----------------------------------------------------------------------------------------

EDGE = 3600  # an hour to either side of every boundary


def a_finished_history(api, outbox, to):
    """A verification and a manual send to this recipient."""
    session_id = api.create(to).data["session_id"]
    api.check(session_id, outbox.code)
    api.manual_send(to, callback_url="https://shop.example/done")
    assert outbox.messages
    WebhookEvent.objects.update(due_at=None)
    return session_id


@pytest.mark.parametrize("days", [1, 2, 30])
def test_on_both_sides_of_the_boundary(api, outbox, project, days):
    project.set(retention_days=days)
    dead = a_finished_history(api, outbox, "+4915112345671")
    clock.forward(2 * EDGE)
    living = a_finished_history(api, outbox, "+4915112345672")
    clock.forward(days * clock.DAY - EDGE)
    purge()
    assert dead != living
    assert list(Session.objects.values_list("pk", flat=True)) == [living]
    assert list(VerifyToken.objects.values_list("session", flat=True)) == [living]
    assert set(Message.objects.values_list("recipient__address", flat=True)) == {"+4915112345672"}
    assert (DeliveryAttempt.objects.count(), WebhookEvent.objects.count(), Recipient.objects.count()) == (2, 1, 1)


def test_each_project_keeps_its_rows_as_long_as_it_says(api, outbox, project):
    other = factories.project(retention_days=90)
    project.set(retention_days=7)
    a_finished_history(api, outbox, "+4915112345671")
    kept = a_finished_history(Api(api.client, other.api_key, other.secret_key), outbox, "+4915112345671")
    clock.forward(8 * clock.DAY)
    purge()
    assert list(Session.objects.values_list("pk", flat=True)) == [kept]


def test_a_token_is_known_for_a_whole_day_though_it_is_younger_than_its_session(api, outbox, project):
    project.set(retention_days=1)
    session_id = api.create().data["session_id"]
    clock.forward(170)
    token = api.check(session_id, outbox.code).data["verify_token"]
    clock.forward(clock.DAY - 60)
    caching.clear_all()
    purge()
    assert problem(api.verify(token)) == (410, "verify_token_expired")


def test_a_message_whose_callback_is_on_its_way_is_kept(api, outbox, project):
    project.set(retention_days=1)
    a_finished_history(api, outbox, "+4915112345671")
    WebhookEvent.objects.update(due_at=timezone.now())
    clock.forward(2 * clock.DAY)
    purge()
    assert (WebhookEvent.objects.count(), Message.objects.count()) == (1, 1)


def test_an_opt_out_outlives_the_rows(api, outbox, project):
    a_finished_history(api, outbox, "+4915112345671")
    recipient = Recipient.objects.get()
    Suppression.objects.create(project=project.row, recipient=recipient, channel="sms", reason="STOP")
    clock.forward(31 * clock.DAY)
    purge()
    assert (Session.objects.count(), Suppression.objects.count()) == (0, 1)
    Suppression.objects.update(lifted_at=timezone.now())
    purge()
    assert Recipient.objects.count() == 0


def test_nothing_is_lost_or_forgotten_over_many_batches(api, outbox, project, monkeypatch):
    monkeypatch.setattr(retention, "BATCH", 2)
    for number in range(5):
        a_finished_history(api, outbox, f"+491511234567{number}")
    clock.forward(31 * clock.DAY)
    live = api.create("+4915112345679").data["session_id"]
    assert purge()["sessions"] == 5
    assert list(Session.objects.values_list("pk", flat=True)) == [live]


def test_rows_of_one_moment_all_go_over_many_batches(api, outbox, project, monkeypatch):
    monkeypatch.setattr(retention, "BATCH", 2)
    for number in range(5):
        a_finished_history(api, outbox, f"+491511234567{number}")
    moment = timezone.now()
    Message.objects.update(created_at=moment)
    Session.objects.update(created_at=moment)
    clock.forward(31 * clock.DAY)
    assert purge()["messages"] == 10
    assert not Session.objects.exists()


def test_a_recipient_who_came_back_meanwhile_is_kept(api, outbox, project, monkeypatch):
    """Between the look at the empty recipients and their end, one of them opens a session."""
    a_finished_history(api, outbox, "+4915112345671")
    clock.forward(31 * clock.DAY)
    batches = retention._batches

    def and_one_comes_back(rows):
        for keys in batches(rows):
            if rows.model is Recipient and not Session.objects.exists():
                assert api.create("+4915112345671").status_code == 200
            yield keys

    monkeypatch.setattr(retention, "_batches", and_one_comes_back)
    purge()
    assert (Recipient.objects.count(), Session.objects.count()) == (1, 1)


# --- rows without addresses ------------------------------------------------------------------------------------------


def test_where_addresses_are_hashed_the_old_rows_stay_without_them(api, outbox, project):
    project.set(retention_mode="hash")
    a_finished_history(api, outbox, "+4915112345671")
    clock.forward(31 * clock.DAY)
    live = api.create("+4915112345671").data["session_id"]
    before = (Session.objects.count(), Message.objects.count())
    assert purge()["hashed"] == 1
    assert (Session.objects.count(), Message.objects.count()) == before
    [old] = Session.objects.exclude(pk=live)
    assert old.recipient.address.startswith("hashed:") and "15112345671" not in old.recipient.address
    assert Session.objects.get(pk=live).recipient.address == "+4915112345671"
    for message in Message.objects.filter(recipient=old.recipient):
        assert (message.provider_message_id, message.callback_url) == (None, "")
    assert not WebhookEvent.objects.exists() and not VerifyToken.objects.exists()
    assert purge()["hashed"] == 0


def test_the_rows_of_one_person_come_under_one_hash_and_the_person_goes(api, outbox, project):
    project.set(retention_mode="hash")
    for _ in range(2):
        a_finished_history(api, outbox, "+4915112345671")
        clock.forward(31 * clock.DAY)
        purge()
    [only] = Recipient.objects.all()
    assert only.address.startswith("hashed:")
    assert (only.sessions.count(), only.messages.count()) == (2, 4)


# --- that it runs ----------------------------------------------------------------------------------------------------


def test_one_worker_takes_each_run_and_none_before_it_is_due(db):
    assert [len(retention.claim_run()) for _ in range(3)] == [1, 0, 0]
    clock.forward(6 * 3600)
    assert [len(retention.claim_run()) for _ in range(2)] == [1, 0]


@pytest.mark.requirement(20)
@pytest.mark.parametrize(("seconds", "is_overdue"), [(12 * 3600 - 60, False), (12 * 3600 + 60, True)])
def test_after_two_periods_without_a_run_it_is_overdue_and_logged(caplog, seconds, is_overdue):
    retention.claim_run()
    purge()
    clock.forward(seconds)
    assert retention.is_overdue(retention.last_purge()) is is_overdue
    retention.claim_run()
    assert any("The purge of old rows last ran" in record.getMessage() for record in caplog.records) is is_overdue


@pytest.mark.requirement(96)
def test_what_a_restored_backup_brings_back_is_judged_by_the_clock(api, outbox):
    """A dump from before a session's end holds it open and its token unused."""
    session_id = api.create().data["session_id"]
    other = api.create("+4915112345679").data["session_id"]
    token = api.check(other, outbox.code).data["verify_token"]
    clock.forward(180)
    assert problem(api.check(session_id, WRONG)) == (410, "session_expired")
    assert problem(api.verify(token)) == (410, "verify_token_expired")
    assert api.create().data["session_id"] != session_id


def test_sessions_of_the_panel_go_once_they_are_over(db):
    for days in (-1, 1):
        store = PanelSession.get_session_store_class()()
        store.set_expiry(timezone.now() + timedelta(days=days))
        store.save()
    live = PanelSession.objects.get(expire_date__gt=timezone.now())
    assert purge()["panel_sessions"] == 1
    assert list(PanelSession.objects.all()) == [live]


@pytest.mark.requirement(20)
def test_no_project_asks_for_a_time_before_all_dates(project):
    with pytest.raises(UserError, match="3650"):
        set_project(project=project.row, values={"retention_days": "1000000"})
    with pytest.raises(IntegrityError), transaction.atomic():
        Project.objects.update(retention_days=1_000_000)
    set_project(project=project.row, values={"retention_days": "3650"})
    purge()
    assert retention.last_purge() is not None


def test_what_fails_in_one_project_keeps_no_other_from_its_turn(api, client, outbox, project):
    other = factories.project()
    for caller in (api, Api(client, other.api_key, other.secret_key)):
        caller.manual_send()
    Decision.objects.create(project=project.row, rule="country", subject="KP", hour=timezone.now(), count=1, figures={})
    UsedChallenge.objects.create(project=project.row, digest=b"1" * 32, expires_at=timezone.now())
    assert len(outbox.messages) == 2
    clock.forward(31 * clock.DAY)
    with connection.cursor() as cursor:
        cursor.execute(
            "CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'broken'; END $$;"
            "CREATE TRIGGER fail BEFORE DELETE ON verification_decision FOR EACH ROW EXECUTE FUNCTION fail()"
        )
    with pytest.raises(DatabaseError, match="broken"):
        purge()
    assert not Message.objects.exists()
    assert not UsedChallenge.objects.exists()
    assert retention.last_purge() is None  # so that it shows as overdue


def test_a_chat_that_leads_to_no_session_goes_after_a_day(project, outbox):
    bot = project.provider("messenger_a", type="collector_bot")
    for account, age in (("old", clock.DAY + 1), ("new", clock.DAY - 60)):
        started_at = timezone.now() - timedelta(seconds=age)
        BotChat.objects.create(provider=bot, account_id=account, started_at=started_at)
    assert purge()["bot_chats"] == 1
    assert BotChat.objects.get().account_id == "new"
