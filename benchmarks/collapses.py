"""How often a provider is said to collapse in a country where nothing happened, and how late where something did.

The rule of the service judges the made-up traffic of a season hour by hour, without a database: its countries, hours
of the day and shares of arrivals. ``--seasons`` of them are drawn without any fault; then a provider begins to lose a
part of what it accepted, in one country after the other, at every third hour of a day.

    python -m benchmarks.collapses
"""

from __future__ import annotations

import argparse
import random
import statistics
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import django

from benchmarks.season_facts import COUNTRIES, SHARE_OF_HOURS, TEXT_WORKS, Country

START = datetime(2026, 1, 5, tzinfo=UTC)  # any Monday
HOUR = timedelta(hours=1)
PAST_HOURS = 14 * 24
WEEKEND = 0.8  # of the traffic of a weekday, as in the season
LOSES = (0.72, 0.4)  # the part that is lost in a fault: the season's own, and a smaller one
FAULT_HOURS = 4 * 24  # after which a fault that was not seen counts as missed


def hour_of(country: Country, at: datetime, a_day: float, arrives: float, chance: random.Random) -> tuple[int, ...]:
    """Draw one hour: the messages accepted and arrived, the sessions sent and verified."""
    weekday = WEEKEND if at.weekday() >= 5 else 1.0
    share = country.share / sum(each.share for each in COUNTRIES)
    mean = a_day * weekday * share * SHARE_OF_HOURS[at.hour] / sum(SHARE_OF_HOURS)
    asked = _poisson(mean, chance)
    arrived = sum(chance.random() < arrives for _ in range(asked))
    return asked, arrived, asked, sum(chance.random() < TEXT_WORKS[False] for _ in range(arrived))


def _poisson(mean: float, chance: random.Random) -> int:
    number, passed = 0, chance.expovariate(1.0)
    while passed < mean:
        number, passed = number + 1, passed + chance.expovariate(1.0)
    return number


def false_alarms(country: Country, a_day: float, days: int, chance: random.Random) -> int:
    """Return the alarms of a provider that always delivers as usual. One alarm lasts until it is seen to be over."""
    from verification.services.analytics import collapses

    found, since, points = 0, None, []
    for at in _hours(START, days * 24):
        points.append((at, collapses.Counts(*hour_of(country, at, a_day, country.arrives, chance))))
        window = points[-PAST_HOURS - 1 :]
        if since is None:
            since = collapses.break_of(window) if _is_suspect(window) else None
            found += since is not None
        elif at - since > timedelta(days=2):  # by then it is over, as nothing happened
            since = None
    return found


def delay(country: Country, a_day: float, begins: int, loses: float, chance: random.Random) -> tuple[int, int] | None:
    """Return the hours and the messages of a fault until it is seen; None where it never is."""
    from verification.services.analytics import collapses

    points, messages = [], 0
    fault = START + timedelta(hours=PAST_HOURS + begins)
    for at in _hours(START, PAST_HOURS + begins + FAULT_HOURS):
        arrives = 1 - loses if at >= fault else country.arrives
        points.append((at, collapses.Counts(*hour_of(country, at, a_day, arrives, chance))))
        if at < fault:
            continue
        messages += points[-1][1].accepted
        window = points[-PAST_HOURS - 1 :]
        if _is_suspect(window) and collapses.break_of(window):
            return round((at - fault) / HOUR) + 1, messages
    return None


def _is_suspect(points: list) -> bool:
    """Look at the last hours as the service does, before it reads the past."""
    from verification.services.analytics import collapses

    times = [round(each / HOUR) for each in collapses.LOOKED_AT]
    return any(
        collapses.is_suspect(*(sum(each[place] for _, each in points[-time:]) for place in (0, 1))) for time in times
    )


def _hours(first: datetime, number: int) -> Iterator[datetime]:
    return (first + place * HOUR for place in range(number))


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.collapses", description=__doc__.partition("\n")[0])
    parser.add_argument("--a-day", type=float, nargs="+", default=[30, 100, 300, 3_000], help="messages of the shop")
    parser.add_argument("--seasons", type=int, default=20)
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
    for loses in LOSES:
        for a_day in options.a_day:
            for country in (COUNTRIES[1], COUNTRIES[4], COUNTRIES[-1]):
                seen = [delay(country, a_day, begins, loses, chance) for begins in range(0, 24, 3) for _ in range(5)]
                told = [each for each in seen if each]
                line = f"{100 * loses:g} % lost, {a_day:6g} a day, {country.code}:"
                if len(told) < len(seen):
                    line += f" {len(seen) - len(told)} of {len(seen)} not seen within {FAULT_HOURS} hours;"
                if told:
                    hours, messages = zip(*told, strict=True)
                    late = sorted(hours)[int(0.9 * (len(hours) - 1))]
                    line += (
                        f" {statistics.median(hours):g} h (90 %: {late} h), {statistics.median(messages):g} messages"
                    )
                print(line)


if __name__ == "__main__":
    import os

    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    main()
