"""PostgreSQL keeps the plans that it makes while the tables are small; they must serve when there is a backlog."""

from datetime import timedelta

import pytest
from django.db import connection
from django.db.models import F
from django.test import Client
from django.utils import timezone

from providers.base import BotStarted, Receipt, ReceiptStatus
from tests import factories
from tests.api.calls import Api
from verification import sql
from verification.core import ids
from verification.models import (
    BotChat,
    DeliveryAttempt,
    Message,
    MessageStatus,
    Provider,
    Recipient,
    Session,
    VerifyToken,
    WebhookEvent,
    WrongCode,
)
from verification.services.delivery import receipts, sweep
from verification.services.delivery.record import await_receipt, give_back
from verification.services.notifications import events
from verification.services.projects.snapshot import load_project
from verification.services.sessions.subscriptions import act_on
from verification.sql.rows import ClaimedMessage

ATTEMPTS_EACH = 40
BACKLOG = 500  # and so many rows are read where all of it is read once


@pytest.fixture(params=[0, 100])
def made(request, db):
    """A function that writes so many messages, which are due, and returns their ids.

    As many are there before as the parameter says; if any, PostgreSQL has statistics of them, as it has of the other
    tables. There is no plan that was made for another test.
    """
    project = factories.project().row
    with connection.cursor() as cursor:
        cursor.execute("TRUNCATE verification_message CASCADE")
        cursor.execute("DISCARD PLANS")

    def make(number):
        now = timezone.now()
        recipients = Recipient.objects.bulk_create(
            [Recipient(project=project, address=f"+49{ids.generate_message_id()}") for _ in range(number)]
        )
        rows = [
            factories.message(recipient, created_at=now - timedelta(milliseconds=number - place))
            for place, recipient in enumerate(recipients)
        ]
        Message.objects.bulk_create(rows)
        return [row.id for row in rows]

    make(request.param)
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE verification_project, verification_recipient, verification_session")
        if request.param:
            cursor.execute("ANALYZE verification_message")
    return make


def rows_read(table="verification_message"):
    """Count the entries of the table, or of an index of it, that this test has read so far."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT sum(pg_stat_get_xact_tuples_returned(oid)) FROM ("
            " SELECT indexrelid FROM pg_index WHERE indrelid = %(table)s::regclass"
            " UNION ALL SELECT %(table)s::regclass"
            ") AS read (oid)",
            {"table": table},
        )
        return cursor.fetchone()[0]


def claim(message=None, **options):
    usual = {"limit": 1, "idle_seconds": 0.0, "is_connected": False, "full_projects": [], "others_only": False}
    return sql.call_many(ClaimedMessage, "claim_messages", message=message, lease_seconds=30, **{**usual, **options})


def give_up(message):
    give_back(message, in_seconds=0)


def send(message):
    await_receipt(message, for_seconds=600)


def hand_over(message):
    sql.call("hand_over", message=message.id, claims=message.claims, seconds=2.0)


def is_still_wanted(message):
    assert sql.value("is_still_wanted", message=message.id, claims=message.claims)


@pytest.mark.parametrize("then", [give_up, send, hand_over, is_still_wanted])
def test_a_message_is_found_by_its_id(made, then):
    def deliver(message_id):
        Message.objects.filter(id=message_id).update(due_at=timezone.now())  # a wake-up that comes at once
        [message] = claim(message_id)
        assert message.id == message_id
        then(message)

    for message_id in made(1):
        deliver(message_id)
    ids = made(BACKLOG)
    before = rows_read()
    for message_id in ids[:5]:
        deliver(message_id)
    assert rows_read() - before < BACKLOG  # for all five together


@pytest.mark.parametrize("options", [{"message": 1}, {}, {"full_projects": [0]}, {"message": 1, "full_projects": [0]}])
def test_the_freshest_message_is_found_without_the_others(made, options):
    made(1)
    assert claim(**options)
    ids = made(BACKLOG)
    before = rows_read()
    assert [message.id for message in claim(**options)] == ids[-1:]
    assert rows_read() - before < BACKLOG


@pytest.mark.requirement(68)
def test_what_is_reported_is_found_by_its_id(made):
    """Ids of strangers, as nobody keeps them from coming; the rows of one provider are many."""
    provider = Provider.objects.get(project=Message.objects.get(pk=made(1)[0]).project, channel="sms")
    ids = made(BACKLOG)
    Message.objects.filter(id__in=ids).update(provider=provider, provider_message_id=F("id"), status="sent")
    DeliveryAttempt.objects.bulk_create(
        DeliveryAttempt(
            message_id=message_id,
            provider=provider,
            outcome="accepted",
            provider_message_id=f"id-{message_id}",
            latency_ms=1,
        )
        for message_id in ids
        for _ in range(ATTEMPTS_EACH)
    )
    before = rows_read("verification_deliveryattempt"), rows_read()
    strangers = [Receipt(ReceiptStatus.SUCCESS, f"strange-{number}", number) for number in range(receipts.MAX_RECEIPTS)]
    receipts.apply_receipts(provider, strangers)
    assert rows_read("verification_deliveryattempt") - before[0] < BACKLOG
    assert rows_read() - before[1] < 3 * BACKLOG  # to see what is under way, so small a backlog is read whole


def test_an_unknown_receipt_looks_at_the_freshest_messages_of_a_backlog_alone(made, monkeypatch):
    made(1)
    provider = Provider.objects.get(project=Message.objects.latest("created_at").project, channel="sms")
    receipts.apply_receipts(provider, [Receipt(ReceiptStatus.SUCCESS, "strange")])
    Message.objects.update(status=MessageStatus.SUCCESS, finished_at=timezone.now())  # others are over
    made(BACKLOG)
    monkeypatch.setattr(receipts, "LOOKED_AT", BACKLOG // 10)
    before = rows_read()
    for number in range(5):
        receipts.apply_receipts(provider, [Receipt(ReceiptStatus.SUCCESS, f"strange-{number}")])
    assert rows_read() - before < BACKLOG  # for all five together


def test_what_is_under_way_is_found_behind_a_backlog(made, monkeypatch):
    ids = made(BACKLOG)
    [freshest] = claim(ids[-1])
    provider = Provider.objects.get(project=freshest.project_id, channel="sms")
    monkeypatch.setattr(receipts, "LOOKED_AT", BACKLOG // 10)
    monkeypatch.setattr(receipts, "OVERTAKEN_SECONDS", 60.0)

    def finish(_):
        send(freshest)

    monkeypatch.setattr(receipts.time, "sleep", finish)  # the acceptance is recorded while the receipt waits
    before = rows_read()
    receipts.apply_receipts(provider, [Receipt(ReceiptStatus.SUCCESS, "early")])
    assert Message.objects.get(pk=freshest.id).claimed_at is None
    assert rows_read() - before < BACKLOG


@pytest.mark.parametrize(("to", "channel"), [("+4915112345678", "sms"), ("ada@example.com", "email")])
def test_the_sends_to_a_recipient_are_counted_without_all_others_of_the_day(made, client, to, channel):
    project = factories.project(name="Counting", channels=("sms", "email"))
    other = factories.project(name="Other", channels=("sms", "email"))
    Api(client, project.api_key, project.secret_key).create(to)
    Api(client, other.api_key, other.secret_key).create(to)  # the platform's limit counts over all projects
    made(BACKLOG)
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE verification_message")
        cursor.execute("DISCARD PLANS")
    before = rows_read()
    assert Api(client, project.api_key, project.secret_key).manual_send(to, channel).status_code == 200
    assert rows_read() - before < BACKLOG


def test_what_expired_is_found_without_what_waits(made):
    made(1)
    sweep.expire_messages()
    expired = made(BACKLOG)[0]
    now = timezone.now()
    Message.objects.filter(id=expired).update(created_at=now - timedelta(minutes=6), expires_at=now)
    before = rows_read()
    sweep.expire_messages()
    assert Message.objects.get(id=expired).status == MessageStatus.EXPIRED
    assert rows_read() - before < BACKLOG


@pytest.mark.parametrize("is_due", [False, True])
def test_what_an_event_tells_is_found_without_the_events_of_other_messages(made, is_due):
    due_at = timezone.now() if is_due else None
    rows = WebhookEvent.objects.bulk_create(
        WebhookEvent(project_id=message.project_id, type="message.finished", message=message, due_at=due_at)
        for message in Message.objects.filter(id__in=made(BACKLOG))
    )
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE verification_webhookevent, verification_message")
    before = rows_read("verification_webhookevent")
    if is_due:
        assert len(events.claim_due(limit=1)) == 1
    else:
        assert events.described(rows[-1]).id == rows[-1].pk
    assert rows_read("verification_webhookevent") - before < BACKLOG // 10


EMPTIED = (  # as the statistics stand after all rows of a table were dead when it was looked over
    "UPDATE pg_class SET reltuples = 0, relpages = 40 WHERE oid IN ("
    " SELECT indexrelid FROM pg_index WHERE indrelid = %(table)s::regclass"
    " UNION ALL SELECT %(table)s::regclass)"
)
NEVER_ANALYSED = EMPTIED.replace("reltuples = 0, relpages = 40", "reltuples = -1, relpages = 0")


def set_statistics(statement, *tables):
    with connection.cursor() as cursor:
        cursor.execute("DISCARD PLANS")
        for table in tables:
            cursor.execute(statement, {"table": f"verification_{table}"})


@pytest.mark.parametrize("is_thought_empty", [False, True])
def test_the_session_of_a_link_is_found_without_the_others_that_stand_open(db, is_thought_empty):
    """Sessions whose recipients never came back stand open until their rows go."""
    project = factories.project()
    bot = project.provider("messenger_a", name="bot", type="collector_bot")
    recipients = Recipient.objects.bulk_create(
        [Recipient(project=project.row, address=f"+49{ids.generate_message_id()}") for _ in range(BACKLOG)]
    )
    sessions = Session.objects.bulk_create(
        factories.session(recipient, link_payload=ids.generate_link_payload()) for recipient in recipients
    )
    if is_thought_empty:
        set_statistics(EMPTIED, "session")
    before = rows_read("verification_session")
    act_on(bot, BotStarted("777000111", sessions[-1].link_payload))
    assert BotChat.objects.get().session == sessions[-1]
    assert rows_read("verification_session") - before < BACKLOG


def limits(**changed):
    return sql.Jsonb({"assumed": 1000, "heavy": 2000, "subnet_day": 50, "subnet_tries": 3} | changed)


STRANGERS = ("wrongcode", "verifytoken", "session", "recipient")
HERE = "192.0.2.0/24"


@pytest.mark.parametrize("statistics", [EMPTIED, NEVER_ANALYSED])
def test_a_stranger_is_judged_and_their_wrong_codes_settled_without_all_others(db, statistics):
    project = factories.project(channels=("email",)).row
    now = timezone.now()
    recipients = Recipient.objects.bulk_create(
        [Recipient(project=project, address=f"{number}@example.com") for number in range(BACKLOG)]
    )
    sessions = Session.objects.bulk_create(
        factories.session(recipient, channel="email", code_digest=b"right", expires_at=now + timedelta(minutes=30))
        for recipient in recipients
    )
    subnets = [HERE if number < 4 else f"10.{number // 250}.{number % 250}.0/24" for number in range(BACKLOG)]
    WrongCode.objects.bulk_create(
        WrongCode(
            project=project, session=session, recipient_id=session.recipient_id, subnet=subnet,
            created_at=now - timedelta(seconds=1 if subnet == HERE else 3600),
        )
        for session, subnet in zip(sessions, subnets, strict=True)
    )  # fmt: skip
    VerifyToken.objects.bulk_create(
        VerifyToken(
            digest=session.id.encode(), project=project, session=session, subnet=subnet,
            created_at=now - timedelta(hours=1), expires_at=now,
        )
        for session, subnet in zip(sessions[1:], subnets[1:], strict=True)
    )  # fmt: skip
    set_statistics(statistics, *STRANGERS)
    usual = {"project": project.pk, "subnet": HERE, "now": now}
    before = [rows_read(f"verification_{table}") for table in STRANGERS]
    assert sql.call("judge_stranger", **usual, limits=limits(assumed=1, heavy=2)).retry_after == 300
    assert sql.call("judge_stranger", **usual, limits=limits(subnet_day=1)).retry_after > 80_000
    spent = sql.call(
        "spend_attempt", project=project.pk, session=sessions[0].id, code_digest=b"right", token_digest=b"token",
        token_seconds=60, terms=load_project(project.pk).terms_of_check, network="192.0.2.7",
        subnet=HERE, guess=None, request=None, caller_request="",
    )  # fmt: skip
    read = {table: rows_read(f"verification_{table}") - less for table, less in zip(STRANGERS, before, strict=True)}
    assert spent.outcome == "verified"
    assert WrongCode.objects.get(is_settled=True).recipient == recipients[0]
    assert max(read.values()) < BACKLOG, read


def test_a_send_to_a_mailbox_reads_no_other_names_of_it(db):
    """Anybody makes recipients such as a+1@ without an end, as no limit of sends binds a create without one."""
    project = factories.project(channels=("email",), sends_per_10_minutes=3)
    api = Api(Client(), project.api_key, project.secret_key)
    for number in range(2):
        assert api.create(f"victim+{number}@example.com").status_code == 200
    Recipient.objects.bulk_create(
        Recipient(project=project.row, address=f"victim+x{number}@example.com", mailbox="victim@example.com")
        for number in range(BACKLOG)
    )
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE verification_recipient")
    before = rows_read("verification_recipient"), rows_read()
    assert api.create("victim+new@example.com").status_code == 200
    assert api.create("victim+newer@example.com").status_code == 429
    assert rows_read("verification_recipient") - before[0] < 20
    assert rows_read() - before[1] < BACKLOG / 5


def test_sends_that_failed_are_repeated_a_few_times_in_a_session(db):
    """They count in no limit of sends, and each leaves a row."""
    project = factories.project(channels=("sms",))
    api = Api(Client(), project.api_key, project.secret_key)
    session = api.create("+4915112345678").data["session_id"]

    def send_again():
        Message.objects.filter(session=session).update(status="failed", is_counted=False)
        return api.send(session, "sms")

    assert [send_again().status_code for _ in range(19)] == [200] * 19
    assert send_again().data["code"] == "too_many_sends"


def test_the_channel_that_reached_somebody_is_looked_for_among_their_newest_messages(made):
    ids = made(BACKLOG)
    recipient = Message.objects.get(pk=ids[0]).recipient
    Message.objects.filter(pk__in=ids).update(recipient=recipient, status="failed", is_counted=False)
    before = rows_read()
    locked = sql.call("lock_recipient", project=recipient.project_id, address=recipient.address, forgotten="")
    assert locked.id == recipient.pk and locked.reached_channel is None
    assert rows_read() - before < BACKLOG / 2
