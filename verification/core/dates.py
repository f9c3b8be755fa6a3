"""Dates as the reader's language writes them: 3 Nov 2026 in English, 3 ноя 2026 in Russian. All are in UTC."""

from __future__ import annotations

from datetime import date, datetime

from django.template import Library
from django.utils.formats import date_format
from django.utils.translation import get_language

DAY, DAY_AND_TIME = "j M Y", "j M Y, H:i"  # as Django's date formats
DAY_OF_YEAR, DAY_OF_YEAR_AND_TIME = "j M", "j M, H:i"  # where the year says nothing

register = Library()


def written_date(at: date | datetime, pattern: str) -> str:
    """Write a date. Django begins each month with a capital, which of the panel's languages English alone does."""
    written = date_format(at, pattern)
    return written if (get_language() or "en").startswith("en") else written.lower()


@register.filter
def written_day(at: date | datetime) -> str:
    return written_date(at, DAY)


@register.filter
def written_time(at: datetime) -> str:
    """Write a time to the minute, without its zone."""
    return written_date(at, DAY_AND_TIME)
