"""The choice of the best provider by what each has shown: the counted hours go in, an order comes out.

Nothing here reads a table, a clock or a setting, so a simulation (``benchmarks/routing.py``) runs the same functions.
docs/routing.md tells the rules in words.
"""

from __future__ import annotations

import math
import random
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple

from verification.contrib.route_optimizer.changes import (
    RouteChange,
    Tally,
    last_change,
    last_change_elsewhere,
    splits_of,
)
from verification.core.session_rules import SESSION_SECONDS

WINDOW_HOURS = 72  # hours that are looked at; older ones count for hardly anything.
HALF_LIFE_HOURS = 24.0  # an hour counts half as much as one a day later, since the quality of routes drifts.
PRIOR_ASKED = 12.0  # messages that the guess for a new country weighs: a handful of answers hardly moves it.
UNKNOWN_RATE = (
    0.7  # of messages where nothing is known at all. It is the same for all providers, so it decides nothing.
)
USUAL_SECONDS = 30.0  # from the creation to the right code, where nothing is known.
LEAST_RATE, MOST_RATE = 0.01, 0.99  # the bounds of a guessed rate, so that odds are finite.
SETTLING_SECONDS = 45.0  # the mean time until a user who will enter the code has done so.
HOUR_SECONDS = 3600.0
# That a user who is not verified has waited in vain: a usual session, whatever the project has set.
LOST_USER_SECONDS = float(SESSION_SECONDS)
_WEIGHTS = [0.5 ** (age / HALF_LIFE_HOURS) for age in range(WINDOW_HOURS)]
# A cheaper route may verify less than the best one by this part and no more: a lost user costs more than a message.
ARRIVAL_LOSS = 0.02
DOUBT_PART = 0.5  # of the doubt that is taken off the best one's rate: a lucky start makes no one the measure of all.


class Objective(StrEnum):
    """The aim of the choice: verified users for the money, or for the time that users wait."""

    MONEY = "money"
    TIME = "time"


class Hour(NamedTuple):
    """The messages of one provider in one country and hour, as the workers have counted them."""

    provider: int
    country: str
    age: int  # hours ago: 0 for the present one, and less than WINDOW_HOURS
    asked: float  # calls of the provider
    verified: int  # sessions whose code it had delivered
    seconds: float = 0.0  # that these sessions took together, from their creation


class Candidate(NamedTuple):
    """A provider that may be asked, and its price of one message there; None where it is not known."""

    provider: int
    price: float | None = None


class Ranking(NamedTuple):
    """The candidates in the order of asking. ``is_explored`` where the first is not the best by what is known."""

    providers: list[int]
    is_explored: bool


@dataclass(frozen=True, slots=True)
class Evidence:
    """The evidence about one provider in one country: of ``known`` messages and a guess, so many were verified."""

    good: float
    bad: float
    known: float
    seconds: float

    @property
    def rate(self) -> float:
        return self.good / (self.good + self.bad)

    @property
    def doubt(self) -> float:
        """The standard deviation of the rate: the fewer messages are known, the greater."""
        asked = self.good + self.bad
        return math.sqrt(self.good * self.bad / (asked + 1)) / asked


@dataclass(slots=True)
class _Sum:
    asked: float = 0.0
    verified: float = 0.0
    seconds: float = 0.0

    def add(self, other: _Sum) -> None:
        self.asked += other.asked
        self.verified += other.verified
        self.seconds += other.seconds

    def rate(self, guess: float) -> float:
        rate = (self.verified + guess * PRIOR_ASKED) / (self.asked + PRIOR_ASKED)
        return min(max(rate, LEAST_RATE), MOST_RATE)

    def mean_seconds(self, guess: float) -> float:
        return (self.seconds + guess * PRIOR_ASKED) / (self.verified + PRIOR_ASKED)


@dataclass(slots=True)
class State:
    """The knowledge about the providers of one project's channel, as of one reading of the figures."""

    by_both: dict[tuple[int, str], _Sum] = field(default_factory=dict)
    by_provider: dict[int, _Sum] = field(default_factory=lambda: defaultdict(_Sum))
    by_country: dict[str, _Sum] = field(default_factory=lambda: defaultdict(_Sum))
    all: _Sum = field(default_factory=_Sum)
    fallen: dict[int, float] = field(default_factory=dict)  # providers that fell in several countries: their rate now
    _evidence: dict[tuple[int, str], Evidence] = field(default_factory=dict)

    def evidence(self, provider: int, country: str) -> Evidence:
        known = self._evidence.get((provider, country))
        if known is None:
            known = self._evidence[provider, country] = self._judge(provider, country)
        return known

    def _judge(self, provider: int, country: str) -> Evidence:
        shown = self.by_both.get((provider, country), _Sum())
        guess = self._guess(provider, country)
        seconds = self.by_provider.get(provider, _Sum()).mean_seconds(self.all.mean_seconds(USUAL_SECONDS))
        return Evidence(
            good=shown.verified + PRIOR_ASKED * guess,
            bad=max(shown.asked - shown.verified, 0.0) + PRIOR_ASKED * (1 - guess),
            known=shown.asked,
            seconds=shown.mean_seconds(seconds),
        )

    def _guess(self, provider: int, country: str) -> float:
        """Return the rate to expect before the country has shown one: by the provider's and the country's odds."""
        if provider in self.fallen:
            return self.fallen[provider]
        whole = self.all.rate(UNKNOWN_RATE)
        of_provider = self.by_provider.get(provider, _Sum()).rate(whole)
        of_country = self.by_country.get(country, _Sum()).rate(whole)
        odds = _odds(of_provider) * _odds(of_country) / _odds(whole)
        return min(max(odds / (1 + odds), LEAST_RATE), MOST_RATE)


def learn(hours: Iterable[Hour], *, running_seconds: float) -> State:
    """Return what the hours show. The present one had lasted ``running_seconds`` when it was counted.

    Hours before the last change of a route count for nothing, whether it fell or came back.
    """
    parts = [settled(age, running_seconds) for age in range(WINDOW_HOURS)]
    routes: dict[int, dict[str, list[Tally]]] = defaultdict(lambda: defaultdict(list))
    for hour in hours:
        asked = max(hour.verified, hour.asked * parts[hour.age])
        routes[hour.provider][hour.country].append(Tally(hour.age, asked, hour.verified, hour.seconds))
    state = State()
    for provider, countries in routes.items():
        splits = {country: splits_of(tallies) for country, tallies in countries.items()}
        wide = last_change_elsewhere(list(splits.values()))
        if wide is not None and wide.is_fall:
            state.fallen[provider] = min(max(wide.rate, LEAST_RATE), MOST_RATE)
        for country, tallies in countries.items():
            oldest = _oldest_that_counts(wide, last_change(splits[country]))
            shown = _sum_since(oldest, tallies)
            state.by_both[provider, country] = shown
            for whole in (state.by_provider[provider], state.by_country[country], state.all):
                whole.add(shown)
    return state


def rank(
    state: State,
    country: str,
    candidates: Sequence[Candidate],
    *,
    objective: Objective,
    explore: float,
    chance: random.Random,
) -> Ranking:
    """Return the order in which to ask. ``explore`` is the greatest part of messages that may go to learn.

    Half of that part goes by Thompson sampling, and half to whom least is known about. Without that half a route that
    came back would never be found.
    """
    shown = {each.provider: state.evidence(each.provider, country) for each in candidates}
    prices = {each.provider: each.price for each in candidates}
    rates = {provider: evidence.rate for provider, evidence in shown.items()}
    order = _by_worth(rates, shown, prices, objective)
    if len(order) < 2 or chance.random() >= explore:
        return Ranking(order, is_explored=False)
    if chance.random() < 0.5:
        drawn = {key: chance.betavariate(evidence.good, evidence.bad) for key, evidence in shown.items()}
        first = _by_worth(drawn, shown, prices, objective)[0]
    else:
        weights = [1 / (1 + shown[provider].known) for provider in order[1:]]
        [first] = chance.choices(order[1:], weights)
    return Ranking([first, *(provider for provider in order if provider != first)], is_explored=first != order[0])


def worth(rate: float, seconds: float, price: float | None, objective: Objective) -> float:
    """Return the verified users for one unit of money, or for one second of waiting. Without a price, 0 for money."""
    if objective is Objective.TIME:
        return rate / (rate * seconds + (1 - rate) * LOST_USER_SECONDS)
    if price is None:
        return 0.0
    return rate / price if price > 0 else math.inf


def settled(age: int, running_seconds: float) -> float:
    """Return which part of an hour's users have entered their code by now, of those who ever will.

    Users come evenly, and each takes :data:`SETTLING_SECONDS` on average. So the first minute of an hour, in which
    hardly anybody can be verified yet, is no fall.
    """
    until_now = age * HOUR_SECONDS + running_seconds
    lasted = min(until_now, HOUR_SECONDS)
    if lasted <= 0:
        return 0.0
    left = math.exp(-(until_now - lasted) / SETTLING_SECONDS) - math.exp(-until_now / SETTLING_SECONDS)
    return 1 - SETTLING_SECONDS / lasted * left


def _by_worth(
    rates: Mapping[int, float],
    shown: Mapping[int, Evidence],
    prices: Mapping[int, float | None],
    objective: Objective,
) -> list[int]:
    """Return the providers by their worth. For money, those that verify clearly less than the best one come after."""
    floor = 0.0
    if objective is Objective.MONEY:
        sure = (rate - DOUBT_PART * shown[provider].doubt for provider, rate in rates.items())
        floor = (1 - ARRIVAL_LOSS) * max(sure, default=0.0)

    def place(provider: int) -> tuple[bool, float, float]:
        rate = rates[provider]
        if rate < floor:
            return True, -rate, 0.0
        return False, -worth(rate, shown[provider].seconds, prices[provider], objective), -rate

    return sorted(rates, key=place)


def _oldest_that_counts(*changes: RouteChange | None) -> int:
    return min((change.age for change in changes if change is not None), default=WINDOW_HOURS)


def _sum_since(oldest: int, tallies: Iterable[Tally]) -> _Sum:
    """Return the sum of the hours up to this age, in which an older one counts for less."""
    shown = _Sum()
    for tally in tallies:
        if tally.age <= oldest:
            weight = _WEIGHTS[tally.age]
            shown.asked += tally.asked * weight
            shown.verified += tally.verified * weight
            shown.seconds += tally.seconds * weight
    return shown


def _odds(rate: float) -> float:
    return rate / (1 - rate)
