"""Counting the figures that last, from what happened: by the workers every minute, and by ``recount``.

The same rows give the same figures, so every hour may be counted again at any time. Figures of hours whose rows have
been purged stay as they are. Nothing here runs in a request or in a delivery.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime, timedelta
from typing import NamedTuple

from django.utils import timezone

from verification import sql
from verification.core.addresses import country_of
from verification.models import (
    BreakerOpening,
    DailyCosts,
    DailyFigures,
    DailyUsers,
    HourlyCosts,
    HourlyFaults,
    HourlyFigures,
    HourlyRefusals,
    NumberArea,
    Upkeep,
)
from verification.services.analytics.ranges import DAY, DAYS_KEPT, HOUR, HOURS_KEPT

PERIOD = timedelta(minutes=1)  # from one count to the next: the figures are at most this much behind.
SHARE = 0.05  # the part of a worker's time that counting may take: after a slow count the next one comes later.
USERS_PERIOD = timedelta(minutes=15)  # between two counts of the day's users, which read the whole day.
# How long rows may change after their hour: a manual send lives 10 minutes, and a receipt is waited for 15 minutes.
LATE = timedelta(hours=1)
FIRST_LOOK = DAY  # how far back the very first count goes; `recount` counts what is older.
AREAS_KEPT = timedelta(days=30)  # then an area's country is looked up anew, as numbering plans change.
AREA_ROUNDS = 5  # how often one hour's count is repeated for areas still unknown; each round stores all it finds.
FIGURES, USERS = "figures", "users"  # the names of their rows in Upkeep


class UnknownArea(NamedTuple):
    """Numbers that begin alike and whose country is not noted yet, as ``count_hour`` returns them."""

    area: str
    samples: list[str]


def claim_run() -> list[tuple[str, datetime]]:
    """Claim the next count. The first worker that asks once it is due gets it, with the time to count from."""
    now = timezone.now()
    if not Upkeep.objects.claim(FIGURES, period=PERIOD, now=now):
        return []
    return [(FIGURES, (Upkeep.objects.get(name=FIGURES).finished_at or now - FIRST_LOOK) - LATE)]


COUNTERS: list[Callable[[datetime], None]] = []  # of an hour, added by apps when they are loaded


def count_due() -> None:
    """Count all that may have changed since the last count, whoever made it."""
    began = timezone.now()
    row = Upkeep.objects.get_or_create(name=FIGURES, defaults={"started_at": began})[0]
    count_since((row.finished_at or began - FIRST_LOOK) - LATE)


def count_since(since: datetime) -> None:
    """Count the hours since then, and the days that are over. The next count begins where this one began."""
    clock, began = time.monotonic(), sql.now()
    days = set()
    for hour in _hours(since, began):
        count_hour(hour)
        days.add(hour.date())
    for day in sorted(days):
        _close_day(day, today=began.date())
    if Upkeep.objects.claim(USERS, period=USERS_PERIOD, now=began):
        count_users(began.date())
    pause = max(PERIOD, timedelta(seconds=time.monotonic() - clock) / SHARE)
    Upkeep.objects.filter(name=FIGURES).update(finished_at=began, started_at=began + pause - PERIOD)


def recount(*, days: int) -> int:
    """Count every hour of the last ``days`` days anew, and return the number of hours."""
    now = sql.now()
    first = now.replace(hour=0, minute=0, second=0, microsecond=0) - days * DAY
    hours = list(_hours(first, now))
    for number, hour in enumerate(hours):
        count_hour(hour)
        if hour.hour == 23 or number == len(hours) - 1:
            _close_day(hour.date(), today=now.date())
    count_users(now.date())
    return len(hours)


def count_hour(hour: datetime) -> None:
    """Count one hour of all projects. While it goes on, requests may bring numbers of areas that nobody knows yet."""
    for _ in range(AREA_ROUNDS):
        unknown = sql.call_many(UnknownArea, "count_hour", hour=hour)
        if not unknown:
            for counter in COUNTERS:
                counter(hour)
            break
        _store_areas(unknown)
    sql.call("count_faults", hour=hour)


def count_users(day: date) -> None:
    """Count the different recipients of one day of all projects."""
    sql.call("count_users", day=day)


def purge(now: datetime) -> dict[str, int]:
    """Remove hours and days that are kept no longer. Return the number of rows by kind."""
    old = {
        "hourly_figures": HourlyFigures.objects.filter(hour__lt=now - HOURS_KEPT),
        "hourly_costs": HourlyCosts.objects.filter(hour__lt=now - HOURS_KEPT),
        "hourly_faults": HourlyFaults.objects.filter(hour__lt=now - DAYS_KEPT),
        "breaker_openings": BreakerOpening.objects.filter(opened_at__lt=now - HOURS_KEPT, closed_at__isnull=False),
        "hourly_refusals": HourlyRefusals.objects.filter(hour__lt=now - DAYS_KEPT),
        "daily_figures": DailyFigures.objects.filter(day__lt=(now - DAYS_KEPT).date()),
        "daily_costs": DailyCosts.objects.filter(day__lt=(now - DAYS_KEPT).date()),
        "daily_users": DailyUsers.objects.filter(day__lt=(now - DAYS_KEPT).date()),
        "number_areas": NumberArea.objects.filter(noted_at__lt=now - AREAS_KEPT),
    }
    return {kind: rows.delete()[0] for kind, rows in old.items()}


def _hours(since: datetime, until: datetime) -> Iterator[datetime]:
    hour = since.astimezone(UTC).replace(minute=0, second=0, microsecond=0)
    while hour <= until:
        yield hour
        hour += HOUR


def _close_day(day: date, *, today: date) -> None:
    if day < today:
        sql.call("sum_day", day=day, hours_since=sql.now() - HOURS_KEPT)
        count_users(day)


def _store_areas(unknown: list[UnknownArea]) -> None:
    rows = (NumberArea(area=each.area, country=_country(each.samples)) for each in unknown)
    NumberArea.objects.bulk_create(rows, ignore_conflicts=True)


def _country(samples: list[str]) -> str:
    return next((country for sample in samples if (country := country_of(sample))), "")
