"""The figures that last are those of the rows, counted once or many times, and outlive them."""

import math
import random
from collections import Counter
from datetime import UTC, datetime, timedelta

import phonenumbers
import pytest
from django.db import connection
from django.utils import timezone

from tests import factories
from verification.core import ids
from verification.core.addresses import country_of
from verification.models import (
    DailyFigures,
    DailyUsers,
    Decision,
    DeliveryAttempt,
    HourlyFaults,
    HourlyFigures,
    HourlyRefusals,
    Message,
    NumberArea,
    Provider,
    Recipient,
    Session,
    Upkeep,
    VerifyToken,
)
from verification.services.analytics import rollups
from verification.services.maintenance import retention

pytestmark = pytest.mark.django_db

HOUR, DAY, MINUTE = timedelta(hours=1), timedelta(days=1), timedelta(minutes=1)
NUMBERS = ("+4915112345678", "+12025550123", "+14165550123", "+77012345678", "+447911123456", "a@example.com")
COUNTS = [
    field.name for field in HourlyFigures._meta.fields
    if field.name.startswith(("sessions", "messages", "attempts"))
]  # fmt: skip
KEY = ("project_id", "channel", "provider_id", "country", "language", "is_manual")
TIMES = ("accept_times", "receipt_times", "verify_times")


def this_hour():
    return timezone.now().replace(minute=0, second=0, microsecond=0)


def add_session(project, address, at, *, verified=None, is_proved=False, attempts=0, **fields):
    recipient, _ = Recipient.objects.get_or_create(project=project, address=address)
    is_verified = verified is not None
    session = factories.a_session(
        recipient,
        is_open=False,
        attempts=attempts or int(is_verified),
        created_at=at,
        verified_at=at + verified if is_verified else None,
        **{"channel": "", **fields},
    )
    if is_proved:
        VerifyToken.objects.create(
            digest=ids.generate_session_id().encode().ljust(32)[:32], project=project, session=session,
            created_at=at, expires_at=at + 5 * MINUTE, used_at=at + 4 * MINUTE,
        )  # fmt: skip
    return session


def add_message(project, recipient, at, *, accepted=None, arrived=None, status="success", providers=(), **fields):
    """``accepted`` and ``arrived`` are times after its creation; the last of ``providers`` has it."""
    ended = status in ("success", "failed", "expired")
    message = factories.a_message(
        recipient,
        status=status,
        error="",
        created_at=at,
        provider=providers[-1] if providers else None,
        sent_at=None if accepted is None else at + accepted,
        finished_at=at + (arrived or accepted or MINUTE) if ended else None,
        **fields,
    )
    for place, provider in enumerate(providers):
        is_last = place == len(providers) - 1
        DeliveryAttempt.objects.create(
            message=message, provider=provider, provider_name=provider.name, latency_ms=20,
            outcome="accepted" if is_last and accepted is not None else "temporary",
        )  # fmt: skip
    return message


def add_traffic(made, start, seed):
    """Sessions and manual sends of one hour, of every kind that there is."""
    draw = random.Random(seed)
    providers = [*made.row.providers.filter(channel="sms"), made.provider(name=f"other {seed}")]
    for _ in range(60):
        at = start + timedelta(seconds=draw.uniform(0, 3599))
        verified = draw.choice((None, timedelta(seconds=draw.uniform(3, 170))))
        session = add_session(
            made.row, draw.choice(NUMBERS), at, language=draw.choice(("en", "de")), attempts=draw.randrange(3),
            is_test=draw.random() < 0.1, verified=verified, is_proved=bool(verified) and draw.random() < 0.5,
        )  # fmt: skip
        for _ in range(draw.randrange(3)):
            add_random_message(draw, made, session, at + timedelta(seconds=draw.uniform(0, 890)), providers)
        if draw.random() < 0.2:
            add_random_message(draw, made, None, at, providers)


def add_random_message(draw, made, session, at, providers):
    recipient = session.recipient if session else Recipient.objects.filter(project=made.row).first()
    fields = {"session": session, "is_test": bool(session and session.is_test), "language": draw.choice(("en", "de"))}
    asked = draw.sample(providers, draw.randrange(1, 3))
    accepted = timedelta(seconds=draw.uniform(0.02, 60))
    arrived = accepted + timedelta(seconds=draw.uniform(0.5, 400))
    how = draw.choice((
        {"status": "success", "accepted": accepted, "arrived": arrived, "providers": asked},
        {"status": "success", "accepted": accepted, "providers": asked, "channel": "voice"},
        {"status": "sent", "accepted": accepted, "providers": asked},
        {"status": "expired", "accepted": accepted, "arrived": arrived, "providers": asked},
        {"status": "failed", "providers": asked},
        {"status": "expired"},
        {"status": "sending"},
    ))  # fmt: skip
    add_message(made.row, recipient, at, **fields, **how)


def bucket(time):
    return min(40, 1 + max(0, math.ceil(3 * math.log2(max(time.total_seconds(), 0.001) / 0.1))))


def counted_by_hand(hour):
    """The figures of one hour, row by row, without PostgreSQL's help."""
    found = {}

    def add(key, counts=(), **times):
        figures = found.setdefault(key, Counter())
        figures.update(dict.fromkeys((name for name, holds in dict(counts).items() if holds), 1))
        figures.update({(name, bucket(time)): 1 for name, time in times.items() if time is not None})

    within = {"created_at__gte": hour, "created_at__lt": hour + HOUR, "is_test": False}
    for session in Session.objects.filter(**within).select_related("recipient"):
        messages = sorted(session.messages.all(), key=lambda each: (each.sent_at is None, -each.created_at.timestamp()))
        last = messages[0] if messages else None
        verified = session.verified_at and session.verified_at - session.created_at
        key = (
            session.project_id, last.channel if last else "", (last and last.provider_id) or 0,
            country_of(session.recipient.address), session.language, False,
        )  # fmt: skip
        add(
            key,
            {
                "sessions": True,
                "sessions_sent": any(each.sent_at for each in messages),
                "sessions_delivered": any(each.status == "success" for each in messages),
                "sessions_checked": session.attempts,
                "sessions_verified": verified,
                "sessions_proved": verified and VerifyToken.objects.filter(session=session, used_at__isnull=False),
                "sessions_first": verified and len(messages) == 1,
            },
            verify_times=verified,
        )
    for message in Message.objects.filter(**within).select_related("recipient"):
        place = country_of(message.recipient.address), message.language, message.session_id is None
        arrived = message.status == "success"
        is_confirmed = arrived and message.finished_at > message.sent_at
        add(
            (message.project_id, message.channel, message.provider_id or 0, *place),
            {
                "messages": True,
                "messages_accepted": message.sent_at,
                "messages_delivered": arrived,
                "messages_confirmed": is_confirmed,
                "messages_failed": message.status == "failed",
                "messages_expired": message.status == "expired",
            },
            accept_times=message.sent_at and message.sent_at - message.created_at,
            receipt_times=message.finished_at - message.created_at if is_confirmed else None,
        )
        for attempt in message.attempts.all():
            key = (message.project_id, message.channel, attempt.provider_id or 0, *place)
            add(key, {"attempts": True, "attempts_accepted": attempt.outcome == "accepted"})
    return found


def as_told(rows):
    """Return rows of figures in the form of :func:`counted_by_hand`."""
    found = {}
    for row in rows:
        figures = found.setdefault(tuple(getattr(row, name) for name in KEY), Counter())
        figures.update({name: getattr(row, name) for name in COUNTS if getattr(row, name)})
        for name in TIMES:
            figures.update({(name, place): n for place, n in enumerate(getattr(row, name) or (), start=1) if n})
    return found


@pytest.mark.parametrize("seed", [1, 2])
def test_the_figures_of_an_hour_are_exact_to_the_row(project, seed):
    hour = this_hour() - 2 * HOUR
    for made in (project, factories.project()):
        add_traffic(made, hour, seed)
    rollups.count_hour(hour)
    assert as_told(HourlyFigures.objects.filter(hour=hour)) == counted_by_hand(hour) != {}


def test_to_count_again_changes_nothing_and_what_changed_is_counted_anew(project):
    hour = this_hour() - HOUR
    add_traffic(project, hour, 3)
    rollups.count_hour(hour)
    versions = set(HourlyFigures.objects.extra(select={"version": "xmin::text"}).values_list("pk", "version"))
    rollups.count_hour(hour)
    again = set(HourlyFigures.objects.extra(select={"version": "xmin::text"}).values_list("pk", "version"))
    assert again == versions  # no row was written
    Session.objects.filter(verified_at=None).update(verified_at=timezone.now(), code_digest=None)
    Message.objects.filter(channel="voice").update(channel="messenger_b")
    rollups.count_hour(hour)
    assert as_told(HourlyFigures.objects.all()) == counted_by_hand(hour)


def test_a_day_that_is_over_is_the_sum_of_its_hours(project):
    day = datetime.combine((timezone.now() - 2 * DAY).date(), datetime.min.time(), UTC)
    for hour in (0, 11, 23):
        add_traffic(project, day + hour * HOUR, hour)
    rollups.recount(days=2)
    whole = {}
    for hour in range(24):
        for key, figures in counted_by_hand(day + hour * HOUR).items():
            whole.setdefault(key, Counter()).update(figures)
    assert as_told(DailyFigures.objects.filter(day=day.date())) == whole
    users = DailyUsers.objects.get(day=day.date())
    sessions = Session.objects.filter(is_test=False)
    assert (users.users, users.verified) == (
        sessions.values("recipient").distinct().count(),
        sessions.exclude(verified_at=None).values("recipient").distinct().count(),
    )


def test_the_figures_outlive_their_rows_and_no_recount_takes_them_away(project):
    at = this_hour() - 3 * DAY
    add_traffic(project, at, 5)
    project.set(retention_days=1)
    Message.objects.filter(finished_at=None).update(status="failed", finished_at=at)
    rollups.recount(days=4)
    before = as_told(HourlyFigures.objects.all()), as_told(DailyFigures.objects.all())
    retention.purge()
    assert not Session.objects.exists()
    rollups.recount(days=6)
    assert (as_told(HourlyFigures.objects.all()), as_told(DailyFigures.objects.all())) == before != ({}, {})


def test_the_purge_counts_what_no_worker_has_counted_yet(project):
    at = timezone.now() - 26 * HOUR
    session = add_session(project.row, NUMBERS[0], at, verified=MINUTE)
    Upkeep.objects.create(name=rollups.FIGURES, started_at=at - HOUR, finished_at=at - HOUR)
    retention.purge(days=1)
    assert not Session.objects.filter(pk=session.pk).exists()
    assert HourlyFigures.objects.get().sessions_verified == 1


def test_refusals_are_kept_without_whom_they_concerned(project):
    hour = this_hour()
    for subject, refused in (("+4915******78", 3), ("+4916******11", 2), ("others", 0)):
        Decision.objects.create(project=project.row, rule="country", subject=subject, hour=hour, refused=refused)
    rollups.count_hour(hour)
    Decision.objects.filter(subject="others").update(refused=1)
    rollups.count_hour(hour)
    assert list(HourlyRefusals.objects.values_list("rule", "country", "refused")) == [("country", "", 6)]


def test_faults_are_those_of_the_attempts_however_often_they_are_counted(project):
    hour = this_hour() - 2 * HOUR
    gateway = Provider.objects.create(project=project.row, channel="sms", type="http", name="G", hook_secret=b"x")
    for number in ("+4915112345678", "+4915112345679", "+442071234567"):
        recipient = Recipient.objects.create(project=project.row, address=number)
        message = add_message(project.row, recipient, hour + MINUTE, accepted=MINUTE)
        for outcome in ("temporary", "accepted"):
            DeliveryAttempt.objects.create(message=message, provider=gateway, outcome=outcome, latency_ms=1)
    for _ in range(2):
        rollups.count_hour(hour)
        found = HourlyFaults.objects.order_by("country").values_list("country", "outcome", "calls")
        assert list(found) == [("DE", "temporary", 2), ("GB", "temporary", 1)]
    DeliveryAttempt.objects.filter(outcome="temporary").delete()
    rollups.count_hour(hour)
    assert not HourlyFaults.objects.exists()


def test_one_worker_counts_at_a_time_and_what_was_missed_is_counted_later(project):
    add_session(project.row, NUMBERS[0], timezone.now() - 5 * HOUR)
    last = timezone.now() - 4 * HOUR
    Upkeep.objects.create(name=rollups.FIGURES, started_at=last, finished_at=last)
    [(_, since)] = rollups.claim_run()
    assert rollups.claim_run() == []
    rollups.count_since(since)
    assert HourlyFigures.objects.get().sessions == 1
    assert Upkeep.objects.get(name=rollups.FIGURES).finished_at > last


def area_of(number):
    with connection.cursor() as cursor:
        cursor.execute("SELECT number_area(%s)", [number])
        return cursor.fetchone()[0]


def examples(region):
    for kind in phonenumbers.PhoneNumberType.values():
        number = phonenumbers.example_number_for_type(region, kind)
        if number is not None and phonenumbers.region_code_for_number(number) == region:
            yield phonenumbers.format_number(number, phonenumbers.PhoneNumberFormat.E164)


def test_the_area_of_a_number_tells_its_country_and_not_the_person(db):
    countries = {}
    for region in phonenumbers.SUPPORTED_REGIONS:
        for number in examples(region):
            area = area_of(number)
            assert len(number) - len(area) >= 4
            countries.setdefault(area, set()).add(country_of(number))
    assert [area for area, found in countries.items() if len(found) > 1] == []


def test_the_country_of_an_area_is_asked_for_once(project):
    hour = this_hour()
    add_session(project.row, NUMBERS[1], hour)
    rollups.count_hour(hour)
    assert list(NumberArea.objects.values_list("area", "country")) == [("+1202", "US")]
    assert HourlyFigures.objects.get().country == "US"


ROWS = 20_000  # of each table, ten minutes apart: an hour holds six of them


def fill(made):
    """Write as many sessions of one project, each with a recipient, a message and an attempt."""
    values = {"project": made.id, "rows": ROWS}
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO verification_recipient"
            " (id, project_id, address, language, verified_channel)"
            " SELECT -n, %(project)s, '+4915' || lpad(n::text, 9, '0'), '', '' FROM generate_series(1, %(rows)s) n",
            values,
        )
        cursor.execute(
            "INSERT INTO verification_session (id, project_id, recipient_id, language, code_length, code_digits,"
            " code_letters, channel, awaited_channel, link_payload, is_open, is_test, is_challenged, attempts,"
            " attempts_max, created_at, expires_at) SELECT 's' || n, %(project)s, -n, 'en', 6, true, false, 'sms', '',"
            " '', false, false, false, 0, 5, now() - n * interval '10 minutes', now()"
            " FROM generate_series(1, %(rows)s) n",
            values,
        )
        cursor.execute(
            "INSERT INTO verification_message (id, project_id, recipient_id, session_id, channel, language, status,"
            " is_test, is_counted, callback_url, claims, lost_leases, created_at, expires_at, finished_at)"
            " SELECT n, %(project)s, -n, 's' || n, 'sms', 'en', 'failed', false, true, '', 1, 0,"
            " now() - n * interval '10 minutes', now(), now() FROM generate_series(1, %(rows)s) n",
            values,
        )
        cursor.execute(
            "INSERT INTO verification_deliveryattempt"
            " (message_id, provider_name, outcome, provider_status, error, latency_ms)"
            " SELECT n, 'x', 'refused', '', '', 5 FROM generate_series(1, %(rows)s) n",
            values,
        )
        cursor.execute(
            "ANALYZE verification_recipient, verification_session, verification_message, verification_deliveryattempt"
        )


def rows_read_in_sequence():
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT sum(seq_tup_read) FROM pg_stat_xact_user_tables WHERE relname IN ('verification_recipient',"
            " 'verification_session', 'verification_message', 'verification_deliveryattempt')"
        )
        return cursor.fetchone()[0]


def test_the_count_of_an_hour_reads_that_hour_alone(project):
    """A plan for any hour would read the whole tables, so none is kept."""
    fill(project)
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL plan_cache_mode = force_generic_plan")
    before = rows_read_in_sequence()
    rollups.count_hour(this_hour() - 3 * HOUR)
    assert rows_read_in_sequence() == before
    assert HourlyFigures.objects.get(provider_id=0).attempts == 6
