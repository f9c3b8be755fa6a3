"""The times at which an alert or a callback is tried again, and at which people are left alone."""

from __future__ import annotations

import random
from datetime import UTC, datetime, time, timedelta
from zoneinfo import ZoneInfo

from verification import sql
from verification.models import Project
from verification.models.alerts import OUTAGE

# The seconds before each further try. The first ones come soon, as most faults are short. All take nearly 23 hours, so
# that a receiver that is mended within a day hears of everything.
RETRY_SECONDS = (5, 30, 120, 600, 1_800, 3_600, 10_800, 21_600, 43_200)
JITTER = 0.2  # the share of each wait by which it varies, either way, so that retries do not come in waves


def next_try(tries: int, *, wait_at_least: float = 0) -> datetime | None:
    """Return when to try again after ``tries`` failures, or None to give up.

    ``wait_at_least`` is in seconds: what the receiver asked for.
    """
    if tries > len(RETRY_SECONDS):
        return None
    wait = RETRY_SECONDS[tries - 1] * random.uniform(1 - JITTER, 1 + JITTER)  # noqa: S311  (nothing to be guessed)
    return sql.now() + timedelta(seconds=max(wait, wait_at_least))


TEST = "test"  # the kind of an alert that an owner has asked for, and so waits for
NEVER_WAIT = (OUTAGE, TEST)


def quiet_until(project: Project, kind: str, now: datetime) -> datetime | None:
    """Return when people may be told of such an alert; None if that is now."""
    if not project.alert_quiet_hours or kind in NEVER_WAIT:
        return None
    zone = ZoneInfo(project.alert_time_zone)
    first, last = (time.fromisoformat(text) for text in project.alert_quiet_hours.split("-"))
    today = now.astimezone(zone).date()
    for day in (today - timedelta(days=1), today):
        # Compared in UTC: by the zone's own clock, an hour that autumn repeats would end before it has begun.
        begins = datetime.combine(day, first, zone).astimezone(UTC)
        ends = datetime.combine(day if first < last else day + timedelta(days=1), last, zone).astimezone(UTC)
        if begins <= now < ends:
            return ends
    return None
