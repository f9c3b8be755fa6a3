"""The panel's lists on a month of traffic: every list, filter, search and order, as five people see them.

The pages are asked for inside this process, over one connection. Judged is the CPU time of the page in Django and in
PostgreSQL: on an idle machine it is the time that passes, and busy neighbours hardly change it. A page is asked for
until it is fast enough, three times at most, and its best time counts.

Each of the five people has a fifth of ``--seconds``. Every list is opened first; then follow the filters, orders and
searches of all lists in a drawn order, the same in every run. What time leaves out is told.

    python -m benchmarks.lists
    python -m benchmarks.lists --rows 500000 --keep var/lists
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, urlencode

import django

from benchmarks.common.kept import migrated
from benchmarks.common.processes import postgres_seconds
from benchmarks.common.service import ROOT, machine
from benchmarks.common.tables import table

if TYPE_CHECKING:
    from django.test import Client

ROWS = 5_000_000
GOAL_SECONDS = 0.3
TRIES = 3
SHOWN = 25
WALK_SECONDS = 900.0  # for all pages of all people
SAY_SECONDS = 30.0  # between two lines on how far the walk is


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.lists", description=__doc__.partition("\n")[0])
    parser.add_argument("--rows", type=int, default=ROWS, help=f"messages; default {ROWS:,}")
    parser.add_argument("--keep", type=Path, help="a folder for the database, which is used again the next time")
    parser.add_argument("--only", default="", help="the pages whose address holds this")
    parser.add_argument("--shown", type=int, default=SHOWN, help=f"how many of the slowest; default {SHOWN}")
    parser.add_argument("--seconds", type=float, default=WALK_SECONDS, help="for the walk; default %(default)g")
    options = parser.parse_args()
    home = options.keep.resolve() if options.keep else ROOT / "var" / "benchmarks" / str(os.getpid())
    os.environ.update(
        DJANGO_SETTINGS_MODULE="config.settings",
        WATCHWORD_HOME=str(home),
        EMBEDDED_DURABLE="false",
        BASE_URL="http://testserver",
        ALLOWED_HOSTS="testserver",
        LOG_LEVEL="ERROR",
    )
    print(machine(), flush=True)
    try:
        return measure(options)
    finally:
        if not options.keep:
            shutil.rmtree((home / "postgres").resolve(), ignore_errors=True)
            shutil.rmtree(home, ignore_errors=True)


def measure(options: argparse.Namespace) -> int:
    django.setup()
    from benchmarks.lists import fill as lists_fill
    from verification.models import Message

    with migrated():
        if not Message.objects.exists():
            lists_fill.fill(options.rows, lambda line: print(line, file=sys.stderr, flush=True))
        walks = [Walk(who, options.only, options.seconds / len(lists_fill.PEOPLE)) for who in lists_fill.PEOPLE]
        visits = [visit for each in walks for visit in each.visits()]
    return report(visits, options.shown, left_out=sum(each.left_out for each in walks))


@dataclass(frozen=True, slots=True)
class Took:
    """Seconds of one page: those that passed, and the CPU time of this process and of its PostgreSQL backend."""

    elapsed: float
    django: float
    postgres: float

    @property
    def cpu(self) -> float:
        return self.django + self.postgres


@dataclass(frozen=True, slots=True)
class Visit:
    """One page as one person sees it: the first time of asking, and the best."""

    who: str
    address: str
    first: Took
    best: Took
    status: int


def report(visits: list[Visit], shown: int, *, left_out: int) -> int:
    visits.sort(key=lambda visit: -visit.best.cpu)
    rows = [
        (visit.address, visit.who, visit.status)
        + tuple(
            f"{seconds:.2f}"
            for seconds in (visit.best.django, visit.best.postgres, visit.best.elapsed, visit.first.elapsed)
        )
        for visit in visits[:shown]
    ]
    print(table(("the slowest", "who", "status", "Django s", "PostgreSQL s", "elapsed s", "first s"), rows))
    slow = sum(visit.best.cpu > GOAL_SECONDS for visit in visits)
    failed = sum(visit.status >= 400 for visit in visits)
    print(f"\n{len(visits):,} pages; {slow} over {GOAL_SECONDS} s, {failed} refused; {left_out:,} left out for time")
    return int(bool(slow or failed))


class Walk:
    """One person opens every list of the panel, then each of its filters, orders, searches and pages, and one row."""

    def __init__(self, who: str, only: str, seconds: float) -> None:
        self._who = who
        self._only = only
        self._seconds = seconds
        self.left_out = 0  # pages that there was no time for

    def visits(self) -> Iterator[Visit]:
        from django.contrib.auth.models import User
        from django.test import Client
        from django.urls import get_resolver, reverse

        get_resolver().url_patterns  # noqa: B018  (loads the panel, which hears of the login and marks the session)
        client = Client()
        client.force_login(User.objects.get(username=self._who))
        began_at = said_at = time.monotonic()
        yield visit(client, self._who, reverse("admin:index"))[0]
        addresses: list[str] = []
        for first, pages in self._open_lists(client):
            yield first
            addresses += pages
        random.seed(self._who)
        random.shuffle(addresses)
        for number, address in enumerate(addresses):
            now = time.monotonic()
            if now - began_at > self._seconds:
                self.left_out = len(addresses) - number
                return
            if now - said_at > SAY_SECONDS:
                said_at = now
                print(f"{self._who}: {number:,} of {len(addresses):,} pages", file=sys.stderr, flush=True)
            yield visit(client, self._who, address)[0]

    def _open_lists(self, client: Client) -> Iterator[tuple[Visit, list[str]]]:
        """Open every list. Yield the visit with the addresses of what belongs to the list."""
        from django.contrib import admin
        from django.urls import reverse

        for model in admin.site._registry:
            page = f"admin:{model._meta.app_label}_{model._meta.model_name}"
            address = reverse(f"{page}_changelist")
            if self._only not in address:
                continue
            first, response = visit(client, self._who, address)
            if first.status != 200 or not hasattr(response, "context_data"):
                continue
            changelist = response.context_data["cl"]
            pages = [f"{address}?{urlencode(query)}" for query in queries(changelist)]
            yield first, pages + [reverse(f"{page}_change", args=(row.pk,)) for row in changelist.result_list[:1]]


def queries(changelist: Any) -> Iterator[dict[str, str]]:
    """Return what the page's own links and its search box can ask for.

    Each filter is asked for alone and within the first three projects: the small, the middle and the big one.
    """
    choices = [chosen for spec in changelist.filter_specs for chosen in choices_of(spec, changelist)]
    projects = [chosen for chosen in choices if "project" in chosen]
    others = [chosen for chosen in choices if "project" not in chosen]
    yield from choices
    for project in projects[:3]:
        yield from ({**project, **other} for other in others)
    for column in range(1, len(changelist.list_display) + 1):
        if changelist.sortable_by is None or changelist.sortable_by:
            yield {"o": str(column)}
            yield {"o": f"-{column}"}
    if changelist.search_fields:
        for term in ("+49151100001000", "+49151100001003", "user1000003@example.com", "1000003", "nothing-like-it"):
            yield {"q": term}
        yield {"q": "01" + "1000003".rjust(24, "0")}
    for page in {2, changelist.paginator.num_pages}:
        yield {"p": str(page)}


def choices_of(spec: Any, changelist: Any) -> list[dict[str, str]]:
    found = [dict(parse_qsl(choice["query_string"].lstrip("?"))) for choice in spec.choices(changelist)]
    return [chosen for chosen in found if chosen]


def visit(client: Client, who: str, address: str) -> tuple[Visit, Any]:
    found: list[Took] = []
    while len(found) < TRIES and (not found or min(took.cpu for took in found) > GOAL_SECONDS / 2):
        began = time.perf_counter(), time.process_time(), postgres_seconds()
        response = client.get(address)
        ended = time.perf_counter(), time.process_time(), postgres_seconds()
        found.append(Took(*(end - start for start, end in zip(began, ended, strict=True))))
    return Visit(who, address, found[0], min(found, key=lambda took: took.cpu), response.status_code), response


if __name__ == "__main__":
    sys.exit(main())
