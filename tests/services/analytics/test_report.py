"""The figures of a range: summed over hours and days, against the time before, and of the named projects alone."""

from datetime import UTC, datetime, timedelta

import pytest
from django.core.management.base import CommandError
from django.utils import timezone

from tests import factories
from tests.commands.running import run, run_json
from verification.models import DailyFigures, DailyUsers, HourlyFigures, HourlyRefusals
from verification.services.analytics import ranges, report

pytestmark = pytest.mark.django_db

DAY, HOUR = timedelta(days=1), timedelta(hours=1)
STEPS = 40


def histogram(**numbers):
    """A histogram with some numbers, each at its step, such as ``step_3=5``."""
    steps = [0] * STEPS
    for name, number in numbers.items():
        steps[int(name.removeprefix("step_")) - 1] = number
    return steps


def at_hour(project, ago, **fields):
    hour = timezone.now().replace(minute=0, second=0, microsecond=0) - ago
    return HourlyFigures.objects.create(project=project.row, hour=hour, **{**KEY, **fields})


def at_day(project, ago, **fields):
    day = (timezone.now() - ago).date()
    return DailyFigures.objects.create(project=project.row, day=day, **{**KEY, **fields})


KEY = {"channel": "sms", "provider_id": 0, "country": "DE", "language": "en", "is_manual": False}


def test_a_range_of_hours_is_told_against_the_range_before(project):
    at_hour(project, HOUR, sessions=3, sessions_sent=2, sessions_verified=1)
    at_hour(project, 23 * HOUR, country="AT", sessions=4, sessions_sent=4, sessions_verified=2)
    at_hour(project, 24 * HOUR, sessions=10, sessions_sent=10, sessions_verified=9)
    span = ranges.last_hours(timezone.now(), 24)
    now, before = (report.total([project.id], each) for each in (span, span.before))
    assert (now.counts["sessions"], now.conversion) == (7, 50.0)
    assert (before.counts["sessions"], before.conversion) == (10, 90.0)
    assert {
        key: told.counts["sessions"] for (key,), told in report.grouped([project.id], span, ("country",)).items()
    } == {
        "DE": 3,
        "AT": 4,
    }


def test_a_range_of_days_reads_closed_days_and_the_hours_of_the_last_two(project):
    for ago in (0, 1, 2, 29, 31):
        at_day(project, ago * DAY, sessions=1)
    at_hour(project, 0 * HOUR, sessions=10)
    at_hour(project, 3 * DAY, sessions=100)
    span = ranges.last_days(timezone.now(), 30)
    assert report.total([project.id], span).counts["sessions"] == 12
    assert report.total([project.id], span.before).counts["sessions"] == 1


def test_the_hours_of_a_day_with_which_a_range_ends_are_read(project):
    since = ranges.last_days(timezone.now(), 41).since
    span = ranges.Range(since, since + 9 * DAY + 5 * HOUR)
    for hour, sessions in ((span.until - HOUR, 3), (span.until, 50)):
        HourlyFigures.objects.create(project=project.row, hour=hour, sessions=sessions, **KEY)
    assert report.total([project.id], span).counts["sessions"] == 3


@pytest.mark.parametrize(
    ("days", "passed"), [(1, timedelta(hours=17)), (7, timedelta(days=6, hours=17)), (365, timedelta(days=365))]
)
def test_the_range_before_a_running_one_ends_at_the_same_hour(monkeypatch, days, passed):
    now = datetime(2026, 11, 28, 17, 6, tzinfo=UTC)
    monkeypatch.setattr(timezone, "now", lambda: now)
    before = ranges.last_days(now, days).before
    assert before.until - before.since == passed
    hours = ranges.last_hours(now, 24)
    assert hours.before == hours.whole_before


def test_the_median_and_the_95th_percentile_are_within_12_percent(project):
    # 60 that took 2 seconds, and 40 that took 20: the steps that hold them.
    at_hour(project, HOUR, verify_times=histogram(step_14=60))
    at_hour(project, HOUR, language="de", verify_times=histogram(step_24=40))
    told = report.total([project.id], ranges.last_hours(timezone.now(), 24))
    assert told.seconds("verify_times", 0.5) == pytest.approx(2, rel=0.13)
    assert told.seconds("verify_times", 0.95) == pytest.approx(20, rel=0.13)
    assert told.seconds("receipt_times", 0.5) is None


@pytest.mark.requirement(12)
def test_figures_of_another_project_are_in_no_sum(project):
    other = factories.project()
    at_hour(other, HOUR, sessions=5, verify_times=histogram(step_5=5))
    HourlyRefusals.objects.create(project=other.row, hour=timezone.now() - HOUR, rule="country", refused=3)
    DailyUsers.objects.create(project=other.row, day=timezone.now().date(), users=5, verified=5)
    span = ranges.last_hours(timezone.now(), 24)
    assert report.grouped([project.id], span, report.DIMENSIONS) == {}
    assert (report.refusals([project.id], span), report.users([project.id], span)) == ([], 0)
    assert report.users([other.id], span) == 5


def test_stats_tells_days_against_the_days_before(project):
    at_day(project, 3 * DAY, sessions=8, sessions_sent=8, sessions_verified=6, verify_times=histogram(step_14=6))
    at_hour(project, 3 * DAY, sessions=8, sessions_sent=8, sessions_verified=6, verify_times=histogram(step_14=6))
    at_day(project, 13 * DAY, sessions=4, sessions_sent=4, sessions_verified=1)
    (row,) = run_json("stats", "--days", "10")["projects"]
    assert (row["figures"]["conversion_percent"], row["before"]["conversion_percent"]) == (75.0, 25.0)
    assert [(each["country"], each["verified"]) for each in row["by"]["country"]] == [("DE", 6)]
    assert "75.0" in run("stats", "--days", "7")


def test_what_cannot_be_told_is_null_and_never_0(project):
    (row,) = run_json("stats")["projects"]
    assert row["figures"]["conversion_percent"] is None
    assert row["figures"]["verify_seconds"] == {"median": None, "p95": None}


def test_stats_tells_a_range_of_two_days(project):
    first, last = ((timezone.now() - ago * DAY).date().isoformat() for ago in (14, 5))
    at_day(project, 5 * DAY, sessions=8, sessions_sent=8, sessions_verified=6)
    at_day(project, 4 * DAY, sessions=50)
    at_day(project, 15 * DAY, sessions=2, sessions_sent=2, sessions_verified=1)
    (row,) = run_json("stats", "--from", first, "--to", last)["projects"]
    assert (row["figures"]["verified"], row["before"]["verified"]) == (6, 1)
    assert [step["started"] for step in row["over_time"]] == [0] * 9 + [8]


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (("--from", "soon"), "is not a valid date"),
        (("--to", "2026-01-01"), "Pass --from as well"),
        (("--from", "2026-01-01", "--days", "3"), "sets its own range"),
    ],
)
def test_stats_refuses_a_range_that_cannot_be(project, arguments, reason):
    with pytest.raises(CommandError, match=reason):
        run("stats", *arguments)


def test_figures_of_hours_that_are_kept_no_longer_are_read_by_the_day(project):
    at_day(project, 200 * DAY, sessions=4)
    at = (timezone.now() - 200 * DAY).date()
    assert report.total([project.id], ranges.between(at, at, now=timezone.now())).counts["sessions"] == 4
