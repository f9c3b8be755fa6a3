"""Percentages, seconds, and the moments of a range, as the pages write them."""

from __future__ import annotations

from datetime import datetime

from django.utils import timezone
from django.utils.translation import gettext as _

from verification.admin.base.charts import Number
from verification.core.formats import DAY, DAY_AND_TIME, DAY_OF_YEAR_AND_TIME, grouped, written_date, written_moment
from verification.services.analytics.ranges import Range


def percent(value: Number) -> str:
    return "–" if value is None else f"{grouped(value, places=0 if float(value).is_integer() else 1)} %"


def seconds(value: Number) -> str:
    """Write seconds with two digits that count."""
    if value is None:
        return "–"
    return _("{number} s").format(number=grouped(value, places=0 if value >= 10 or not value else 1))


def step_label(at: datetime, span: Range) -> str:
    """Write a day, which all figures count in UTC, or an hour in the reader's zone."""
    return written_date(at, DAY) if span.is_by_day else written_date(timezone.localtime(at), DAY_OF_YEAR_AND_TIME)


def range_start(at: datetime, span: Range) -> str:
    """Write the beginning of a range: of whole days in UTC, as they are counted."""
    return f"{written_date(at, DAY_AND_TIME)} UTC" if span.is_by_day else written_moment(at, DAY_AND_TIME)


def range_end(span: Range) -> str:
    """Write the last day of a range of days, or the hour at which a shorter one ends."""
    return written_date(span.last_day, DAY) if span.is_by_day else written_moment(span.until, DAY_AND_TIME)
