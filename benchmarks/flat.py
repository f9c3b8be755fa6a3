"""The cost of each endpoint, and of the purge, on a full database beside an empty one.

Two processes answer the same requests in turn, in small batches: one on the database that ``benchmarks.fill`` made, one
on an empty database of the same server. Half of the full one's recipients have been there for a month.

    python -m benchmarks.flat --keep var/full
    python -m benchmarks.flat --keep var/full --purge 7
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import secrets
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import django
import psycopg

from benchmarks import fill
from benchmarks.common.kept import migrated
from benchmarks.common.processes import postgres_seconds
from benchmarks.common.scripts import recipients
from benchmarks.common.service import LIMITS_OFF, ROOT, machine
from benchmarks.common.tables import table

BATCH = 20  # requests that one process answers before it is the other's turn
GOAL_RATIO = 1.3
GOAL_DELETED = 1_000  # verifications a second, with all that hangs on them
GOAL_CORE = 0.2
STRIDE = 7_919  # a prime: neighbours in turn are no neighbours in the table
EMPTY = "flat_empty"
EMPTY_PROJECT = "Filled 0"  # named as the full database's first project


class Caller:
    """Calls the API within this process as a project's app and server, and times each request."""

    def __init__(self) -> None:
        from django.conf import settings
        from django.test import Client

        from verification.models import Message, Project, Recipient
        from verification.services.projects import keys, projects
        from verification.services.providers import accounts

        settings.ALLOWED_HOSTS = ["testserver"]
        self.client = Client()
        self.project, _ = Project.objects.get_or_create(name=EMPTY_PROJECT)
        projects.set_project(project=self.project, values=dict(setting.split("=") for setting in LIMITS_OFF))
        if not self.project.providers.filter(name="Nowhere").exists():
            values = {"url": "http://127.0.0.1:9/"}  # no worker runs, so nobody asks it
            accounts.add_provider(
                project=self.project, channel="sms", provider_type="http", name="Nowhere", values=values, daily_budget=0
            )
        self.api_key = keys.issue_key(project=self.project, kind="api", expires_in=86_400).text
        self.secret_key = keys.issue_key(project=self.project, kind="secret", expires_in=86_400).text
        self.strangers = recipients()
        self.places = itertools.count(secrets.randbelow(10**9), STRIDE)
        self.known = Recipient.objects.filter(project=self.project).count() and Recipient.objects.latest("id").pk
        manual = Message.objects.filter(pk__gt=fill.FIRST_MANUAL, project=self.project, session=None).order_by("pk")
        self.old_message = manual.values_list("pk", flat=True).first()

    def call(self, method: str, path: str, body: Any = None, *, key: str = "") -> Any:
        key = key or self.api_key
        if method == "GET":
            response = self.client.get(path, headers={"x-api-key": key})
        else:
            response = self.client.post(path, body, content_type="application/json", headers={"x-api-key": key})
        if response.status_code != 200:
            raise RuntimeError(f"{path}: {response.status_code} {response.content.decode()}")
        return response.json()

    def recipient(self) -> str:
        """Return a stranger, or in every other call somebody who is there, where anybody is."""
        from verification.models import Recipient

        if not self.known or secrets.randbelow(2):
            return next(self.strangers)
        # The first project has the even ones. A stride lets none come twice within a minute.
        number = 2 * (1 + next(self.places) % (self.known // 2 - 1))
        return Recipient.objects.values_list("address", flat=True).get(pk=number)

    def prepare(self, endpoint: str) -> Callable[[], Any]:
        """Return one request of this endpoint that will succeed."""
        from benchmarks.inside import code_of

        def create(**fields: Any) -> Any:
            return self.call("POST", "/session/create", {"to": self.recipient(), **fields})

        def check() -> Callable[[], Any]:
            session = create(type="sms")["session_id"]
            body = {"session_id": session, "code": code_of(session)}
            return lambda: self.call("POST", "/session/check", body)

        if endpoint == "create":
            to = self.recipient()
            return lambda: self.call("POST", "/session/create", {"to": to, "type": "sms"})
        if endpoint == "send":
            session = create(send=False)["session_id"]
            return lambda: self.call("POST", "/session/send", {"session_id": session, "type": "sms"})
        if endpoint in ("channels", "settings"):
            session = create(type="sms")["session_id"]
            return lambda: self.call("GET", f"/session/{endpoint}?session_id={session}")
        if endpoint == "check":
            return check()
        if endpoint == "verify":
            token = check()()["verify_token"]
            return lambda: self.call("POST", "/session/verify", {"verify_token": token}, key=self.secret_key)
        to = self.recipient()
        send = {"to": to, "channel": "sms"}
        if endpoint == "manual send":
            return lambda: self.call("POST", "/manual/send", send, key=self.secret_key)
        if endpoint == "manual channels":
            return lambda: self.call("GET", "/manual/channels", key=self.secret_key)
        number = self.old_message or self.call("POST", "/manual/send", send, key=self.secret_key)["message_id"]
        return lambda: self.call("GET", f"/manual/message/{number}", key=self.secret_key)

    def times(self, endpoint: str) -> list[float]:
        """Return the seconds that each request of a batch took."""
        found = []
        for request in [self.prepare(endpoint) for _ in range(BATCH)]:
            began_at = time.perf_counter()
            request()
            found.append(time.perf_counter() - began_at)
        return found


ENDPOINTS = ("create", "send", "channels", "settings", "check", "verify")
ENDPOINTS += ("manual send", "manual message", "manual channels")


def serve() -> None:
    """Answer each endpoint's name with the seconds of a batch, until there are no more."""
    django.setup()
    caller = Caller()
    print("ready", flush=True)
    for line in sys.stdin:
        print(json.dumps(caller.times(line.strip())), flush=True)


class Process:
    """A process that serves one database."""

    def __init__(self, database_url: str, home: Path) -> None:
        environment = {**os.environ, "WATCHWORD_HOME": str(home), "LOG_LEVEL": "ERROR"}
        environment |= {"DATABASE_URL": database_url, "EMBEDDED": "true", "DATABASE_STATEMENT_TIMEOUT": "10000"}
        migrate = [sys.executable, "manage.py", "migrate", "--verbosity", "0"]
        subprocess.run(migrate, cwd=ROOT, env=environment, check=True)
        self.process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.flat", "--serve"],
            cwd=ROOT,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.read()

    def read(self) -> str:
        assert self.process.stdout
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError("A process of the benchmark has ended; its error stands above.")
        return line

    def times(self, endpoint: str) -> list[float]:
        assert self.process.stdin
        self.process.stdin.write(f"{endpoint}\n")
        self.process.stdin.flush()
        found: list[float] = json.loads(self.read())
        return found

    def stop(self) -> None:
        self.process.kill()
        self.process.wait()


def measure_endpoints(url: str, home: Path, rounds: int) -> int:
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"DROP DATABASE IF EXISTS {EMPTY} (FORCE)".encode())
        connection.execute(f"CREATE DATABASE {EMPTY}".encode())
    processes = {"empty": Process(url.replace("/watchword?", f"/{EMPTY}?"), home), "full": Process(url, home)}
    found: dict[tuple[str, str], list[float]] = defaultdict(list)
    try:
        for number in range(rounds + 1):  # the first warms up
            for endpoint in ENDPOINTS:
                for name, process in processes.items():
                    found[endpoint, name] += process.times(endpoint) if number else process.times(endpoint)[:0]
    finally:
        for process in processes.values():
            process.stop()
    rows, missed = [], 0
    for endpoint in ENDPOINTS:
        empty, full = median(found[endpoint, "empty"]) * 1e3, median(found[endpoint, "full"]) * 1e3
        missed += full / empty > GOAL_RATIO
        rows.append((endpoint, f"{empty:.2f}", f"{full:.2f}", f"{full / empty:.2f}"))
    print(table(("median ms", "empty", "full", f"ratio (goal {GOAL_RATIO})"), rows))
    return missed


def measure_purge(days: int) -> int:
    """Purge what is older, and tell the rate of it and what it cost."""
    from django.db import connection

    from verification.models import Message, Session
    from verification.services.maintenance import retention

    before = Session.objects.count(), Message.objects.count()
    began = time.perf_counter(), time.process_time(), postgres_seconds()
    retention.purge(days=days)
    took, python, postgres = (
        end - start
        for start, end in zip(began, (time.perf_counter(), time.process_time(), postgres_seconds()), strict=True)
    )
    sessions = before[0] - Session.objects.count()
    messages = before[1] - Message.objects.count()
    connection.close()
    if not sessions:
        print(f"Nothing is older than {days} days.")
        return 1
    core = (python + postgres) / sessions * GOAL_DELETED
    print(
        f"purged {sessions:,} sessions and {messages:,} messages with all that hangs on them in {took:.0f} s:"
        f" {sessions / took:,.0f} verifications a second (goal {GOAL_DELETED:,});"
        f" {python / sessions * 1e6:.0f} µs of Python and {postgres / sessions * 1e6:.0f} of PostgreSQL each,"
        f" {core:.0%} of a core at {GOAL_DELETED:,} a second (goal {GOAL_CORE:.0%})"
    )
    return int(core > GOAL_CORE)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.flat", description=__doc__.partition("\n")[0])
    parser.add_argument("--keep", type=Path, help="the folder that benchmarks.fill made")
    parser.add_argument("--rounds", type=int, default=10, help=f"of {BATCH} requests an endpoint; default 10")
    parser.add_argument(
        "--purge", type=int, metavar="DAYS", help="purge what is older, which the next run does not find"
    )
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    os.environ["DJANGO_SETTINGS_MODULE"] = "config.settings"
    if options.serve:
        serve()
        return 0
    if not options.keep:
        parser.error("--keep names the folder that benchmarks.fill made")
    os.environ.update(WATCHWORD_HOME=str(options.keep.resolve()))
    print(machine(), flush=True)
    django.setup()
    from django.conf import settings

    with migrated():
        if options.purge:
            return measure_purge(options.purge)
        return int(bool(measure_endpoints(settings.EMBEDDED.database_url, options.keep.resolve(), options.rounds)))


if __name__ == "__main__":
    sys.exit(main())
