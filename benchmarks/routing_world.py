"""The world of the simulation in ``routing.py``: providers, countries, outages and users, all made of one seed."""

from __future__ import annotations

import math
import random
from dataclasses import dataclass

HOUR, DAY, MINUTE = 3600, 86_400, 60
# Twelve countries: their part of the traffic, the price of the first provider there in a hundredth of a dollar, and how
# many of the users who have got a code enter it.
COUNTRIES = {
    "IN": (0.26, 3.0, 0.86),
    "ID": (0.16, 22.0, 0.82),
    "BR": (0.13, 4.0, 0.88),
    "US": (0.10, 0.9, 0.93),
    "MX": (0.08, 5.0, 0.88),
    "GB": (0.07, 4.2, 0.94),
    "DE": (0.06, 8.0, 0.95),
    "TR": (0.05, 2.5, 0.90),
    "UZ": (0.04, 16.0, 0.87),
    "ES": (0.02, 5.5, 0.93),
    "FR": (0.02, 6.5, 0.94),
    "PL": (0.01, 3.5, 0.93),
}
# The providers in the owner's order: their price as a part of the first one's, how much it varies by country, the part
# of messages that arrive, how much that varies, and the median of seconds that a user takes with its codes.
PROVIDERS = {
    1: (1.00, 0.00, 0.960, 0.010, 21.0),
    2: (0.80, 0.15, 0.955, 0.030, 24.0),
    3: (0.62, 0.25, 0.940, 0.060, 29.0),
    4: (0.45, 0.25, 0.820, 0.150, 38.0),
}
DRIFT = 0.03  # how far the arrival of a route swings within some hours to either side
BAD_PART = 0.05  # of a route's messages that arrive while it is dead without saying so
ASKS_AGAIN = 0.6  # of them do
SPREAD = 0.6  # of the logarithm of the time that users take


@dataclass(frozen=True, slots=True)
class Outage:
    """A time in which a route is dead: it refuses (``is_loud``), or takes messages that never arrive."""

    provider: int
    countries: frozenset[str]
    since: float
    until: float
    is_loud: bool

    def hits(self, provider: int, country: str, now: float) -> bool:
        return self.provider == provider and country in self.countries and self.since <= now < self.until


class World:
    """The truth of one run: prices, arrival at every moment, and outages. Nobody but the oracle sees it."""

    def __init__(self, *, days: int, seed: int, is_calm: bool = False) -> None:
        chance = random.Random(seed)  # noqa: S311  (a simulation)
        self.prices: dict[tuple[int, str], float] = {}
        self._arrival: dict[tuple[int, str], float] = {}
        self._swing: dict[tuple[int, str], tuple[float, float]] = {}
        for provider, (part, varies, arrival, arrival_varies, _) in PROVIDERS.items():
            for country, (_, price, _) in COUNTRIES.items():
                route = provider, country
                self.prices[route] = price / 100 * part * math.exp(chance.gauss(0, varies))
                self._arrival[route] = min(0.99, max(0.3, chance.gauss(arrival, arrival_varies)))
                self._swing[route] = chance.uniform(6, 30) * HOUR, chance.uniform(0, 2 * math.pi)
        self.outages = [] if is_calm else [outage for day in range(days) for outage in _outages(day, chance)]

    def outage(self, provider: int, country: str, now: float) -> Outage | None:
        return next((each for each in self.outages if each.hits(provider, country, now)), None)

    def usual(self, provider: int, country: str, now: float) -> float:
        """The part of messages that arrive where there is no outage."""
        period, phase = self._swing[provider, country]
        swing = DRIFT * math.sin(2 * math.pi * now / period + phase)
        return min(0.995, self._arrival[provider, country] + swing)

    def arrival(self, provider: int, country: str, now: float) -> float:
        outage = self.outage(provider, country, now)
        if outage is None:
            return self.usual(provider, country, now)
        return 0.0 if outage.is_loud else BAD_PART * self.usual(provider, country, now)


def _outages(day: int, chance: random.Random) -> list[Outage]:
    """The outages of one day: two times a provider fails everywhere, once silently; five routes fail by themselves."""
    everywhere = frozenset(COUNTRIES)
    found = []
    for number in range(2):
        since = day * DAY + chance.uniform(1, 20) * HOUR
        lasts = chance.uniform(1, 3) * HOUR
        found.append(Outage(chance.choice(list(PROVIDERS)), everywhere, since, since + lasts, is_loud=number == 0))
    for _ in range(5):
        [country] = chance.choices(list(COUNTRIES), [share for share, _, _ in COUNTRIES.values()])
        since = day * DAY + chance.uniform(0, 20) * HOUR
        lasts = chance.uniform(2, 6) * HOUR
        route = chance.choice(list(PROVIDERS))
        found.append(Outage(route, frozenset({country}), since, since + lasts, is_loud=chance.random() < 0.3))
    return found


@dataclass(slots=True)
class User:
    """A user who asks for a code, and the dice that fall the same whatever the strategy."""

    at: float
    country: str
    arrives: tuple[float, float]  # a number for the first message and for the second
    enters: float
    takes: tuple[float, float]
    asks_again: bool


def users_of(*, days: int, per_day: int, seed: int) -> list[User]:
    chance = random.Random(seed + 1)  # noqa: S311  (a simulation)
    names, shares = list(COUNTRIES), [share for share, _, _ in COUNTRIES.values()]
    found = []
    for _ in range(days * per_day):
        day, hour = chance.randrange(days), chance.triangular(0, 24, 15)  # the night is quiet
        found.append(
            User(
                at=day * DAY + hour * HOUR,
                country=chance.choices(names, shares)[0],
                arrives=(chance.random(), chance.random()),
                enters=chance.random(),
                takes=(chance.gauss(0, SPREAD), chance.gauss(0, SPREAD)),
                asks_again=chance.random() < ASKS_AGAIN,
            )
        )
    return sorted(found, key=lambda user: user.at)
