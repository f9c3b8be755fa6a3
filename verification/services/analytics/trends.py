"""The hour since which a provider brings fewer messages to a country than before: where its share of arrivals broke.

For each country the range is cut in two where the two parts differ most, by the likelihood ratio of two shares against
one. A cut is told if both parts have enough messages, the drop is large, and chance alone hardly makes one like it.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, time
from itertools import accumulate

from django.db.models import Sum

from verification.models import HourlyFigures
from verification.services.analytics.ranges import Range
from verification.services.analytics.report import rows_of

LEAST_ASKED = 20  # messages of each part: fewer say little
LEAST_DROP = 15  # of a hundred: a provider that is a little worse than before has not failed
# Twice the logarithm of the likelihood ratio. One cut reaches 25 by chance once in 2 million times; a range has a few
# hundred cuts in some dozens of countries.
LEAST_EVIDENCE = 25.0
TOLD = 5  # countries, those with the most messages since


@dataclass(frozen=True, slots=True)
class ChangePoint:
    """A country's cut: the first hour, or day, of the worse time, and what arrived of a hundred before and since."""

    country: str
    at: datetime
    before: int
    since: int
    asked: int  # messages since then


def worsened(projects: Sequence[int], provider_id: int, span: Range, country: str | None = None) -> list[ChangePoint]:
    """Return the countries in which fewer of the messages that the provider was asked for arrive than before."""
    where = {"provider_id": provider_id} | ({"country": country} if country else {})
    found: dict[str, dict[datetime, tuple[int, int]]] = defaultdict(dict)
    for rows in rows_of(projects, span, where):
        when = "hour" if rows.model is HourlyFigures else "day"
        sums = rows.order_by().values_list("country", when).annotate(Sum("attempts"), Sum("messages_delivered"))
        for place, moment, asked, arrived in sums:
            at = moment if when == "hour" else datetime.combine(moment, time.min, UTC)
            at = at.replace(hour=0) if span.is_by_day else at
            known = found[place].get(at, (0, 0))
            found[place][at] = known[0] + asked, known[1] + arrived
    cuts = [cut(place, sorted(points.items())) for place, points in found.items()]
    return sorted(filter(None, cuts), key=lambda each: -each.asked)[:TOLD]


def cut(
    country: str,
    points: Sequence[tuple[datetime, tuple[int, int]]],
    *,
    least_before: int = LEAST_ASKED,
    least_since: int = LEAST_ASKED,
    drop: float = LEAST_DROP,
    evidence: float = LEAST_EVIDENCE,
) -> ChangePoint | None:
    """Return where the share of arrivals fell; None where it did not, or nobody can tell."""
    asked = list(accumulate(number for _, (number, _) in points))
    arrived = list(accumulate(min(part, number) for _, (number, part) in points))
    best, place = evidence, 0
    for index in range(1, len(points)):
        before, since = asked[index - 1], asked[-1] - asked[index - 1]
        if before < least_before or since < least_since:
            continue
        parts = (arrived[index - 1], before), (arrived[-1] - arrived[index - 1], since)
        fall = 100 * (parts[0][0] / before - parts[1][0] / since)
        found = 2 * (_likelihood(*parts[0]) + _likelihood(*parts[1]) - _likelihood(arrived[-1], asked[-1]))
        if fall >= drop and found > best:
            best, place = found, index
    if not place:
        return None
    since = asked[-1] - asked[place - 1]
    return ChangePoint(
        country=country,
        at=points[place][0],
        before=round(100 * arrived[place - 1] / asked[place - 1]),
        since=round(100 * (arrived[-1] - arrived[place - 1]) / since),
        asked=since,
    )


def _likelihood(part: int, whole: int) -> float:
    """Return the logarithm of the likelihood of ``part`` of ``whole`` at the share that fits best."""
    return sum(number * math.log(number / whole) for number in (part, whole - part) if number)
