"""The guesses of a distributed attack that are compared in an hour, and the honest checks refused because of it.

The rule is the real one: ``judge_stranger`` on a real database, asked at the moments of a simulated hour.
"""

from __future__ import annotations

import argparse
import heapq
import random
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from psycopg.types.json import Jsonb

from benchmarks.common.kept import throwaway

SECONDS = 3600
MOBILE_SUBNETS = 20  # of carriers, which many share
MOBILE_SHARE = 0.3  # of people come from them
HOME_SUBNETS = 30_000
KNOWN_DAYS = 30
RETYPE_SECONDS = 20.0
GIVE_UP = 0.1  # of those who mistyped leave after it
TRIES = 5  # of a session
ATTACKS_A_SECOND = 20.0
DELAY_SECONDS = 60.0  # after which the attack begins: the shop is at work


@dataclass(frozen=True, slots=True)
class Shop:
    people: int  # an hour
    errors: float  # of what people type


@dataclass(slots=True)
class Result:
    """The counts of one hour: guesses that were compared, honest checks, and honest checks that were refused."""

    guesses: int = 0
    checks: int = 0
    refused: int = 0

    @property
    def percent(self) -> float:
        return 100 * self.refused / self.checks if self.checks else 0.0


class World:
    """One simulated hour. ``cursor`` is in a transaction that skips foreign keys and is rolled back afterwards."""

    def __init__(
        self, cursor: Any, *, project: int, limits: Mapping[str, int], shop: Shop, networks: int, seed: int
    ) -> None:
        self.cursor, self.project, self.limits = cursor, project, limits
        self.shop, self.networks = shop, networks
        self.chance = random.Random(seed)  # noqa: S311  (a simulation)
        self.began = datetime.now(UTC).replace(microsecond=0)
        self.events: list[tuple[float, int, Callable[[float], None]]] = []
        self.serial = 0
        self.result = Result()

    def run(self) -> Result:
        self._remember()
        self._at(self.chance.expovariate(self.shop.people / SECONDS), self._arrive)
        if self.networks:
            self.idle = [f"81.{n // 256}.{n % 256}.0/24" for n in range(self.networks)][::-1]
            self.waiting: list[tuple[float, str]] = []
            self._at(DELAY_SECONDS, self._attack)
        while self.events and self.events[0][0] < SECONDS:
            at, _, act = heapq.heappop(self.events)
            act(at)
        return self.result

    def _at(self, moment: float, act: Callable[[float], None]) -> None:
        self.serial += 1
        heapq.heappush(self.events, (moment, self.serial, act))

    def _remember(self) -> None:
        """The right codes of the month before: the last day's of carriers, and one of each home that was seen."""
        visits = self.shop.people * 24 * KNOWN_DAYS * (1 - MOBILE_SHARE) / HOME_SUBNETS
        of_carrier = round(self.shop.people * 24 * MOBILE_SHARE / MOBILE_SUBNETS)
        for n in range(MOBILE_SUBNETS):
            self._insert_rights(f"100.64.{n}.0/24", of_carrier, 86_400 / of_carrier)
        known = sum(self.chance.random() > 2.718281828**-visits for _ in range(HOME_SUBNETS))  # of Poisson's
        self.known_homes = known
        self.cursor.execute(
            "INSERT INTO verification_verifytoken (digest, project_id, session_id, subnet, created_at, expires_at)"
            " SELECT uuid_send(gen_random_uuid()), %s, 'h' || n, '90.' || n / 256 || '.' || n %% 256 || '.0/24', at,"
            " at + interval '1 minute' FROM generate_series(0, %s) AS n,"
            " LATERAL (SELECT %s - interval '2 days' - n * interval '60 seconds' AS at) AS seen",
            [self.project, known - 1, self.began],
        )

    def _insert_rights(self, subnet: str, number: int, every: float) -> None:
        self.cursor.execute(
            "INSERT INTO verification_verifytoken (digest, project_id, session_id, subnet, created_at, expires_at)"
            " SELECT uuid_send(gen_random_uuid()), %s, left(md5(%s || n), 26), %s, at, at + interval '1 minute'"
            " FROM generate_series(1, %s) AS n, LATERAL (SELECT %s - n * make_interval(secs => %s) AS at) AS seen",
            [self.project, subnet, subnet, number, self.began, every],
        )

    # --- the shop ----------------------------------------------------------------------------------------------------

    def _arrive(self, at: float) -> None:
        self._at(at + self.chance.expovariate(self.shop.people / SECONDS), self._arrive)
        if self.chance.random() < MOBILE_SHARE:
            subnet = f"100.64.{self.chance.randrange(MOBILE_SUBNETS)}.0/24"
        else:
            home = self.chance.randrange(HOME_SUBNETS)
            subnet = f"90.{home // 256}.{home % 256}.0/24"
        self.serial += 1
        self._type(at, subnet, self.serial, 1)

    def _type(self, at: float, subnet: str, recipient: int, number: int) -> None:
        self.result.checks += 1
        if self._wait(at, subnet):
            self.result.refused += 1
            return
        if self.chance.random() >= self.shop.errors:
            self._settle(at, subnet, recipient)
            return
        self._insert_wrong(at, subnet, recipient)
        if number < TRIES and self.chance.random() >= GIVE_UP:
            self._at(at + RETYPE_SECONDS, lambda then: self._type(then, subnet, recipient, number + 1))

    # --- the attacker ------------------------------------------------------------------------------------------------

    def _attack(self, at: float) -> None:
        """One guess from a network that may have a try left. Who is told to wait does so; nobody is pressed harder."""
        self._at(at + 1 / ATTACKS_A_SECOND, self._attack)
        while self.waiting and self.waiting[0][0] <= at:
            self.idle.append(heapq.heappop(self.waiting)[1])
        if not self.idle:
            return
        subnet = self.idle.pop()
        if wait := self._wait(at, subnet):
            heapq.heappush(self.waiting, (at + wait, subnet))
            return
        self.serial += 1
        self._insert_wrong(at, subnet, self.serial)
        self.result.guesses += 1
        self.idle.append(subnet)

    # --- the rule ----------------------------------------------------------------------------------------------------

    def _moment(self, at: float) -> datetime:
        return self.began + timedelta(seconds=at)

    def _wait(self, at: float, subnet: str) -> int:
        self.cursor.execute(
            "SELECT retry_after FROM judge_stranger(%s, %s, %s, %s)",
            [self.project, subnet, Jsonb(self.limits), self._moment(at)],
        )
        return self.cursor.fetchone()[0] or 0

    def _insert_wrong(self, at: float, subnet: str, recipient: int) -> None:
        self.cursor.execute(
            "INSERT INTO verification_wrongcode (project_id, session_id, recipient_id, network, subnet, created_at)"
            " VALUES (%s, %s, %s, '', %s, %s)",
            [self.project, str(recipient), recipient, subnet, self._moment(at)],
        )

    def _settle(self, at: float, subnet: str, recipient: int) -> None:
        self.cursor.execute(
            "INSERT INTO verification_verifytoken"
            " (digest, project_id, session_id, recipient_id, subnet, created_at, expires_at)"
            " VALUES (%s, %s, %s, %s, %s, %s, %s)",
            [
                uuid.uuid4().bytes,
                self.project,
                f"s{recipient}",
                recipient,
                subnet,
                self._moment(at),
                self._moment(at + 60),
            ],
        )
        self.cursor.execute(
            "UPDATE verification_wrongcode SET is_settled = true"
            " WHERE recipient_id = %s AND subnet = %s AND NOT is_settled",
            [recipient, subnet],
        )


def simulate(project: Any, shop: Shop, networks: int, *, seed: int = 1) -> Result:
    """An hour of the shop, attacked from so many networks. Leaves no row behind."""
    from django.db import connection, transaction

    from verification.services.projects.project_terms import GUESSING

    limits = {term: getattr(project, setting) for term, setting in GUESSING.items()}
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute("SET LOCAL session_replication_role = replica")  # sessions and recipients are not made up
            world = World(cursor, project=project.pk, limits=limits, shop=shop, networks=networks, seed=seed)
            result = world.run()
            cursor.execute("SET LOCAL session_replication_role = origin")
        transaction.set_rollback(True)
    return result


def measure(options: argparse.Namespace) -> None:
    from verification.models import Project

    project = Project.objects.create(name="Shop")
    print("people/h  errors  networks  guesses compared  honest checks  refused")
    for people in options.people:
        for errors in options.errors:
            for networks in options.networks:
                found = simulate(project, Shop(people, errors), networks)
                print(
                    f"{people:8,}  {errors:5.0%}  {networks:8,}  {found.guesses:16,}  {found.checks:13,}"
                    f"  {found.refused:,} ({found.percent:.2f} %)",
                    flush=True,
                )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--networks", type=int, nargs="+", default=[0, 5, 500])
    parser.add_argument("--people", type=int, nargs="+", default=[100, 6000])
    parser.add_argument("--errors", type=float, nargs="+", default=[0.01, 0.2])
    options = parser.parse_args()
    with throwaway("guessing"):
        measure(options)


if __name__ == "__main__":
    main()
