"""The last change of a route: the hour since when it verifies clearly less, or clearly more, than before.

A route is one provider in one country. All changes are found anew from the counted hours, so nothing is remembered.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

MAX_CHANGE_AGE = 24  # hours: a change that is older has shown itself in the decayed counts.
LEAST_BEFORE = 6.0  # messages before a change: with fewer there is nothing to compare with.
FALL_PART, RISE_PART = 0.8, 1.25  # a rate is clearly lower, or higher, beyond these parts of the rate before.
CHANCE = 0.005  # the chance of a false alarm: six messages in a row of which none is verified are a fall from 80 %.
CHANCE_ELSEWHERE = 0.001  # the same over several countries, where a false alarm costs more
LEAST_ELSEWHERE = 2  # countries beside the worst that must show it: one country's fall is not the provider's
GUESS_ASKED = 2.0  # messages that the guess weighs in the rate before a change
GUESS_RATE = 0.5
MOST_RATE = 0.99  # of what is expected: nothing is certain


class Tally(NamedTuple):
    """The messages of one route in one hour."""

    age: int  # hours ago
    asked: float
    verified: float
    seconds: float = 0.0  # that those who were verified took together


class RouteChange(NamedTuple):
    """A change of a route that began ``age`` hours ago, and the rate since then."""

    age: int
    is_fall: bool
    rate: float


class Split(NamedTuple):
    """The messages of a route since an hour, and the rate before it."""

    asked: float
    verified: float
    rate_before: float


Splits = list[Split]  # of one route, by the age in hours; it ends where too few messages came before


def splits_of(tallies: Iterable[Tally]) -> Splits:
    """Return the split of one route's messages at each age at which a change is looked for."""
    asked, verified = [0.0] * (MAX_CHANGE_AGE + 1), [0.0] * (MAX_CHANGE_AGE + 1)
    asked_before = verified_before = 0.0
    for tally in tallies:
        asked_before += tally.asked
        verified_before += tally.verified
        if tally.age <= MAX_CHANGE_AGE:
            asked[tally.age] += tally.asked
            verified[tally.age] += tally.verified
    splits: Splits = []
    asked_since = verified_since = 0.0
    for asked_then, verified_then in zip(asked, verified, strict=True):
        asked_since += asked_then
        verified_since += verified_then
        asked_before -= asked_then
        verified_before -= verified_then
        if asked_before < LEAST_BEFORE:
            break
        rate_before = (verified_before + GUESS_RATE * GUESS_ASKED) / (asked_before + GUESS_ASKED)
        splits.append(Split(asked_since, verified_since, min(rate_before, MOST_RATE)))
    return splits


def last_change(splits: Splits) -> RouteChange | None:
    """Return the newest change of one route; None where there is none within a day."""
    for age, split in enumerate(splits):
        if age and split.asked == splits[age - 1].asked:
            continue  # nothing happened in that hour
        change = _judge(age, split.asked, split.verified, split.rate_before, CHANCE)
        if change:
            return change
    return None


def last_change_elsewhere(routes: Sequence[Splits]) -> RouteChange | None:
    """Return the newest change of a provider that shows in several countries, the one that speaks loudest left out."""
    for age in range(max(map(len, routes), default=0)):
        splits = [splits[age] for splits in routes if age < len(splits) and splits[age].asked > 0]
        if len(splits) <= LEAST_ELSEWHERE:
            continue
        missing = [split.asked * split.rate_before - split.verified for split in splits]
        is_fall = sum(missing) > 0
        loudest = missing.index(max(missing) if is_fall else min(missing))
        change = _together(age, [*splits[:loudest], *splits[loudest + 1 :]])
        if change and change.is_fall is is_fall:
            return change
    return None


def _together(age: int, splits: Sequence[Split]) -> RouteChange | None:
    asked = verified = expected = 0.0
    for split in splits:
        asked += split.asked
        verified += split.verified
        expected += split.asked * split.rate_before
    return _judge(age, asked, verified, expected / asked, CHANCE_ELSEWHERE)


def _judge(age: int, asked: float, verified: float, rate_before: float, chance: float) -> RouteChange | None:
    if asked <= 0:
        return None
    rate = min(verified / asked, 1.0)
    fallen_to, risen_to = FALL_PART * rate_before, min(RISE_PART * rate_before, (1 + rate_before) / 2)
    if rate < fallen_to and _chance_of(asked, rate, fallen_to) < chance:
        return RouteChange(age, True, rate)
    if rate > risen_to and _chance_of(asked, rate, risen_to) < chance:
        return RouteChange(age, False, rate)
    return None


def _chance_of(asked: float, rate: float, expected: float) -> float:
    """Return a bound (Chernoff's) on the chance of such a rate, or a more unusual one, where another is expected."""
    return math.exp(-asked * (_part(rate, expected) + _part(1 - rate, 1 - expected)))


def _part(rate: float, expected: float) -> float:
    return rate * math.log(rate / expected) if rate > 0 else 0.0
