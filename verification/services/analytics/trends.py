"""The hour since which a provider delivers fewer messages to a country than before: where its share of arrivals broke.

For each country the time is cut in two where the two parts differ most, by the likelihood ratio of two shares against
one. A cut is told if both parts have enough messages, the drop is large, and chance alone hardly makes one like it. The
scorecard cuts the range that its reader chose, and the watch over collapses the last days, by stricter rules.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta
from itertools import accumulate
from typing import NamedTuple

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


# --- the watch over collapses ------------------------------------------------------------------------------------

# Messages since the break. A fall from 98 to 29 of 100 reaches the evidence after six of them; a shop with few messages
# would wait some hours longer for the scorecard's twenty.
LEAST_SINCE = 10
LEAST_PEOPLE = 5  # different ones among the lost: a few who try a dead number again and again are nobody's fault
# The part of the fall in arrivals by which the verified of a hundred sessions have to fall as well. Where the codes are
# entered as before, the messages arrive, and it is the receipts that are missing.
LEAST_OF_VERIFIED = 0.25
# Of conversion, which depends on users and hours as well, a break takes more: of a hundred, and twice the logarithm.
VERIFIED_DROP, VERIFIED_EVIDENCE, VERIFIED_SINCE = 25, 30.0, 15
# The part of a fall in conversion that the project's other traffic may share: where that falls alike, the app failed.
MOST_OF_OTHERS = 0.5
MOST_OF_USUAL = 3  # times the usual sessions of the same hours: more are an attack, which the traffic guard judges
# The logarithm of the likelihood ratio between "as before" and "as since the break", from which on it is over: 20 to 1.
OVER_EVIDENCE = 3.0


class Counts(NamedTuple):
    """An hour of one provider in one country. What is not decided yet counts as arrived."""

    accepted: int
    arrived: int
    sent: int  # sessions whose code it accepted last
    verified: int


Points = list[tuple[datetime, Counts]]  # by the hour, the earliest first
Pairs = list[tuple[datetime, tuple[int, int]]]  # of each hour all, and the part that arrived or was verified


def arrivals(points: Points) -> Pairs:
    return [(at, (each.accepted, each.arrived)) for at, each in points]


def conversions(points: Points) -> Pairs:
    return [(at, (each.sent, each.verified)) for at, each in points]


def is_suspect(whole: int, part: int, usual: float = LEAST_DROP / 100) -> bool:
    """Return whether so many are lost that a look at the past may be worth it: more than a ``usual`` share."""
    return whole - part >= max(LEAST_PEOPLE, whole * usual)


def break_of(points: Points) -> datetime | None:
    """Return the hour since which a provider fails to deliver; None where it does not, or nobody can tell."""
    found = cut("", arrivals(points), least_since=LEAST_SINCE)
    if found is None or not _is_felt(points, found.at):
        return None
    return found.at


def conversion_break_of(points: Points, others: Points) -> datetime | None:
    """Return the hour since which its codes are hardly entered, whatever its receipts say. The hours are over.

    ``others`` is the project's other traffic of the same time.
    """
    shown = conversions(points)
    found = cut("", shown, least_since=VERIFIED_SINCE, drop=VERIFIED_DROP, evidence=VERIFIED_EVIDENCE)
    if found is None or _is_surge(shown, found.at):
        return None
    before, since = (sums(each) for each in _parted(conversions(others), found.at))
    if before[0] >= LEAST_ASKED and since[0] >= LEAST_SINCE:
        fall = before[1] / before[0] - since[1] / since[0]
        if 100 * fall > MOST_OF_OTHERS * (found.before - found.since):
            return None
    return found.at


def is_over(points: Pairs, at: datetime) -> bool:
    """Return whether the latest hours speak for the share before the break, and not for the one since."""
    before, since = (rate(*sums(each)) for each in _parted(points, at))
    latest, part = 0, 0
    for when, (all_of_hour, part_of_hour) in reversed(points):
        if when <= at or latest >= LEAST_SINCE:
            break
        latest, part = latest + all_of_hour, part + part_of_hour
    if latest < LEAST_SINCE:
        return False
    return _likelihood_at(before, part, latest) - _likelihood_at(since, part, latest) >= OVER_EVIDENCE


def shares(points: Pairs, at: datetime) -> tuple[int, int, int]:
    """Return the share before a break and since then, of a hundred, and how many were counted since."""
    before, since = (sums(each) for each in _parted(points, at))
    return _share(*before), _share(*since), since[0]


def sums(points: Pairs) -> tuple[int, int]:
    return sum(whole for _, (whole, _part) in points), sum(part for _, (_whole, part) in points)


def rate(whole: int, part: int) -> float:
    """Return the share, never quite 0 or 1, as no past excludes the other."""
    return (part + 0.5) / (whole + 1)


def _is_felt(points: Points, at: datetime) -> bool:
    """Return whether fewer users are verified as well, as far as sessions tell: else only receipts are missing."""
    (sent, verified), (sent_since, verified_since) = (sums(each) for each in _parted(conversions(points), at))
    if sent < LEAST_ASKED or sent_since < LEAST_SINCE:
        return True
    (accepted, arrived), (accepted_since, arrived_since) = (sums(each) for each in _parted(arrivals(points), at))
    fall = arrived / accepted - arrived_since / accepted_since
    return verified / sent - verified_since / sent_since >= LEAST_OF_VERIFIED * fall


def _is_surge(points: Pairs, at: datetime) -> bool:
    """Return whether far more sessions came since then than the same hours of the day usually have."""
    before, since = _parted(points, at)
    days = max((at - before[0][0]).total_seconds() / 86_400, 1.0)
    by_hour: dict[int, int] = defaultdict(int)
    for when, (whole, _part) in before:
        by_hour[when.hour] += whole
    hours = round((since[-1][0] - at).total_seconds() / 3600) + 1
    usual = sum(by_hour[(at + timedelta(hours=n)).hour] for n in range(hours)) / days
    return sums(since)[0] > MOST_OF_USUAL * max(usual, VERIFIED_SINCE / MOST_OF_USUAL)


def _parted(points: Pairs, at: datetime) -> tuple[Pairs, Pairs]:
    return [each for each in points if each[0] < at], [each for each in points if each[0] >= at]


def _share(whole: int, part: int) -> int:
    return round(100 * part / whole) if whole else 0


def _likelihood_at(share: float, part: int, whole: int) -> float:
    """Return the logarithm of the likelihood of ``part`` of ``whole`` at a share."""
    return part * math.log(share) + (whole - part) * math.log(1 - share)
