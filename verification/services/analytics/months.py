"""The money of a month: what was spent, by whom and where, and the forecast to the month's end."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any

from django.utils.translation import gettext as _

from verification.core.errors import UserError
from verification.services.analytics import costs, ranges, report
from verification.services.analytics.costs import Cost
from verification.services.analytics.ranges import DAY, Range

DIMENSIONS = ("project", "channel", "provider_id", "country")
WEEKS = 4  # whole weeks before today, by which the forecast knows what each weekday costs
LEAST_DAYS = 7  # with traffic among them: fewer say little of a week


@dataclass(frozen=True, slots=True)
class Month:
    """A calendar month (UTC), by its first day. ``until`` is the first day that is not part of it."""

    first: date

    @property
    def until(self) -> date:
        return (self.first + 31 * DAY).replace(day=1)

    @property
    def before(self) -> Month:
        return Month((self.first - DAY).replace(day=1))

    def span(self, now: datetime) -> Range:
        """Return its days up to today. Raises :class:`UserError` for one to come, or whose figures are not kept."""
        return ranges.between(self.first, self.until - DAY, now=now)

    def __str__(self) -> str:
        return f"{self.first:%Y-%m}"


def month_of(text: str, now: datetime) -> Month:
    """Read a month such as 2026-11; the present one of an empty text. Raises :class:`UserError`."""
    try:
        month = Month(date.fromisoformat(f"{text}-01") if text else now.date().replace(day=1))
        month.until, month.before  # noqa: B018  (the first and the last month that dates know have no neighbour)
        return month
    except (ValueError, OverflowError):
        raise UserError(
            _("{value} is not a valid month. Use the format {now:%Y-%m}.").format(value=text[:20], now=now)
        ) from None


@dataclass(frozen=True, slots=True)
class Spending:
    """The cost of a month. ``by`` has what each value of a dimension cost, ``days`` each day up to today."""

    month: Month
    total: Cost
    by: dict[str, dict[Any, Cost]]
    before: dict[str, dict[Any, Cost]]  # of the same days of the month before, and of today's as much as has passed
    total_before: Cost
    days: dict[date, Cost]
    verified: dict[str, dict[Any, int]]
    forecast: Decimal | None  # None for a month that is over, and where too little is known

    def of(self, dimension: str, key: Any) -> Cost:
        return self.before[dimension].get(key, Cost(self.total.currency))


def spending(projects: Sequence[int], month: Month, now: datetime) -> Spending:
    """Sum the month's costs of these projects. Raises :class:`UserError`, as :meth:`Month.span` does."""
    span = month.span(now)
    days, by, total = _summed(projects, span)
    since = span.since - (month.first - month.before.first)
    same_days = Range(since, min(since + (span.until - span.since), span.since), span.hours_since)
    before = span.as_much_of(same_days)
    _days, by_before, total_before = _summed(projects, before)
    verified = {
        name: {
            key: sums.counts["sessions_verified"] for (key,), sums in report.grouped(projects, span, (name,)).items()
        }
        for name in DIMENSIONS
    }
    forecast = _forecast(projects, month, total, days, now) if month.until > now.date() else None
    return Spending(month, total, by, by_before, total_before, days, verified, forecast)


def _summed(projects: Sequence[int], span: Range) -> tuple[dict[date, Cost], dict[str, dict[Any, Cost]], Cost]:
    total = Cost(costs.account_currency())
    days: dict[date, Cost] = {}
    by: dict[str, dict[Any, Cost]] = {name: {} for name in DIMENSIONS}
    for (day, *keys), cost in costs.daily(projects, span, DIMENSIONS).items():
        total.merge(cost)
        days.setdefault(day, Cost(total.currency)).merge(cost)
        for name, key in zip(DIMENSIONS, keys, strict=True):
            by[name].setdefault(key, Cost(total.currency)).merge(cost)
    return days, by, total


def _forecast(
    projects: Sequence[int], month: Month, total: Cost, days: dict[date, Cost], now: datetime
) -> Decimal | None:
    """Return the month's cost if each day to come costs what that weekday did on average in the last four weeks.

    Of today, what is spent counts if it is more.
    """
    today = now.date()
    first = today - WEEKS * 7 * DAY
    past = {
        day: cost.amount for (day,), cost in costs.daily(projects, ranges.between(first, today, now=now), ()).items()
    }
    whole = {day: amount for day, amount in past.items() if day < today}
    if len([amount for amount in whole.values() if amount]) < LEAST_DAYS:
        return None
    began = min(whole)  # a project that is younger than four weeks had no weekday before
    weekdays: dict[int, list[Decimal]] = defaultdict(list)
    for place in range((today - began).days):
        day = began + timedelta(days=place)
        weekdays[day.weekday()].append(whole.get(day, Decimal(0)))
    usual = {weekday: sum(amounts, Decimal(0)) / len(amounts) for weekday, amounts in weekdays.items()}
    spent_today = days[today].amount if today in days else Decimal(0)
    to_come = [today + timedelta(days=place) for place in range(1, (month.until - today).days)]
    rest = max(usual.get(today.weekday(), Decimal(0)) - spent_today, Decimal(0))
    return total.amount + rest + sum((usual.get(day.weekday(), Decimal(0)) for day in to_come), Decimal(0))
