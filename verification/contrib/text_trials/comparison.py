"""The statistics of a trial: the difference of two conversions, with an interval that holds however often it is read.

A usual interval of 95 % is right once. Whoever looks every day and stops when it leaves zero out is wrong far more than
one time in twenty. This one is a confidence sequence: the probability that it ever leaves the true difference out is at
most 5 %, over the whole trial. It is that of the mixture sequential probability ratio test (Robbins 1970; Johari and
others, "Peeking at A/B tests", 2017). The price is an interval about half as wide again.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

MIN_SESSIONS = 100  # of each text, before anything is said: the formula takes the counts as normally distributed.
ALPHA = 0.05  # the probability that the interval ever leaves the true difference out.
# The differences that are looked for, as a standard deviation: the interval is narrowest for those of about this size.
USUAL_DIFFERENCE = 0.05


@dataclass(frozen=True, slots=True)
class Arm:
    """The counts of one text."""

    sessions: int = 0
    verified: int = 0

    @property
    def percent(self) -> float | None:
        """The verified of a hundred sessions; None without a session."""
        return round(100 * self.verified / self.sessions, 1) if self.sessions else None


@dataclass(frozen=True, slots=True)
class Difference:
    """The conversion of the second text less that of the present one, in points of a percent.

    ``points`` is the difference of the two as they are shown, rounded; the interval is that of the counts.
    """

    points: float
    low: float
    high: float

    @property
    def is_better(self) -> bool:
        return self.low > 0

    @property
    def is_worse(self) -> bool:
        return self.high < 0


def compare(present: Arm, tried: Arm) -> Difference | None:
    """Return the difference with its interval; None while either text has too few sessions to say anything."""
    if min(present.sessions, tried.sessions) < MIN_SESSIONS:
        return None
    known = 1 / sum(_variance(arm) for arm in (present, tried))  # the information there is about the difference
    usual = 1 / USUAL_DIFFERENCE**2
    half = math.sqrt((known + usual) * math.log((known + usual) / (usual * ALPHA**2))) / known
    points = tried.verified / tried.sessions - present.verified / present.sessions
    low, high = max(-1.0, points - half), min(1.0, points + half)
    shown = round((tried.percent or 0) - (present.percent or 0), 1)
    return Difference(shown, round(100 * low, 1), round(100 * high, 1))


def _variance(arm: Arm) -> float:
    """Return the variance of an arm's conversion. One success and one failure more keep it above zero."""
    share = (arm.verified + 1) / (arm.sessions + 2)
    return share * (1 - share) / arm.sessions
