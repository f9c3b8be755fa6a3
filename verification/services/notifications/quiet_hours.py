"""The hours in which a project's people are left alone, on the clock of their time zone."""

from __future__ import annotations

from datetime import UTC, datetime, time, timedelta
from zoneinfo import ZoneInfo

from verification.models import Project
from verification.models.oversight import OUTAGE

TEST = "test"  # the kind of an alert that an owner has asked for, and so waits for
NEVER_WAIT = (OUTAGE, TEST)


def held_until(project: Project, kind: str, now: datetime) -> datetime | None:
    """Return when people may be told of such an alert; None if that is now."""
    if not project.alert_quiet_hours or kind in NEVER_WAIT:
        return None
    zone = ZoneInfo(project.alert_time_zone)
    first, last = (time.fromisoformat(text) for text in project.alert_quiet_hours.split("-"))
    local = now.astimezone(zone)
    for day in (local.date() - timedelta(days=1), local.date()):
        begins = datetime.combine(day, first, zone)
        ends = datetime.combine(day if first < last else day + timedelta(days=1), last, zone)
        if begins <= local < ends:
            return ends.astimezone(UTC)
    return None
