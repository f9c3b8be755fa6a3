"""An estimate of what the choice of the best provider would have saved, from a channel's last days.

The figures tell what each provider did in each country. The estimate gives a country's messages to the one that the
rule now takes for the best there. The part that explores stays as it was. It is no experiment: a provider that
carried few messages of a country may have carried the easy ones. docs/routing.md says so, too.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta

from django.db.models import Q, Sum
from django.utils import timezone

from verification.contrib.route_optimizer.optimizer import LOST_USER_SECONDS, Candidate, Hour, Objective, learn, rank
from verification.contrib.route_optimizer.statistics import price_of
from verification.models import Channel, DailyFigures, Provider
from verification.services.analytics.report import SumHistograms, seconds_in
from verification.services.providers.prices import book_of

DAYS = 30  # whole days (UTC) that are looked back at
LEAST_ASKED = 20  # messages of a country that a provider must have carried to be compared there


@dataclass(frozen=True, slots=True)
class Route:
    """One provider's traffic in one country. ``price`` is today's of one message, None where it is not known."""

    asked: int
    accepted: int
    verified: int
    seconds: float  # that the verified took together
    price: float | None

    @property
    def cost(self) -> float:
        return self.accepted * (self.price or 0.0)

    @property
    def waited(self) -> float:
        """The seconds that users waited, in vain or not."""
        return self.seconds + max(self.asked - self.verified, 0) * LOST_USER_SECONDS


@dataclass(frozen=True, slots=True)
class CountryResult:
    """One country: the provider that the rule takes for the best, and a verified user's cost or wait with it."""

    country: str
    best: str
    verified: int
    then: float
    with_best: float


@dataclass(slots=True)
class Backtest:
    """The estimate over all countries that can be compared, and the messages of the others, which are left out."""

    objective: Objective
    verified: int = 0
    messages: int = 0
    then: float = 0.0  # money, or seconds of waiting, for the verified users together
    with_best: float = 0.0
    verified_with_best: float = 0.0  # of the same number of messages
    left_out: int = 0
    countries: list[CountryResult] = field(default_factory=list)

    @property
    def saved(self) -> float:
        return self.then - self.with_best


def run_backtest(channel: Channel, objective: Objective) -> Backtest:
    """Return what the choice would have saved over this channel of a project within the last :data:`DAYS` days."""
    result = Backtest(objective)
    serving = _candidates(channel)
    for country, routes in _routes(channel).items():
        known = {key: route for key, route in routes.items() if route.asked >= LEAST_ASKED and key in serving}
        if objective is Objective.MONEY:
            known = {key: route for key, route in known.items() if route.price is not None}
        compared = list(routes.values()) if objective is Objective.TIME else _priced(routes)
        if len(known) < 2 or len(compared) < len(routes) or not any(route.verified for route in known.values()):
            result.left_out += sum(route.asked for route in routes.values())
            continue
        best = _best(country, known, objective)
        if known[best].verified:
            _add(result, country, compared, known[best], serving[best], channel.explore_percent / 100)
    result.countries.sort(key=lambda each: (each.with_best - each.then) * each.verified)
    return result


def _add(result: Backtest, country: str, routes: list[Route], best: Route, name: str, explore: float) -> None:
    """Add one country. The part that explores costs what all providers cost together."""
    verified, asked = sum(route.verified for route in routes), sum(route.asked for route in routes)
    if not verified:
        return
    if result.objective is Objective.MONEY:
        then, chosen = sum(route.cost for route in routes), best.cost
    else:
        then, chosen = sum(route.waited for route in routes), best.waited
    each_then = then / verified
    each_with = (1 - explore) * chosen / best.verified + explore * each_then
    result.verified += verified
    result.messages += asked
    result.then += then
    result.with_best += each_with * verified
    result.verified_with_best += asked * ((1 - explore) * best.verified / best.asked + explore * verified / asked)
    result.countries.append(CountryResult(country, name, verified, each_then, each_with))


def _best(country: str, known: Mapping[int, Route], objective: Objective) -> int:
    hours = [
        Hour(key, country, 1, route.asked, min(route.verified, route.asked), route.seconds)
        for key, route in known.items()
    ]
    candidates = [Candidate(key, route.price) for key, route in known.items()]
    state = learn(hours, running_seconds=0.0)
    chance = random.Random(0)  # noqa: S311  (nothing is drawn)
    return rank(state, country, candidates, objective=objective, explore=0.0, chance=chance).providers[0]


def _priced(routes: Mapping[int, Route]) -> list[Route]:
    return [route for route in routes.values() if route.price is not None]


def _candidates(channel: Channel) -> dict[int, str]:
    """Return the names of the providers that would be chosen among: the project's own, else the system's."""
    serving = Provider.objects.serving(channel.project_id).filter(channel=channel.type)
    own = serving.filter(project=channel.project_id)
    return dict((own if own.exists() else serving).values_list("pk", "name"))


def _routes(channel: Channel) -> dict[str, dict[int, Route]]:
    """Return the traffic of the last days, but for manual sends, by country and provider."""
    today = timezone.now().date()
    rows = DailyFigures.objects.filter(
        Q(attempts__gt=0) | Q(sessions_verified__gt=0),
        project=channel.project_id,
        channel=channel.type,
        is_manual=False,
        day__gte=today - timedelta(days=DAYS),
        day__lt=today,
    ).exclude(provider_id=0)
    sums = (
        rows.order_by()
        .values_list("country", "provider_id")
        .annotate(
            Sum("attempts"), Sum("attempts_accepted"), Sum("sessions_verified"), times=SumHistograms("verify_times")
        )
    )
    accounts = Provider.objects.of(channel.project_id).filter(channel=channel.type)
    books = {key: book_of(key, number) for key, number in accounts.values_list("pk", "price_list")}
    found: dict[str, dict[int, Route]] = defaultdict(dict)
    for country, provider, asked, accepted, verified, times in sums:
        # A price of a prefix alone is not known here: a country at large has none.
        price = price_of(books[provider], "", country) if provider in books else None
        found[country][provider] = Route(asked, accepted, verified, seconds_in(times or []), price)
    return found
