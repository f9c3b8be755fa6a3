"""The choice among providers in simulated days: fixed order, shares, the service's own choice, and an oracle.

The choice is the service's own (``contrib/route_optimizer/optimizer.py``). It sees what a worker sees: counts by the
hour, anew each minute, in which nobody is verified before the code was entered. One seed gives one run, and every
strategy meets the same users and the same outages.

    python -m benchmarks.routing
"""

from __future__ import annotations

import argparse
import math
import random
from collections import defaultdict, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from benchmarks.common.tables import table
from benchmarks.routing_world import COUNTRIES, DAY, HOUR, MINUTE, PROVIDERS, SPREAD, User, World, users_of
from verification.contrib.route_optimizer.optimizer import (
    ARRIVAL_LOSS,
    WINDOW_HOURS,
    Candidate,
    Hour,
    Objective,
    State,
    learn,
    rank,
)
from verification.core.session_rules import SESSION_SECONDS

SHARES = {1: 4, 2: 3, 3: 2, 4: 1}  # the weights that an owner may give them
ASKS_AGAIN_SECONDS = 60.0  # after which a user without a code asks for another one
DEAD_PART = 0.5  # a route that arrives less often than this part of the usual is dead
BREAKER_FAILURES, BREAKER_SECONDS = 5, 15.0  # as in sql/delivery/breaker.sql, without the doubling
EXPLORE = 0.05


@dataclass(slots=True)
class Result:
    """The outcome of one strategy on one day."""

    users: int = 0
    verified: int = 0
    cost: float = 0.0
    calls: int = 0
    dead_calls: int = 0  # to a route that was dead then
    waited: float = 0.0  # seconds until the code was entered, of the verified

    @property
    def arrival(self) -> float:
        return 100 * self.verified / self.users

    @property
    def cost_per_verified(self) -> float:
        return self.cost / self.verified

    @property
    def dead_percent(self) -> float:
        return 100 * self.dead_calls / self.calls

    @property
    def seconds(self) -> float:
        return self.waited / self.verified


Strategy = Callable[["Run", User, float], Sequence[int]]


@dataclass(slots=True)
class Run:
    """One strategy in one world. ``counts`` are what the workers would have counted by now."""

    world: World
    strategy: Strategy
    objective: Objective
    explore: float = EXPLORE
    chance: random.Random = field(default_factory=lambda: random.Random(7))  # noqa: S311  (a simulation)
    results: dict[int, Result] = field(default_factory=lambda: defaultdict(Result))
    counts: dict[tuple[int, str, int], list[float]] = field(default_factory=lambda: defaultdict(lambda: [0, 0, 0]))
    state: State = field(default_factory=State)
    read_at: float = -1.0
    failures: dict[int, int] = field(default_factory=lambda: defaultdict(int))
    aside_until: dict[int, float] = field(default_factory=dict)

    def over(self, users: Sequence[User]) -> dict[int, Result]:
        """Let all users ask, in the order of time, those who ask again included."""
        waiting: deque[tuple[float, User]] = deque()
        verifying: list[tuple[float, tuple[int, str, int], float]] = []
        for user in users:
            while waiting and waiting[0][0] <= user.at:
                again_at, again = waiting.popleft()
                self._look(again_at, verifying)
                self._send(again, again_at, 1, waiting, verifying)
            self._look(user.at, verifying)
            self._send(user, user.at, 0, waiting, verifying)
        return self.results

    def _look(self, now: float, verifying: list[tuple[float, tuple[int, str, int], float]]) -> None:
        """Count once a minute who was verified by then, as the workers do, and learn from it."""
        minute = now // MINUTE
        if minute == self.read_at:
            return
        self.read_at = minute
        counted_at = minute * MINUTE
        later = []
        for at, key, seconds in verifying:
            if at > counted_at:
                later.append((at, key, seconds))
                continue
            self.counts[key][1] += 1
            self.counts[key][2] += seconds
        verifying[:] = later
        if self.strategy is ours:
            self._learn(counted_at)

    def _learn(self, counted_at: float) -> None:
        hour = int(counted_at // HOUR)
        for key in [key for key in self.counts if key[2] <= hour - WINDOW_HOURS]:
            del self.counts[key]
        hours = [
            Hour(provider, country, hour - at, asked, int(verified), seconds)
            for (provider, country, at), (asked, verified, seconds) in self.counts.items()
        ]
        self.state = learn(hours, running_seconds=counted_at % HOUR)

    def _send(self, user: User, now: float, turn: int, waiting: deque, verifying: list) -> None:  # type: ignore[type-arg]
        result = self.results[int(user.at // DAY)]
        result.users += turn == 0
        provider = self._accepted_by(user, now, result)
        is_verified = False
        if provider is not None:
            result.cost += self.world.prices[provider, user.country]
            arrives = user.arrives[turn] < self.world.arrival(provider, user.country, now)
            is_verified = arrives and user.enters < COUNTRIES[user.country][2]
            if is_verified:
                seconds = PROVIDERS[provider][4] * math.exp(user.takes[turn])
                is_verified = seconds < SESSION_SECONDS
            if is_verified:
                key = provider, user.country, int(user.at // HOUR)
                verifying.append((now + seconds, key, now + seconds - user.at))
                result.verified += 1
                result.waited += now + seconds - user.at
        if not is_verified and turn == 0 and user.asks_again:
            waiting.append((now + ASKS_AGAIN_SECONDS, user))

    def _accepted_by(self, user: User, now: float, result: Result) -> int | None:
        """Ask the providers in turn. One that refuses is followed by the next, and set aside after five refusals."""
        for provider in self.strategy(self, user, now):
            if self.aside_until.get(provider, 0) > now:
                continue
            outage = self.world.outage(provider, user.country, now)
            result.calls += 1
            result.dead_calls += outage is not None
            self.counts[provider, user.country, int(now // HOUR)][0] += 1
            if outage is None or not outage.is_loud:
                self.failures[provider] = 0
                return provider
            self.failures[provider] += 1
            if self.failures[provider] >= BREAKER_FAILURES:
                self.aside_until[provider] = now + BREAKER_SECONDS
        return None


def fixed(run: Run, user: User, now: float) -> Sequence[int]:
    return list(PROVIDERS)


def shares(run: Run, user: User, now: float) -> Sequence[int]:
    return sorted(SHARES, key=lambda provider: -(run.chance.random() ** (1 / SHARES[provider])))


def ours(run: Run, user: User, now: float) -> Sequence[int]:
    candidates = [Candidate(provider, run.world.prices[provider, user.country]) for provider in PROVIDERS]
    found = rank(run.state, user.country, candidates, objective=run.objective, explore=run.explore, chance=run.chance)
    return found.providers


def oracle(run: Run, user: User, now: float) -> Sequence[int]:
    """The same rule with the truth of this very moment in place of what was learnt."""
    enters = COUNTRIES[user.country][2]
    rates = {provider: run.world.arrival(provider, user.country, now) * enters for provider in PROVIDERS}
    if run.objective is Objective.TIME:
        return sorted(rates, key=lambda provider: _seconds_for_one(provider, rates[provider]))
    floor = (1 - ARRIVAL_LOSS) * max(rates.values())
    price = run.world.prices
    return sorted(
        rates,
        key=lambda each: (rates[each] < floor, price[each, user.country] / max(rates[each], 1e-9)),
    )


def _seconds_for_one(provider: int, rate: float) -> float:
    mean = PROVIDERS[provider][4] * math.exp(SPREAD**2 / 2)
    return (rate * mean + (1 - rate) * SESSION_SECONDS) / max(rate, 1e-9)


STRATEGIES: dict[str, Strategy] = {"fixed order": fixed, "shares": shares, "ours": ours, "oracle": oracle}


def simulate(
    *,
    days: int,
    per_day: int,
    seed: int,
    objective: Objective = Objective.MONEY,
    explore: float = EXPLORE,
    is_calm: bool = False,
) -> dict[str, dict[int, Result]]:
    """Return the result of each strategy by day."""
    users = users_of(days=days, per_day=per_day, seed=seed)
    world = World(days=days, seed=seed, is_calm=is_calm)
    return {name: Run(world, strategy, objective, explore).over(users) for name, strategy in STRATEGIES.items()}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.routing", description=__doc__.partition("\n")[0])
    parser.add_argument("--per-day", type=int, default=5_000, help="users a day; default 5,000")
    parser.add_argument("--days", type=int, default=2, help="days in a row; default 2")
    parser.add_argument("--seeds", type=int, default=4, help="worlds, each by its own seed; default 4")
    parser.add_argument("--objective", choices=list(Objective), default=Objective.MONEY)
    parser.add_argument("--first-seed", type=int, default=5, help="default 5: constants were chosen on worlds 1 to 4")
    parser.add_argument("--calm", action="store_true", help="without outages")
    parser.add_argument(
        "--explore", type=float, default=EXPLORE, help=f"part of messages to learn by; default {EXPLORE}"
    )
    options = parser.parse_args()
    runs = [
        simulate(
            days=options.days,
            per_day=options.per_day,
            seed=seed,
            objective=Objective(options.objective),
            explore=options.explore,
            is_calm=options.calm,
        )
        for seed in range(options.first_seed, options.first_seed + options.seeds)
    ]
    print(f"{options.per_day:,} users a day over {len(COUNTRIES)} countries, {len(PROVIDERS)} providers,")
    outages = "without outages" if options.calm else "with outages"
    print(
        f"{options.seeds} worlds {outages}; the choice is for {options.objective} and explores {options.explore:.0%}.\n"
    )
    for day in range(options.days):
        print(f"{table(HEADS, [row(name, [run[name][day] for run in runs], runs, day) for name in STRATEGIES])}\n")


HEADS = ("", "verified %", "$ per 1,000", "seconds", "less than fixed %", "more than oracle %", "on dead routes %")


def row(
    name: str, results: Sequence[Result], runs: Sequence[dict[str, dict[int, Result]]], day: int
) -> tuple[str, ...]:
    whole = together(results)
    before = together([run["fixed order"][day] for run in runs])
    best = together([run["oracle"][day] for run in runs])
    return (
        f"day {day + 1}: {name}",
        f"{whole.arrival:.1f}",
        f"{1000 * whole.cost_per_verified:.2f}",
        f"{whole.seconds:.0f}",
        f"{100 * (1 - whole.cost_per_verified / before.cost_per_verified):.1f}",
        f"{100 * (whole.cost_per_verified / best.cost_per_verified - 1):.1f}",
        f"{whole.dead_percent:.2f}",
    )


def together(results: Sequence[Result]) -> Result:
    """The sum over several worlds."""
    whole = Result()
    for each in results:
        for name in ("users", "verified", "cost", "calls", "dead_calls", "waited"):
            setattr(whole, name, getattr(whole, name) + getattr(each, name))
    return whole


if __name__ == "__main__":
    main()
