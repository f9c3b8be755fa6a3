"""Ranges of time that figures are told for: by a word, such as ``7d``, or by their first and last day."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta

from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from verification.core.errors import UserError

DAY, HOUR = timedelta(days=1), timedelta(hours=1)
MAX_DAYS = 366  # the longest range: with the range before it, what the daily figures are kept for
BY_DAY_FROM = timedelta(days=8)  # ranges from this length on are read by the day
HOURS_KEPT = timedelta(days=100)  # longer than the 90 days that charts show by the hour
DAYS_KEPT = timedelta(days=761)  # 25 months: a month can be compared with that of the last year, and the year before
USUAL = "7d"
DAY_HOURS = 24  # the hours that the overview and ``stats`` tell of: the present one and those before it
WORDS = {  # by their word in the address: the label, and the range as hours or days
    "today": (gettext_lazy("Today"), 0, 1),
    "24h": (gettext_lazy("24 hours"), 24, 0),
    "7d": (gettext_lazy("7 days"), 0, 7),
    "30d": (gettext_lazy("30 days"), 0, 30),
    "90d": (gettext_lazy("90 days"), 0, 90),
    "12m": (gettext_lazy("12 months"), 0, 365),
}


@dataclass(frozen=True, slots=True)
class Range:
    """The time from ``since`` up to ``until``. Both are whole hours, or whole days in a range that is read by day.

    ``hours_since`` is the time since which figures of hours are kept; older ranges are read by the day.
    """

    since: datetime
    until: datetime
    hours_since: datetime | None = None

    @property
    def is_by_day(self) -> bool:
        is_old = self.hours_since is not None and self.since < self.hours_since
        return is_old or self.until - self.since >= BY_DAY_FROM

    @property
    def is_of_days(self) -> bool:
        """The range holds whole days."""
        return self.since.hour == self.until.hour == 0

    @property
    def step(self) -> timedelta:
        return DAY if self.is_by_day else HOUR

    @property
    def by_hour_from(self) -> datetime:
        """From when on a range by the day is read by the hour: the last two days, whose sums may still change.

        A part of a day with which it ends is read so too.
        """
        yesterday = timezone.now().replace(hour=0, minute=0, second=0, microsecond=0) - DAY
        return min(max(self.since, yesterday), self.until.replace(hour=0))

    @property
    def whole_before(self) -> Range:
        """The range of the same length that ends where this one begins."""
        return Range(self.since - (self.until - self.since), self.since, self.hours_since)

    @property
    def before(self) -> Range:
        """The range to compare with: the one before, and of a running range only as much as has passed of this one."""
        return self.as_much_of(self.whole_before)

    def as_much_of(self, other: Range) -> Range:
        """Return as much of an earlier range as has passed of this one, to compare the two.

        It ends at the nearest whole hour. It stays whole in the last hour, so that of the last 24 hours, too, and where
        figures of hours are kept no longer.
        """
        now = timezone.now()
        if not self.since <= now < self.until - HOUR:
            return other
        passed = max(HOUR, round((now - self.since) / HOUR) * HOUR)
        until = min(other.until, other.since + passed)
        return other if until - DAY < now - HOURS_KEPT else replace(other, until=until)

    @property
    def last_day(self) -> date:
        return (self.until - HOUR).date()


def named(word: str, now: datetime) -> Range | None:
    """Return the range of a word of :data:`WORDS`; None for another word."""
    if word not in WORDS:
        return None
    _unused, hours, days = WORDS[word]
    return last_days(now, days) if days else last_hours(now, hours)


def last_hours(now: datetime, hours: int) -> Range:
    """The present hour and those before it."""
    until = now.astimezone(UTC).replace(minute=0, second=0, microsecond=0) + HOUR
    return Range(until - timedelta(hours=hours), until)


def last_days(now: datetime, days: int) -> Range:
    """The present day (UTC) and those before it."""
    until = _start(now.astimezone(UTC).date()) + DAY
    return Range(until - days * DAY, until)


def read_day(text: str, *, now: datetime, default: date | None = None) -> date:
    """Read a day such as 2026-11-22. Raises ``UserError``."""
    if not text and default:
        return default
    try:
        day = date.fromisoformat(text)
    except ValueError:
        raise UserError(
            _("{value} is not a valid date. Use the format {now:%Y-%m-%d}.").format(
                value=text[:20] or "An empty text", now=now
            )
        ) from None
    return day


def between(first: date, last: date, *, now: datetime) -> Range:
    """Return the range of whole days (UTC), both included. Raises ``UserError``, which says what is wrong."""
    today = now.astimezone(UTC).date()
    if first > last:
        raise UserError(_("The start, {first}, is after the end, {last}. Swap them.").format(first=first, last=last))
    if first > today:
        raise UserError(
            _("The start, {first}, is in the future. Today is {today} (UTC).").format(first=first, today=today)
        )
    if (last - first).days >= MAX_DAYS:
        raise UserError(
            _("A period can be at most {max_days} days long. Choose a later start.").format(max_days=MAX_DAYS)
        )
    kept_since = (now - DAYS_KEPT).astimezone(UTC).date()
    if first < kept_since:
        raise UserError(
            _("Figures are kept for 25 months, here since {kept_since}. Choose a later start.").format(
                kept_since=kept_since
            )
        )
    return Range(_start(first), _start(min(last, today)) + DAY, _start((now - HOURS_KEPT).date() + DAY))


def _start(day: date) -> datetime:
    return datetime.combine(day, time.min, UTC)
