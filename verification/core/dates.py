"""Dates as the reader's language writes them: 3 Nov 2026 in English, 3 ноя 2026 in Russian, 3-noy 2026 in Uzbek.

Times are in the zone that is active, which is UTC but for a reader of the panel.
"""

from __future__ import annotations

from datetime import date, datetime, timedelta

from django.template import Library
from django.utils import timezone
from django.utils.formats import date_format
from django.utils.translation import get_language

DAY, DAY_AND_TIME = "j M Y", "j M Y, H:i"  # as Django's date formats
DAY_OF_YEAR, DAY_OF_YEAR_AND_TIME = "j M", "j M, H:i"  # where the year says nothing
EXACT, CLOCK = "j M Y, H:i:s", "H:i:s"

register = Library()


def written_date(at: date | datetime, pattern: str) -> str:
    """Write a date. Django begins each month with a capital, which of the panel's languages English alone does."""
    language = get_language() or "en"
    if language.startswith("uz"):
        pattern = pattern.replace(DAY_OF_YEAR, "j-M")
    written = date_format(at, pattern)
    return written if language.startswith("en") else written.lower()


def written_moment(at: datetime, pattern: str) -> str:
    """Write a time in the active zone, and name the zone."""
    return f"{written_date(timezone.localtime(at), pattern)} {zone_name(at)}"


def zone_name(at: datetime) -> str:
    """Return what the active zone is called at this time: UTC, CET; where it has no letters, UTC+5 or UTC-3:30."""
    local = timezone.localtime(at)
    name, offset = local.tzname() or "", local.utcoffset() or timedelta()
    if name.isalpha():
        return name
    hours, minutes = divmod(abs(int(offset.total_seconds())) // 60, 60)
    return f"UTC{'-' if offset < timedelta() else '+'}{hours}{f':{minutes:02}' if minutes else ''}"


@register.filter
def written_day(at: date | datetime) -> str:
    return written_date(at, DAY)


@register.filter
def written_time(at: datetime) -> str:
    """Write a time to the minute, with its zone."""
    return written_moment(at, DAY_AND_TIME)


@register.filter
def written_clock(at: datetime) -> str:
    """Write the time of day to the second, with its zone."""
    return written_moment(at, CLOCK)
