"""How often a provider is said to collapse in a country where nothing happened, and how late where something did.

The rules of the service judge the made-up traffic of a season hour by hour, without a database: its countries, hours
of the day and shares of arrivals. ``--seasons`` of them are drawn without any fault. Then a provider begins to lose a
part of what it accepted, in one country after the other, at every third hour of a day; and once more while it reports
everything as delivered, so that only the codes that nobody enters tell of it. Last, the season's own outages are
replayed.

    python -m benchmarks.collapses
"""

from __future__ import annotations

import argparse
import random
import statistics
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial

import django

from verification.contrib.public_demo.season_facts import COUNTRIES, SHARE_OF_HOURS, TEXT_WORKS, Country, outages

START = datetime(2026, 1, 5, tzinfo=UTC)  # any Monday
HOUR = timedelta(hours=1)
PAST_HOURS = 14 * 24
WEEKEND = 0.8  # of the traffic of a weekday, as in the season
LOSES = (0.72, 0.4)  # the part that is lost in a fault: the season's own, and a smaller one
FAULT_HOURS = 4 * 24  # after which a fault that was not seen counts as missed
LASTS = timedelta(days=2)  # until an alarm without a cause is seen to be over


@dataclass(frozen=True)
class Way:
    """A way in which messages get lost: ``reports`` says whether the provider's receipts tell of it."""

    name: str
    reports: bool


WAYS = (Way("reported", True), Way("unreported", False))


def asked(country: Country, at: datetime, a_day: float, chance: random.Random) -> int:
    """Draw the messages of one hour."""
    weekday = WEEKEND if at.weekday() >= 5 else 1.0
    share = country.share / sum(each.share for each in COUNTRIES)
    return _poisson(a_day * weekday * share * SHARE_OF_HOURS[at.hour] / sum(SHARE_OF_HOURS), chance)


def counts(number: int, arrives: float, chance: random.Random, *, reports: bool = True) -> tuple[int, int, int, int]:
    """Draw what became of them: accepted and arrived by the receipts, and the sessions sent and verified."""
    arrived = sum(chance.random() < arrives for _ in range(number))
    verified = sum(chance.random() < TEXT_WORKS[False] for _ in range(arrived))
    return number, arrived if reports else number, number, verified


def _poisson(mean: float, chance: random.Random) -> int:
    number, passed = 0, chance.expovariate(1.0)
    while passed < mean:
        number, passed = number + 1, passed + chance.expovariate(1.0)
    return number


def alarm(points: list, others: Callable[[], list] = list) -> datetime | None:
    """Judge the latest hours as the service does; conversions beside the other traffic, which is summed if needed."""
    from verification.services.analytics import collapses, trends

    times = [round(each / HOUR) for each in collapses.LOOKED_AT]
    late = [trends.sums(pairs) for time in times for pairs in [trends.arrivals(points[-time:])]]
    found = trends.break_of(points) if any(trends.is_suspect(*each) for each in late) else None
    late = [trends.sums(pairs) for time in times for pairs in [trends.conversions(points[-time:])]]
    if found or not any(trends.is_suspect(*each, collapses.UNVERIFIED) for each in late):
        return found
    return trends.conversion_break_of(points, others())


def false_alarms(country: Country, a_day: float, days: int, chance: random.Random) -> int:
    """Return the alarms of a provider that always delivers as usual. One alarm lasts until it is seen to be over."""
    from verification.services.analytics import trends

    found, since, points = 0, None, []
    for at in _hours(START, days * 24):
        drawn = counts(asked(country, at, a_day, chance), country.arrives, chance)
        points.append((at, trends.Counts(*drawn)))
        if since is None:
            since = alarm(points[-PAST_HOURS - 1 :])
            found += since is not None
        elif at - since > LASTS:
            since = None
    return found


def delay(
    country: Country, a_day: float, begins: int, loses: float, way: Way, chance: random.Random
) -> tuple[int, int] | None:
    """Return the hours and the messages of a fault until it is seen; None where it never is."""
    from verification.services.analytics import trends

    points, messages = [], 0
    fault = START + timedelta(hours=PAST_HOURS + begins)
    for at in _hours(START, PAST_HOURS + begins + FAULT_HOURS):
        arrives = 1 - loses if at >= fault else country.arrives
        drawn = counts(asked(country, at, a_day, chance), arrives, chance, reports=way.reports or at < fault)
        points.append((at, trends.Counts(*drawn)))
        if at < fault:
            continue
        messages += points[-1][1].accepted
        if alarm(points[-PAST_HOURS - 1 :]):
            # an hour of sessions is judged once it is over
            return round((at - fault) / HOUR) + 1 + (not way.reports), messages
    return None


def replay(a_day: float, days: int, chance: random.Random) -> tuple[dict[str, list[int]], int]:
    """Judge a season with its outages: the hours until each was seen, by its name, and the alarms without a cause."""
    from verification.services.analytics import trends

    now = START + timedelta(days=days)
    faults = outages(now)
    seen: dict[str, list[int]] = {}
    false, open_ones = 0, {}
    traffic: dict[tuple[str, str], list] = defaultdict(list)
    for at in _hours(START, days * 24):
        for country in COUNTRIES:
            number = asked(country, at, a_day, chance)
            fault = next((each for name in country.order for each in faults if each.holds(name, country, at)), None)
            is_loud = fault is not None and not fault.is_silent and fault.provider == country.order[0]
            taker = country.order[1:2] if is_loud else country.order[:1]
            for name in country.order[:2]:
                loses = next((each.loses for each in faults if each.is_silent and each.holds(name, country, at)), None)
                drawn = counts(number, 1 - loses if loses else country.arrives, chance) if name in taker else (0,) * 4
                traffic[name, country.code].append((at, trends.Counts(*drawn)))
        for key, points in traffic.items():
            if (since := open_ones.get(key)) is not None:
                if at - since > LASTS:
                    del open_ones[key]
                continue
            window = points[-PAST_HOURS - 1 :]
            if not alarm(window, partial(_others, traffic, key)):
                continue
            open_ones[key] = at
            cause = next(
                (
                    each
                    for each in faults
                    if each.provider == key[0] and each.country in ("", key[1]) and each.since <= at
                ),
                None,
            )
            if cause and at < cause.until + LASTS:
                seen.setdefault(_name(cause), []).append(round((at - cause.since) / HOUR) + 1)
                open_ones[key] = max(at, cause.until)
            else:
                false += 1
    return seen, false


def _others(traffic: dict[tuple[str, str], list], key: tuple[str, str]) -> list:
    """Return the sums of all other rows of hours."""
    from verification.services.analytics import trends

    parts = [each[-PAST_HOURS - 1 :] for other, each in traffic.items() if other != key]
    shortest = min(map(len, parts))
    sums = []
    for hour in zip(*(each[-shortest:] for each in parts), strict=True):
        columns = zip(*(each for _, each in hour), strict=True)
        sums.append((hour[0][0], trends.Counts(*map(sum, columns))))
    return sums


def _name(fault: object) -> str:
    return f"{fault.provider} {fault.country or 'everywhere'}"  # type: ignore[attr-defined]


def _hours(first: datetime, number: int) -> Iterator[datetime]:
    return (first + place * HOUR for place in range(number))


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.collapses", description=__doc__.partition("\n")[0])
    parser.add_argument("--a-day", type=float, nargs="+", default=[30, 100, 300, 3_000], help="messages of the shop")
    parser.add_argument("--seasons", type=int, default=20)
    parser.add_argument("--replays", type=int, default=5, help="of the season with its own outages")
    parser.add_argument("--days", type=int, default=90)
    options = parser.parse_args()
    django.setup()
    chance = random.Random(12)  # noqa: S311
    months = options.seasons * options.days / 30
    print(f"False alarms in {months:g} months of a shop with {len(COUNTRIES)} countries:")
    for a_day in options.a_day:
        found = [
            (country.code, false_alarms(country, a_day, options.days, chance))
            for _ in range(options.seasons)
            for country in COUNTRIES
        ]
        number = sum(each for _, each in found)
        places = sorted({code for code, each in found if each})
        print(f"{a_day:6g} messages a day: {number} alarms, {number / months:.3f} a month {' '.join(places)}")
    print("Hours and messages from a fault's first hour until it is seen (median, and the tenth that takes longest):")
    for way in WAYS:
        for loses in LOSES:
            for a_day in options.a_day:
                for country in (COUNTRIES[1], COUNTRIES[4], COUNTRIES[-1]):
                    _print_delay(country, a_day, loses, way, chance)
    print(f"The season's own outages, {options.replays} times at 300 a day:")
    seen: dict[str, list[int]] = defaultdict(list)
    false = 0
    for _ in range(options.replays):
        found_in, false_in = replay(300, options.days, chance)
        false += false_in
        for name, hours in found_in.items():
            seen[name].append(min(hours))
    for fault in outages(START + timedelta(days=options.days)):
        hours = seen.get(_name(fault), [])
        print(
            f"{_name(fault)}, {'silent' if fault.is_silent else 'refusing'}: seen {len(hours)} times, after {hours} h"
        )
    print(f"{false} alarms without a cause in {options.replays * options.days / 30:g} months")


def _print_delay(country: Country, a_day: float, loses: float, way: Way, chance: random.Random) -> None:
    seen = [delay(country, a_day, begins, loses, way, chance) for begins in range(0, 24, 3) for _ in range(5)]
    told = [each for each in seen if each]
    line = f"{100 * loses:g} % lost, {way.name}, {a_day:6g} a day, {country.code}:"
    if len(told) < len(seen):
        line += f" {len(seen) - len(told)} of {len(seen)} not seen within {FAULT_HOURS} hours;"
    if told:
        hours, messages = zip(*told, strict=True)
        late = sorted(hours)[int(0.9 * (len(hours) - 1))]
        line += f" {statistics.median(hours):g} h (90 %: {late} h), {statistics.median(messages):g} messages"
    print(line, flush=True)


if __name__ == "__main__":
    import os

    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    main()
