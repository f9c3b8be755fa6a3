"""The figures of a range of time against the range before, for ``stats`` and whoever else tells them.

They are read from the counted rows alone, so a range of a year costs little more than one of a day. The caller names
the projects whose figures are told; no other project's rows are read.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, time, timedelta
from typing import Any

from django.contrib.postgres.fields import ArrayField
from django.db.models import Aggregate, BigIntegerField, QuerySet, Sum
from django.utils.translation import gettext as _

from verification.models import DailyFigures, DailyUsers, HourlyFigures, HourlyRefusals, Provider
from verification.services.analytics.ranges import Range

DAY = timedelta(days=1)
Where = Mapping[str, Any]  # the values of some of DIMENSIONS that rows must have, such as one country
COUNTS = (
    "sessions",
    "sessions_sent",
    "sessions_delivered",
    "sessions_checked",
    "sessions_verified",
    "sessions_proved",
    "sessions_first",
    "messages",
    "messages_accepted",
    "messages_delivered",
    "messages_failed",
    "messages_expired",
    "attempts",
    "attempts_accepted",
)
TIMES = ("accept_times", "receipt_times", "verify_times")
FUNNEL = (  # the steps of a session, each with its word in docs/figures.md
    ("started", "sessions"),
    ("sent", "sessions_sent"),
    ("delivered", "sessions_delivered"),
    ("checked", "sessions_checked"),
    ("verified", "sessions_verified"),
    ("proved", "sessions_proved"),
)
DIMENSIONS = ("project", "channel", "provider_id", "country", "language")
# The steps of the histograms, as `time_bucket` of sql/records/count_figures.sql has them: the first ends after 0.1
# seconds, each further one is wider by a third of an octave.
FIRST_STEP_SECONDS = 0.1
STEPS_PER_OCTAVE = 3
STEPS = 40


class SumHistograms(Aggregate):
    """The histograms of many rows added step by step; null where all are null.

    Each step is a sum of PostgreSQL's own: over a year's rows that takes a tenth of the time of a function of ours.
    """

    output_field = ArrayField(BigIntegerField())

    def as_sql(self, compiler: Any, connection: Any, **extra: Any) -> tuple[str, Any]:  # type: ignore[override]
        column, _unused = compiler.compile(self.get_source_expressions()[0])
        sums = ", ".join(f"sum({column}[{step}])" for step in range(1, STEPS + 1))
        return f"CASE WHEN count({column}) > 0 THEN ARRAY[{sums}] END", []


@dataclass(slots=True)
class FigureSums:
    """The sums of some rows: numbers, and histograms of times."""

    counts: Counter[str] = field(default_factory=Counter)
    times: dict[str, list[int]] = field(default_factory=dict)

    @property
    def lost(self) -> int:
        """The messages that failed or expired."""
        return self.counts["messages_failed"] + self.counts["messages_expired"]

    def add(self, counts: Mapping[str, int], times: Mapping[str, list[int] | None]) -> None:
        self.counts.update(counts)
        for name, steps in times.items():
            if steps:
                known = self.times.get(name)
                self.times[name] = [a + b for a, b in zip(known, steps, strict=True)] if known else steps

    @property
    def conversion(self) -> float | None:
        """The verified of a hundred sessions that were sent; None without one."""
        return percent(self.counts["sessions_verified"], self.counts["sessions_sent"])

    def seconds(self, name: str, share: float) -> float | None:
        """The time that ``share`` of all took at most, such as 0.5 for the median; None where nothing was timed.

        It is the middle of a step, and so at most 12 % off.
        """
        steps = self.times.get(name, [])
        rank = share * sum(steps)
        passed = 0
        for place, number in enumerate(steps):
            passed += number
            if number and passed >= rank:
                return FIRST_STEP_SECONDS * math.exp2(max(place - 0.5, 0) / STEPS_PER_OCTAVE)
        return None


def merged(sums: Sequence[FigureSums], number: int) -> list[FigureSums]:
    """Add up the figures of every ``number`` steps: a share or a median of few sessions jumps and says nothing."""
    found = []
    for start in range(0, len(sums), number):
        whole = FigureSums()
        for each in sums[start : start + number]:
            whole.add(each.counts, each.times)
        found.append(whole)
    return found


def seconds_in(steps: Sequence[int]) -> float:
    """The times of a histogram added up, each by the middle of its step."""
    return sum(
        number * FIRST_STEP_SECONDS * math.exp2(max(place - 0.5, 0) / STEPS_PER_OCTAVE)
        for place, number in enumerate(steps)
    )


def percent(part: int, whole: int) -> float | None:
    """The hundredth parts, to a tenth; None of nothing."""
    return round(100 * part / whole, 1) if whole else None


def total(projects: Sequence[int], span: Range, where: Where | None = None) -> FigureSums:
    """The sums of a range."""
    return grouped(projects, span, (), where).get((), FigureSums())


def grouped(
    projects: Sequence[int], span: Range, by: Sequence[str], where: Where | None = None
) -> dict[tuple[Any, ...], FigureSums]:
    """The sums of a range for each value of some of :data:`DIMENSIONS`."""
    found: dict[tuple[Any, ...], FigureSums] = {}
    for rows in rows_of(projects, span, where):
        for row in rows.order_by().values(*by).annotate(**_sums()):
            _add(found.setdefault(tuple(row[name] for name in by), FigureSums()), row)
    return found


def over_time(projects: Sequence[int], span: Range, where: Where | None = None) -> list[tuple[datetime, FigureSums]]:
    """The sums of each hour of a range, or of each day where it is read by the day; without traffic, of none."""
    found: dict[datetime, FigureSums] = {}
    moment = span.since
    while moment < span.until:
        found[moment] = FigureSums()
        moment += span.step
    for rows in rows_of(projects, span, where):
        when = "hour" if rows.model is HourlyFigures else "day"
        for row in rows.order_by().values(when).annotate(**_sums()):
            at = row["hour"] if when == "hour" else datetime.combine(row["day"], time.min, UTC)
            _add(found[at.replace(hour=0) if span.is_by_day else at], row)
    return list(found.items())


def refusals(projects: Sequence[int], span: Range, country: str | None = None) -> list[tuple[str, int]]:
    """The refused requests by rule, the most frequent first. Few rules note a country."""
    rows = HourlyRefusals.objects.filter(project__in=projects, hour__gte=span.since, hour__lt=span.until)
    rows = rows if country is None else rows.filter(country=country)
    return list(rows.order_by().values_list("rule").annotate(times=Sum("refused")).order_by("-times", "rule"))


def users(projects: Sequence[int], span: Range) -> int:
    """The verified users of the days that a range touches; a user counts once for each day and project."""
    days = DailyUsers.objects.filter(project__in=projects, day__gte=span.since.date(), day__lte=span.last_day)
    return days.aggregate(verified=Sum("verified"))["verified"] or 0


def names(dimension: str, found: Iterable[tuple[Any]]) -> dict[Any, str]:
    """The names of providers, by the keys of :func:`grouped`; for another dimension nothing, as its keys speak."""
    if dimension != "provider_id":
        return {}
    keys = [key for (key,) in found]
    known = dict(Provider.objects.filter(pk__in=keys).values_list("pk", "name"))
    return {key: known.get(key, _("Deleted provider {key}").format(key=key)) if key else _("None") for key in keys}


def as_dict(sums: FigureSums) -> dict[str, Any]:
    """The sums in the words of docs/figures.md, for programs. What cannot be told is null."""
    return {
        **{word: sums.counts[name] for word, name in FUNNEL},
        "first_send": sums.counts["sessions_first"],
        "conversion_percent": sums.conversion,
        "messages": sums.counts["messages"],
        "accepted": sums.counts["messages_accepted"],
        "arrived": sums.counts["messages_delivered"],
        "failed": sums.counts["messages_failed"],
        "expired": sums.counts["messages_expired"],
        "lost": sums.lost,
        **{f"{name.removesuffix('_times')}_seconds": _median_and_p95(sums, name) for name in TIMES},
    }


def _median_and_p95(sums: FigureSums, name: str) -> dict[str, float | None]:
    found = {"median": sums.seconds(name, 0.5), "p95": sums.seconds(name, 0.95)}
    return {word: seconds and round(seconds, 2) for word, seconds in found.items()}


def _sums() -> dict[str, Aggregate]:
    return {f"sum_{name}": Sum(name) for name in COUNTS} | {f"sum_{name}": SumHistograms(name) for name in TIMES}


def _add(sums: FigureSums, row: dict[str, Any]) -> None:
    sums.add({name: row[f"sum_{name}"] or 0 for name in COUNTS}, {name: row[f"sum_{name}"] for name in TIMES})


def is_counted_by(projects: Sequence[int], moment: datetime) -> bool:
    """Return whether anything of these projects is counted of this day (UTC) or earlier."""
    days = DailyFigures.objects.filter(project__in=projects, day__lte=moment.date())
    hours = HourlyFigures.objects.filter(project__in=projects, hour__lt=moment + DAY)
    return days.exists() or hours.exists()


def rows_of(projects: Sequence[int], span: Range, where: Where | None) -> Iterable[QuerySet[Any, Any]]:
    """Return the rows of a range, those of days and those of hours."""
    hours = HourlyFigures.objects.filter(project__in=projects, hour__lt=span.until, **(where or {}))
    if not span.is_by_day:
        return (hours.filter(hour__gte=span.since),)
    by_hour_from = span.by_hour_from
    days = DailyFigures.objects.filter(
        project__in=projects, day__gte=span.since.date(), day__lt=by_hour_from.date(), **(where or {})
    )
    return (days, hours.filter(hour__gte=by_hour_from))
