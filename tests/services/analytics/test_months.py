"""The money of a month: its sums, the same days of the month before, and the forecast."""

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

import pytest
from django.utils import timezone

from verification.core.errors import UserError
from verification.models import HourlyCosts
from verification.services.analytics.months import Month, month_of, spending

DAY = timedelta(days=1)


def noon(now, days_ago):
    return (now - days_ago * DAY).replace(hour=0, minute=0, second=0, microsecond=0)


def cost(project, at, amount, country="DE"):
    return HourlyCosts.objects.create(
        project=project.row,
        hour=at,
        channel="sms",
        provider_id=0,
        country=country,
        language="en",
        currency="USD",
        amount=Decimal(amount),
        sends=1,
        segments=1,
    )


def frozen(monkeypatch, at):
    """Let the readers of costs see this time: they read the last two days by the hour."""
    monkeypatch.setattr(timezone, "now", lambda: at)


def summed_by_day(project):
    """Write what the workers would have summed of the hours by the day."""
    from verification.models import DailyCosts

    for row in HourlyCosts.objects.all():
        fields = {name: getattr(row, name) for name in ("channel", "provider_id", "country", "language", "currency")}
        day, _ = DailyCosts.objects.get_or_create(project=row.project, day=row.hour.date(), **fields)
        day.amount, day.sends = day.amount + row.amount, day.sends + row.sends
        day.save()


def test_a_month_ends_where_the_next_begins():
    assert Month(date(2026, 2, 1)).until == date(2026, 3, 1)
    assert Month(date(2026, 12, 1)).until == date(2027, 1, 1)
    assert Month(date(2026, 3, 1)).before == Month(date(2026, 2, 1))


@pytest.mark.parametrize("text", ["2026-13", "2026", "x", "2026-1", "9" * 400, "9999-12", "0001-01"])
def test_what_is_no_month_is_refused(text):
    with pytest.raises(UserError, match="is not a valid month"):
        month_of(text, datetime(2026, 11, 5, tzinfo=UTC))


@pytest.mark.django_db
def test_a_month_counts_its_own_days_beside_the_same_days_before(project, monkeypatch):
    now = datetime(2026, 11, 20, 12, tzinfo=UTC)
    frozen(monkeypatch, now)
    for at, amount in (
        (datetime(2026, 11, 1, tzinfo=UTC), "2"),
        (datetime(2026, 11, 20, 9, tzinfo=UTC), "3"),
        (datetime(2026, 10, 1, tzinfo=UTC), "5"),
        (datetime(2026, 10, 20, 9, tzinfo=UTC), "7"),
        (datetime(2026, 10, 20, 15, tzinfo=UTC), "100"),  # later than this day is old
        (datetime(2026, 10, 21, 9, tzinfo=UTC), "100"),
        (datetime(2026, 9, 30, 9, tzinfo=UTC), "100"),
    ):
        cost(project, at, amount)
    summed_by_day(project)
    found = spending([project.id], month_of("", now), now)
    assert (found.total.amount, found.total_before.amount) == (5, 12)
    assert found.by["country"]["DE"].amount == 5
    assert {day.day: each.amount for day, each in found.days.items()} == {1: 2, 20: 3}


@pytest.mark.django_db
def test_a_month_that_is_over_is_compared_with_the_whole_days_of_the_one_before(project, monkeypatch):
    now = datetime(2026, 12, 1, 12, tzinfo=UTC)
    frozen(monkeypatch, now)
    for at, amount in (
        (datetime(2026, 11, 30, 20, tzinfo=UTC), "3"),
        (datetime(2026, 10, 30, 20, tzinfo=UTC), "7"),
    ):
        cost(project, at, amount)
    summed_by_day(project)
    found = spending([project.id], month_of("2026-11", now), now)
    assert (found.total.amount, found.total_before.amount) == (3, 7)


@pytest.mark.django_db
def test_the_forecast_gives_each_day_to_come_its_weekdays_average(project, monkeypatch):
    """28 days of 10 a weekday and 4 a day of the weekend; of today, a Friday, 3 are spent so far."""
    now = datetime(2026, 11, 20, 12, tzinfo=UTC)
    frozen(monkeypatch, now)
    for days in range(1, 29):
        at = noon(now, days)
        cost(project, at, "4" if at.weekday() >= 5 else "10")
    cost(project, noon(now, 0), "3")
    summed_by_day(project)
    found = spending([project.id], month_of("", now), now)
    rest_of_today = 7
    to_come = 2 * 4 + 5 * 10 + 2 * 4 + 10  # 21 to 30 November
    assert found.forecast == found.total.amount + rest_of_today + to_come


@pytest.mark.django_db
def test_days_without_traffic_count_in_the_average_and_a_week_is_needed(project, monkeypatch):
    now = datetime(2026, 11, 20, 12, tzinfo=UTC)
    frozen(monkeypatch, now)
    for days in (1, 2, 3, 4, 5, 6):
        cost(project, noon(now, days), "10")
    summed_by_day(project)
    assert spending([project.id], month_of("", now), now).forecast is None
    extra = cost(project, noon(now, 28), "14")  # a Friday, as today is: the other three Fridays had nothing
    type(extra)._meta.apps.get_model("verification", "DailyCosts").objects.all().delete()
    summed_by_day(project)
    found = spending([project.id], month_of("", now), now)
    assert found.forecast is not None
    friday, others = Decimal(14) / 4, Decimal(10) / 4
    assert found.forecast == found.total.amount + 2 * friday + 9 * others  # today, and 21 to 30 November


@pytest.mark.django_db
def test_a_month_that_is_over_has_no_forecast(project, monkeypatch):
    now = datetime(2026, 11, 20, 12, tzinfo=UTC)
    frozen(monkeypatch, now)
    assert spending([project.id], month_of("2026-10", now), now).forecast is None
