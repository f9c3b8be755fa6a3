"""The panel over a real streaming replica: it reads there, but nothing that decides, and shows people their changes."""

from __future__ import annotations

import json

import pytest

from tests.live import LiveService, wait_until
from tests.servers.postgres import PostgresServer

# The limit is that of the first test, which may wait for all migrations.
pytestmark = [pytest.mark.live, pytest.mark.long, pytest.mark.xdist_group("replica"), pytest.mark.timeout(300)]

VISIT = """
import json, sys
from django.contrib.auth.models import User
from django.db import connections, reset_queries
from django.test import Client
from verification.models import Project
from verification.admin.base import database_router

person, _ = User.objects.get_or_create(username="root", is_staff=True, is_superuser=True)
client = Client(headers={"host": "127.0.0.1"})
client.get("/admin/login/")  # loads the panel, which notes logins
client.force_login(person)
connections["replica"].force_debug_cursor = True

def look(address):
    reset_queries()
    response = client.get(address)
    names = {part for query in connections["replica"].queries for part in query["sql"].split('"')}
    tables = {name for name in names if name.startswith(("verification_", "auth_", "django_", "axes_"))}
    return {"status": response.status_code, "read": sorted(tables), "text": response.content.decode()}

"""


@pytest.fixture(scope="module")
def primary():
    with PostgresServer(is_migrated=True) as running:
        yield running


@pytest.fixture(scope="module")
def standby(primary, service):
    with PostgresServer(copy_of=primary) as running:
        service.environment["DATABASE_REPLICA_URL"] = running.url
        service.json("createproject", "Shop")  # so that the replica has something to replay
        yield running


@pytest.fixture(scope="module")
def service(tmp_path_factory, primary):
    live = LiveService(
        tmp_path_factory.mktemp("replicated"),
        is_embedded=False,
        DATABASE_URL=primary.url,
        ADMIN_SECOND_FACTOR="offered",
    )
    live.servers.start()
    try:
        yield live
    finally:
        live.stop()


def visit(service, program):
    return json.loads(service.python(VISIT + program).splitlines()[-1])


def touch(service):
    """Write something that the replica replays, as workers do every ten seconds."""
    service.query("UPDATE verification_project SET name = name RETURNING id")


def test_lists_and_figures_are_read_from_the_replica(service, standby):
    touch(service)
    for address, table in (
        ("/admin/verification/message/", "verification_message"),
        ("/admin/verification/session/", "verification_session"),
        ("/admin/", "verification_guardblock"),
    ):
        seen = visit(service, f"print(json.dumps(look({address!r})))")
        assert seen["status"] == 200
        assert table in seen["read"]
        assert all(name.startswith("verification_") for name in seen["read"])  # nothing of logins


def test_nothing_that_decides_is_read_from_the_replica(service, standby):
    touch(service)
    program = (
        "project = Project.objects.get(name='Shop')\n"
        "print(json.dumps(look(f'/admin/verification/project/{project.pk}/change/')))"
    )
    assert visit(service, program)["read"] == []


def test_a_page_shows_what_its_reader_has_just_saved(service, standby):
    touch(service)
    standby.execute("SELECT pg_wal_replay_pause()")
    try:
        wait_until(
            lambda: standby.execute("SELECT pg_get_wal_replay_pause_state()") == [("paused",)],
            "the replica stands still",
        )
        seen = visit(
            service,
            "made = Project.objects.create(name='Just saved')\n"
            "before = look('/admin/verification/project/')\n"
            "client.post('/admin/verification/project/', {'action': ''})\n"
            "after = look('/admin/verification/project/')\n"
            "print(json.dumps({'before': before, 'after': after, 'row': f'/{made.pk}/change/'}))",
        )
    finally:
        standby.execute("SELECT pg_wal_replay_resume()")
    assert "verification_project" in seen["before"]["read"]
    assert seen["row"] not in seen["before"]["text"]
    assert seen["after"]["read"] == []
    assert seen["row"] in seen["after"]["text"]


def test_a_replica_that_is_away_or_far_behind_is_not_read(service, standby):
    touch(service)
    program = "print(json.dumps(look('/admin/verification/message/')))"
    behind = visit(service, "database_router.MAX_LAG_SECONDS = 0.0\n" + program)
    assert (behind["status"], behind["read"]) == (200, [])
    standby.stop()
    try:
        away = visit(service, program)
    finally:
        standby.start()
    assert (away["status"], away["read"]) == (200, [])


def test_the_replica_is_never_migrated(service, standby):
    assert "No migrations to apply" in service.manage("migrate")
