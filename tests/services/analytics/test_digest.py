"""The weekly digest: once, on Monday morning of the project's clock, with the figures of the week before."""

from datetime import UTC, datetime, timedelta

import pytest

from tests import factories
from verification.models import Alert, HourlyFigures, Project
from verification.services.analytics import digest
from verification.services.analytics.ranges import Range
from verification.services.analytics.summary import summarize

pytestmark = pytest.mark.django_db
MONDAY = datetime(2030, 1, 14, 9, 30, tzinfo=UTC)


def figures(project, day, provider_id=7, **counts):
    key = {"channel": "sms", "country": "DE", "language": "en", "is_manual": False}
    hour = datetime.fromisoformat(f"{day}T12:00+00:00")
    return HourlyFigures.objects.create(project=project.row, hour=hour, provider_id=provider_id, **key, **counts)


@pytest.fixture
def a_week(project):
    good, bad = (
        factories.provider(project=project.row, channel="sms", type="http", name=name) for name in ("Good", "Bad")
    )
    figures(project, "2030-01-08", good.pk, sessions=100, sessions_sent=100, sessions_verified=90, messages=100)
    figures(
        project,
        "2030-01-09",
        bad.pk,
        sessions=50,
        sessions_sent=50,
        sessions_verified=10,
        messages=50,
        messages_failed=30,
    )
    figures(project, "2030-01-02", good.pk, sessions=10, sessions_sent=10, sessions_verified=5, messages=10)
    return project


def test_it_tells_the_week_before(a_week):
    title, text = digest.words_of(summarize([a_week.id], digest.week_before(MONDAY)))
    assert title == "Last week: 100 verified"
    assert text.startswith("07 Jan to 13 Jan (UTC)")
    assert "Verified: 100 (5 the week before)." in text
    assert "Conversion: 66.7 % of the sessions with a code sent (50 % the week before)." in text
    assert "Worst provider: Bad lost 30 of 50 messages." in text


def test_a_week_without_anything_says_so(project):
    title, _ = digest.words_of(summarize([project.id], digest.week_before(MONDAY)))
    assert title == "Last week: no activity"


def test_few_messages_make_no_provider_the_worst(project):
    figures(project, "2030-01-08", messages=digest.LEAST_MESSAGES - 1, messages_failed=5)
    assert digest.worst_provider(summarize([project.id], digest.week_before(MONDAY))) is None


@pytest.mark.parametrize(
    ("zone", "now", "is_due"),
    [
        ("UTC", MONDAY, True),
        ("UTC", MONDAY - timedelta(hours=1), False),
        ("UTC", MONDAY - timedelta(days=1), False),
        ("America/New_York", MONDAY, False),  # half past four there
        ("Asia/Tashkent", MONDAY - timedelta(hours=5), True),
        ("Pacific/Auckland", datetime(2030, 1, 13, 23, 59, tzinfo=UTC), False),  # Monday noon there, and Sunday in UTC
        ("Pacific/Auckland", datetime(2030, 1, 14, 0, 0, tzinfo=UTC), True),
    ],
)
def test_it_is_told_once_on_monday_from_nine(project, zone, now, is_due):
    project.set(alert_digest=True, alert_time_zone=zone)
    assert [digest.raise_due(now), digest.raise_due(now)] == [int(is_due), 0]
    assert Alert.objects.filter(kind="digest", key="2030-W03", due_at__isnull=False).count() == int(is_due)


def test_a_project_that_fails_keeps_no_other_from_its_digest(project):
    project.set(alert_digest=True, alert_time_zone="UTC")
    broken = factories.project().set(alert_digest=True)
    Project.objects.filter(pk=broken.id).update(alert_time_zone="Nowhere/Land")  # a zone that the system has lost
    later = factories.project().set(alert_digest=True, alert_time_zone="UTC")
    assert digest.raise_due(MONDAY) == 2
    assert set(Alert.objects.values_list("project", flat=True)) == {project.id, later.id}


def test_nobody_gets_one_unasked(project):
    assert digest.raise_due(MONDAY) == 0


def test_the_week_is_seven_whole_days():
    assert digest.week_before(MONDAY) == Range(datetime(2030, 1, 7, tzinfo=UTC), datetime(2030, 1, 14, tzinfo=UTC))
