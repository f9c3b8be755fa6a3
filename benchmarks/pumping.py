"""The money that SMS pumping costs in a day, and the honest people who are refused because of it.

The guard is the real one: ``guard_refuses``, ``judge_countries`` and ``judge_day`` on a real database, asked at the
moments of a simulated day.
"""

from __future__ import annotations

import argparse
import heapq
import random
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from psycopg.types.json import Jsonb

from benchmarks.common.kept import throwaway

DAY = 86_400
PRICE = 0.10  # of an SMS, in money of any kind: the middle of the countries that are pumped
SESSION_SECONDS = 180
SWEEP_SECONDS = 60  # the workers sweep every five seconds; a minute is on the attacker's side, and spares time
VERIFIED = 0.85  # of the honest people who get a code
VERIFY_SECONDS = 25.0
RETURNING = 0.6  # of the honest people were verified within 90 days
FAR = 0.02  # of the honest people come from one of a few networks that people of all countries share, such as of a VPN
FAR_NETWORKS = 5
NUMBERS_OF_A_PREFIX = 10_000
PREFIXES = 200  # that the attacker earns by, in each of the countries
ATTACKED = 5  # countries besides the shop's largest
ATTACK_BEGINS = 3_600.0
CREATES_PER_ADDRESS, ADDRESS_SECONDS = 300, 600  # a project's limit, which holds beside the guard
NEXT_TRY_SECONDS = 300.0  # between tries in a country, prefix or network that was refused
FIGURES = {  # before the rules on days and networks, with them, and with known numbers besides
    "before": {"guard_country_day": 0, "guard_network_countries": 0, "guard_known_days": 0},
    "after": {"guard_known_days": 0},
    "known": {},
}


@dataclass(frozen=True, slots=True)
class Shop:
    countries: int
    people: int  # in the day


@dataclass(frozen=True, slots=True)
class Attack:
    networks: int
    every: float  # seconds between two requests, as long as nothing is refused


@dataclass(slots=True)
class Result:
    """The counts of a day: SMS for the attacker, those before the first refusal, honest people, and the refused."""

    pumped: int = 0
    until_refused: int | None = None
    people: int = 0
    refused: int = 0

    @property
    def lost(self) -> float:
        return self.pumped * PRICE


class World:
    """One simulated day. ``cursor`` is in a transaction that skips foreign keys and is rolled back afterwards."""

    def __init__(self, cursor: Any, *, project: Any, shop: Shop, attack: Attack | None, seed: int) -> None:
        self.cursor, self.project, self.shop, self.attack = cursor, project, shop, attack
        self.chance = random.Random(seed)  # noqa: S311  (a simulation)
        self.began = datetime.now(UTC).replace(microsecond=0)
        self.events: list[tuple[float, int, Callable[[float], None]]] = []
        self.serial = 0
        self.result = Result()
        self.countries = [f"{n:02}" for n in range(max(shop.countries, ATTACKED + 1))]
        self.weights = [1 / (place + 1) for place in range(shop.countries)]  # most people are of few countries
        self.asleep: dict[str, float] = {}  # until when the attacker leaves a country, prefix or network alone
        self.creates: dict[str, deque[float]] = {}

    def run(self) -> Result:
        self.cursor.execute(
            "INSERT INTO verification_recipient (id, project_id, address, language, verified_channel,"
            " known_at, known_since) VALUES (%s, %s, '+1', '', '', %s, %s)",
            [-1, self.project.pk, self.began, self.began - timedelta(days=30)],  # stands for all who are known
        )
        self._at(self.chance.expovariate(self.shop.people / DAY), self._arrive)
        self._at(SWEEP_SECONDS, self._sweep)
        if self.attack:
            self._at(ATTACK_BEGINS, self._pump)
        while self.events and self.events[0][0] < DAY:
            at, _, act = heapq.heappop(self.events)
            act(at)
        return self.result

    def _at(self, moment: float, act: Callable[[float], None]) -> None:
        self.serial += 1
        heapq.heappush(self.events, (moment, self.serial, act))

    def _moment(self, at: float) -> datetime:
        return self.began + timedelta(seconds=at)

    # --- the shop ----------------------------------------------------------------------------------------------------

    def _arrive(self, at: float) -> None:
        self._at(at + self.chance.expovariate(self.shop.people / DAY), self._arrive)
        self.result.people += 1
        country = self.chance.choices(self.countries[: self.shop.countries], self.weights)[0]
        is_far = self.chance.random() < FAR
        network = f"far {self.chance.randrange(FAR_NETWORKS)}" if is_far else f"home {self.chance.randrange(30_000)}"
        prefix = f"+{country}1{self.chance.randrange(3_000):05}"
        is_known = self.chance.random() < RETURNING
        message = self._send(at, country, prefix, network, is_known=is_known)
        if message is None:
            self.result.refused += 1
        elif self.chance.random() < VERIFIED:
            self._at(at + VERIFY_SECONDS, lambda then: self._verify(then, message))

    # --- the attacker ------------------------------------------------------------------------------------------------

    def _pump(self, at: float) -> None:
        """One number of a country, prefix and network that were not refused of late. Each number is used once."""
        assert self.attack is not None
        self._at(at + self.attack.every, self._pump)
        network = f"bot {self.chance.randrange(self.attack.networks)}"
        country = self.countries[self.chance.choice((0, *range(-ATTACKED, 0)))]
        prefix = f"+{country}9{self.chance.randrange(PREFIXES):05}"
        if any(self.asleep.get(subject, 0) > at for subject in (network, country, prefix)):
            return
        moments = self.creates.setdefault(network, deque())
        while moments and moments[0] <= at - ADDRESS_SECONDS:
            moments.popleft()
        if len(moments) >= CREATES_PER_ADDRESS:
            return
        moments.append(at)
        if self._send(at, country, prefix, network, is_known=False) is not None:
            self.result.pumped += 1
            return
        if self.result.until_refused is None:
            self.result.until_refused = self.result.pumped
        for subject in (country, prefix, network):
            self.asleep[subject] = at + NEXT_TRY_SECONDS

    # --- the guard ---------------------------------------------------------------------------------------------------

    def _send(self, at: float, country: str, prefix: str, network: str, *, is_known: bool) -> int | None:
        """Ask the guard; return the message's id, or None where it refuses."""
        self.serial += 1
        project, now = self.project, self._moment(at)
        guard = {
            "enforce": True, "rule": "prefix", "counts_all": False, "prefix": prefix, "country": country,
            "numbers": project.guard_prefix_numbers, "window": project.guard_prefix_minutes * 60,
            "block": project.guard_block_minutes * 60, "block_max": project.guard_block_max_minutes * 60,
            "quiet": project.guard_quiet_hours * 3600, "known_days": project.guard_known_days, "masked": "…",
            "network": network, "network_countries": project.guard_network_countries,
            "least_percent": project.guard_country_percent, "observes_countries": False,
        }  # fmt: skip
        recipient = -1 if is_known else self.serial
        self.cursor.execute("SELECT guard_refuses(%s, %s, %s, %s)", [project.pk, recipient, Jsonb(guard), now])
        if self.cursor.fetchone()[0]:
            return None
        self.cursor.execute(
            "WITH message AS (INSERT INTO verification_message (id, project_id, recipient_id, channel, language,"
            " status, is_test, is_counted, is_budgeted, callback_url, claims, lost_leases, is_handed_over, created_at,"
            " due_at, expires_at) VALUES (%s, %s, %s, 'sms', 'en', 'queued', false, true, false, '', 0, 0, false,"
            " %s, %s, %s))"
            " INSERT INTO verification_guardedsend (message_id, project_id, recipient_id, prefix, country, network,"
            " is_manual, created_at) VALUES (%s, %s, %s, %s, %s, %s, false, %s)",
            [
                self.serial, project.pk, self.serial, now, now, self._moment(at + SESSION_SECONDS),
                self.serial, project.pk, self.serial, prefix, country, network, now,
            ],
        )  # fmt: skip
        return self.serial

    def _verify(self, at: float, message: int) -> None:
        self.cursor.execute(
            "UPDATE verification_guardedsend SET verified_at = %s WHERE message_id = %s", [self._moment(at), message]
        )

    def _sweep(self, at: float) -> None:
        self._at(at + SWEEP_SECONDS, self._sweep)
        judges = ["judge_countries", *(["judge_day"] if self.project.guard_country_day else [])]
        for judge in judges:
            self.cursor.execute(
                f"SELECT {judge}(project, %s) FROM verification_project AS project WHERE id = %s",  # noqa: S608
                [self._moment(at), self.project.pk],
            )


def simulate(project: Any, shop: Shop, attack: Attack | None, *, seed: int = 1) -> Result:
    """A day of the shop under the attack, with the figures of the project as they are saved. Leaves no row behind."""
    from django.db import connection, transaction

    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute("SET LOCAL session_replication_role = replica")  # sessions and recipients are not made up
            for option in ("enable_seqscan", "enable_bitmapscan", "jit"):  # as the functions that requests call have it
                cursor.execute(f"SET LOCAL {option} = off")
            result = World(cursor, project=project, shop=shop, attack=attack, seed=seed).run()
            cursor.execute("SET LOCAL session_replication_role = origin")
        transaction.set_rollback(True)
    return result


def measure(options: argparse.Namespace) -> None:
    from verification.models import Project

    print("countries  people/day  attack             figures  pumped   lost  before the first refusal  refused people")
    for countries in options.countries:
        for people in options.people:
            for networks in options.networks:
                for every in options.every if networks else options.every[:1]:
                    attack = Attack(networks, every) if networks else None
                    told = f"{networks:,} × every {every:g} s" if attack else "none"
                    for name, figures in FIGURES.items():
                        project = Project.objects.create(name=f"Shop {countries} {people} {told} {name}", **figures)
                        found = simulate(project, Shop(countries, people), attack)
                        until = "–" if found.until_refused is None else f"{found.until_refused:,}"
                        print(
                            f"{countries:9}  {people:10,}  {told:17}  {name:7}  {found.pumped:6,}  {found.lost:5,.0f}"
                            f"  {until:>24}  {found.refused:,} of {found.people:,}",
                            flush=True,
                        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--networks", type=int, nargs="+", default=[0, 1, 50, 5000])
    parser.add_argument("--countries", type=int, nargs="+", default=[1, 30])
    parser.add_argument("--people", type=int, nargs="+", default=[400, 6000], help="of a quiet and of a sales day")
    parser.add_argument("--every", type=float, nargs="+", default=[2.0, 60.0], help="seconds between two requests")
    options = parser.parse_args()
    with throwaway("pumping"):
        measure(options)


if __name__ == "__main__":
    main()
