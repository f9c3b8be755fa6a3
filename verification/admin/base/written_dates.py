"""Filters for times as people read them, each with its zone."""

from __future__ import annotations

from datetime import date, datetime

from django.template import Library

from verification.core.formats import CLOCK, DAY, DAY_AND_TIME, written_date, written_moment

register = Library()


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
