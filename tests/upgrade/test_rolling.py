"""An upgrade from the previous release while callers verify: no request fails, and nothing is sent twice.

Two web processes and two workers of the previous release run on one database. The new version migrates it under them,
and takes their places one by one. The new version is this checkout and migrations that add to the busiest tables, so
that there is something to live with even where this checkout changes no table.
"""

from __future__ import annotations

import contextlib
import copy
import itertools
import signal
import sys

import pytest

from tests.fakes.http_server import FakeHttpServer
from tests.faults.callers import Callers, assert_nothing_is_lost
from tests.faults.shop import open_shop, recipient
from tests.live import LiveService, free_port
from tests.servers.postgres import PostgresServer
from tests.upgrade import versions

pytestmark = [
    pytest.mark.live,
    pytest.mark.long,
    pytest.mark.xdist_group("upgrade"),
    pytest.mark.timeout(900),
    pytest.mark.skipif(
        not versions.has_commit(versions.previous_commit()), reason="This is no checkout with the previous release."
    ),
]

CALLERS = 4
AT_EACH_STEP = 30  # verifications between two steps of the upgrade
SHARED = ("REDIS_URL", "SECRET_KEY", "ENCRYPTION_KEYS", "BASE_URL", "DATABASE_URL")
TABLES = ("session", "message", "recipient", "deliveryattempt", "wrongcode", "project", "provider", "channel")
ADDITION = """
from django.db import migrations


class Migration(migrations.Migration):
    atomic = {is_atomic}
    dependencies = [("verification", "{before}")]
    operations = [migrations.RunSQL("{statement}")]
"""
ADD_COLUMN = "ALTER TABLE verification_{table} ADD COLUMN next_version integer NOT NULL DEFAULT 7"
ADD_INDEX = "CREATE INDEX CONCURRENTLY next_version ON verification_message (next_version)"


class Everything(Callers):
    """Callers who use more of the API than a verification takes."""

    def __init__(self, *arguments, **options):
        super().__init__(*arguments, **options)
        self.sent_by_hand = []

    def _verify_somebody(self):
        app, server = self.shop.as_app, self.shop.as_server
        self._ask("settings", lambda: app("GET", "/session/settings"))
        super()._verify_somebody()
        to = recipient()
        headers = {"idempotency-key": to}
        for _ in range(2):  # the second is told what the first was
            answer = self._ask("send", lambda: self.shop.send(to, headers=headers, code="4242"))
        self.sent_by_hand.append(to)
        self._ask("status", lambda: server("GET", f"/manual/message/{answer['message_id']}"))


class Nodes:
    """Callers reach each node in turn, and the next one where nobody listens, as behind a proxy."""

    def __init__(self, nodes):
        self.nodes = nodes
        self._turns = itertools.count()

    def service(self):
        seen = copy.copy(self.nodes[0])
        seen.call = self.call
        return seen

    def call(self, *arguments, **options):
        turn = next(self._turns)
        with contextlib.suppress(ConnectionRefusedError):
            return self.nodes[turn % len(self.nodes)].call(*arguments, **options)
        return self.nodes[(turn + 1) % len(self.nodes)].call(*arguments, **options)


@pytest.fixture(scope="module")
def old_interpreter(tmp_path_factory):
    """The previous release runs on the packages that it was released with."""
    return versions.interpreter_of(versions.previous_code(), tmp_path_factory.mktemp("packages") / "venv")


@pytest.fixture(scope="module")
def new_code(tmp_path_factory):
    folder = versions.copy_of_this_version(tmp_path_factory.mktemp("next"))
    statements = [ADD_COLUMN.format(table=table) for table in TABLES] + [ADD_INDEX]
    for number, statement in enumerate(statements, start=9000):
        values = {
            "before": max(versions.migrations(folder)),
            "is_atomic": statement != ADD_INDEX,
            "statement": statement,
        }
        (folder / "verification" / "migrations" / f"{number}_next.py").write_text(ADDITION.format(**values))
    return folder


@pytest.fixture(scope="module")
def nodes(tmp_path_factory, old_interpreter):
    """Two machines that run the previous release."""
    with PostgresServer() as server:
        first = LiveService(
            tmp_path_factory.mktemp("first"),
            is_embedded=False,
            web_processes=1,
            BASE_URL=f"http://127.0.0.1:{free_port()}",
            DATABASE_URL=server.url,
        )
        shared = {name: first.environment[name] for name in SHARED}
        second = LiveService(tmp_path_factory.mktemp("second"), is_embedded=False, web_processes=1, **shared)
        try:
            first.servers.start()
            for node in (first, second):
                node.root, node.interpreter = versions.previous_code(), old_interpreter
            first.manage("migrate")
            for node in (first, second):
                node.start_web()
                node.start_worker()
            yield first, second
        finally:
            second.stop()
            first.stop()


@pytest.fixture(scope="module")
def shop(nodes):
    with FakeHttpServer() as gateway:
        opened = open_shop(Nodes(nodes).service(), gateway)
        opened.set(traffic_guard="off")  # what is sent by hand is verified by nobody, as if somebody pumped
        opened.service.query("UPDATE verification_channel SET daily_budget = 0 RETURNING id")
        yield opened


def test_no_request_fails_and_nothing_is_sent_twice_over_an_upgrade(shop, nodes, new_code):
    first, second = nodes
    migrating = copy.copy(first)
    migrating.root, migrating.interpreter = new_code, sys.executable
    with Everything(shop, CALLERS) as callers:
        callers.verify(AT_EACH_STEP, seconds=120)
        migrating.manage("migrate")
        callers.verify(AT_EACH_STEP, seconds=120)  # the previous release on the new tables and functions
        for node in (first, second):
            node.root, node.interpreter = new_code, sys.executable
            node.kill("worker0", signal.SIGTERM)
            node.start_worker()
            callers.verify(AT_EACH_STEP, seconds=120)
        for node in (first, second):
            node.kill("web", signal.SIGTERM)
            node.start_web()
            callers.verify(AT_EACH_STEP, seconds=120)
    log = "".join(node.output(name) for node in nodes for name in ("web", "worker0"))
    assert callers.failures == [], log
    assert_nothing_is_lost(callers, most_twice=0)
    assert [to for to in callers.sent_by_hand if len(shop.sent_to(to)) != 1] == []
    assert shop.service.query("SELECT DISTINCT next_version FROM verification_message") == [(7,)]
    assert first.json("checkintegrity")["violations"] == {}
    assert "Traceback" not in log
