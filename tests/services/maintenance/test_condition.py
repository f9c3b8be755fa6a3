"""The service's condition, which /readyz, `status` and the metrics tell."""

from dataclasses import replace
from datetime import timedelta

import psycopg
import pytest
import redis
from django.core.cache import cache
from django.core.management import CommandError
from django.db import connection
from django.db.models.functions import Now
from django.test import Client
from django.utils import timezone

from tests import clock, factories
from tests.commands.running import run, run_json
from tests.fakes.outage import database_away
from tests.servers.valkey import ValkeyServer
from verification.checks.doctor import examine
from verification.checks.registry import Aims
from verification.core import caching
from verification.models import Alert, CircuitBreaker, Provider, Worker
from verification.services.analytics import rollups
from verification.services.maintenance import degradation, exposition, health
from verification.services.protection.guard import findings
from verification.services.records import faults, workers
from verification.worker import wake
from verification.worker.broker import MESSAGES, broker


@pytest.fixture
def worker(db):
    row = workers.introduce(threads=8, holds_connections=False)
    row.save(force_insert=True)
    findings.sweep()
    return row


@pytest.mark.django_db
def test_without_a_worker_the_service_is_degraded():
    assert degradation.current().degraded == ("workers",)


def test_with_a_worker_that_sweeps_nothing_is_degraded(worker):
    now = degradation.current()
    assert (now.degraded, now.messages.depth, now.callbacks.depth) == ((), 0, 0)
    assert abs(now.clock_ahead) < 60


def test_a_message_that_nobody_takes_makes_a_backlog(worker, api):
    api.create("ann@example.com")
    caching.clear_all()
    assert (degradation.current().messages.depth, degradation.current().degraded) == (1, ())
    clock.forward(31)
    Worker.objects.update(seen_at=Now())
    caching.clear_all()
    now = degradation.current()
    assert now.degraded == ("backlog",)
    assert now.messages.age > 30


def test_a_guard_that_stopped_sweeping_is_told(worker):
    clock.forward(61)
    Worker.objects.update(seen_at=Now())
    caching.clear_all()
    assert degradation.current().degraded == ("sweep",)


def test_work_that_is_late_though_workers_run_is_told(worker, project):
    Alert.objects.create(project=project.row, kind="x", key="x", title="x", detail="x", due_at=timezone.now())
    caching.clear_all()
    assert degradation.current().degraded == ()
    Alert.objects.update(due_at=timezone.now() - timedelta(minutes=6))
    Worker.objects.update(started_at=timezone.now() - timedelta(minutes=11))
    caching.clear_all()
    assert degradation.current().faults == {"upkeep": "alerts, figures"}
    rollups.count_due()
    Alert.objects.update(due_at=None)
    caching.clear_all()
    assert degradation.current().degraded == ()


def test_a_purge_that_never_ended_is_late_from_the_first_project_on(worker, project):
    assert degradation.current().degraded == ()
    clock.forward(13 * 3600)
    Worker.objects.update(seen_at=Now(), started_at=Now())
    findings.sweep()
    caching.clear_all()
    assert degradation.current().degraded == ("purge",)


def set_aside(row):
    now = timezone.now()
    CircuitBreaker.objects.create(
        provider=row, opened_at=now, open_until=now + timedelta(minutes=5), openings=1, reason="timeout"
    )
    caching.clear_all()


def test_a_channel_whose_only_provider_is_set_aside_is_degraded(worker, project):
    row = Provider.objects.get(project=project.row, channel="sms")
    set_aside(row)
    assert degradation.current().degraded == ("channels",)
    assert "and no other provider takes over: timeout" in run("status")
    assert "Nothing is degraded." not in run("status")
    other = factories.provider(project=project.row, channel="sms", type="console", name="Another")
    caching.clear_all()
    assert (degradation.current().degraded, len(degradation.current().aside)) == ((), 1)
    set_aside(other)
    assert degradation.current().degraded == ("channels",)
    Provider.objects.filter(channel="sms").update(is_enabled=False)
    caching.clear_all()
    assert (degradation.current().degraded, degradation.current().aside) == ((), ())


def test_a_provider_of_the_system_stands_in_for_a_project_s_own(worker, project):
    set_aside(Provider.objects.get(project=project.row, channel="sms"))
    system = factories.provider(project=None, channel="sms", type="console", name="Of all")
    caching.clear_all()
    assert degradation.current().degraded == ()
    set_aside(system)
    assert degradation.current().degraded == ("channels",)
    Provider.objects.filter(project=project.row, channel="sms").update(is_enabled=False)
    caching.clear_all()
    assert [each.provider for each in degradation.current().alone] == [system]
    factories.provider(project=project.row, channel="sms", type="console", name="Own")  # nobody needs the system's
    caching.clear_all()
    assert degradation.current().degraded == ()


def test_status_tells_processes_queues_and_what_is_degraded(worker, api):
    api.create("ann@example.com")
    told = run_json("status")
    assert (told["messages"]["due"], told["degraded"], told["workers"][0]["version"]) == (1, {}, worker.version)
    assert told["last_guard_sweep"]
    assert "Nothing is degraded." in run("status")
    assert "Messages being sent      0\n" in run("status")
    workers.leave(worker)
    caching.clear_all()
    assert "No worker has reported" in run("status")


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("command", ["status", "health"])
def test_status_and_health_without_a_database_are_one_line(caplog, command):
    with (
        database_away(),
        pytest.raises(Exception, match=r"The database does not answer: .* Is it running"),
    ):
        run(command)
    assert not caplog.records  # which would be a second line on the operator's terminal


@pytest.mark.django_db(transaction=True)
def test_what_is_asked_again_and_again_logs_once_that_the_database_is_away_and_once_that_it_is_back(caplog):
    caplog.set_level("INFO", logger=health.__name__)
    with database_away():
        for _ in range(3):
            health.failing.forget()
            assert health.failing() == health.AWAY
    for _ in range(2):
        health.failing.forget()
        assert health.failing() == ""
    away, back = [record.getMessage() for record in caplog.records]
    assert away.startswith("not ready: the database does not answer (") and back == "ready again: the database answers"


class Unwritable:
    """A PostgreSQL that reads and takes no row of the trial, as one whose disk is full."""

    def __init__(self, state):
        self.state = state

    def __enter__(self):
        with connection.cursor() as cursor:
            cursor.execute(
                "CREATE FUNCTION no_room() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN"
                f" RAISE EXCEPTION 'could not extend file' USING ERRCODE = '{self.state}'; END $$;"
                "CREATE TRIGGER no_room BEFORE INSERT ON verification_writetrial EXECUTE FUNCTION no_room();"
                "DELETE FROM verification_upkeep WHERE name = 'write_trial'"
            )
        caching.clear_all()

    def __exit__(self, *_):
        caching.clear_all()
        with connection.cursor() as cursor:
            cursor.execute("DROP FUNCTION no_room CASCADE")


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("state", ["53100", "53200", "58030"])
def test_an_idle_service_whose_database_cannot_write_is_not_ready(settings, caplog, state):
    settings.METRICS_TOKEN = "t" * 32
    with Unwritable(state):
        assert Client().get("/livez").status_code == 200
        response = Client().get("/readyz")
        assert (response.status_code, response.json()["detail"]) == (503, health.NO_ROOM)
        for command in ("status", "health"):
            with pytest.raises(CommandError, match="The database cannot write"):
                run(command)
        metrics = exposition.text().decode()
        assert 'watchword_up{part="database"} 0.0' in metrics and 'watchword_degraded{part="database"} 1.0' in metrics
        found = {each.id for each in examine(Aims(url="http://127.0.0.1:9"), ("database", "queue"))}
        assert {"database-without-room", "degraded-database"} <= found
    assert f"({state})" in caplog.text
    assert Client().get("/readyz").status_code == 200


@pytest.mark.django_db(transaction=True)
def test_all_processes_together_try_seldom_to_write():
    tried = "SELECT written_at FROM verification_writetrial"
    times = set()
    for _ in range(3):
        caching.clear_all()  # as another process
        assert health.failing() == ""
        with connection.cursor() as cursor:
            cursor.execute(tried)
            times.add(cursor.fetchone())
    assert len(times) == 1


@pytest.mark.django_db(transaction=True)
def test_a_dump_under_way_makes_no_probe_wait():
    connection.ensure_connection()
    with Unwritable("53100"), psycopg.connect(connection.connection.info.dsn) as dump:
        dump.execute("LOCK TABLE verification_writetrial IN ACCESS SHARE MODE")
        assert health.failing() == ""
        dump.rollback()
        caching.clear_all()
        assert health.failing() == health.NO_ROOM


@pytest.mark.django_db(transaction=True)
def test_a_request_that_finds_no_room_makes_every_process_say_so_for_a_while(api):
    api.channels()
    with connection.cursor() as cursor:
        cursor.execute(
            "CREATE FUNCTION no_room() RETURNS trigger LANGUAGE plpgsql AS"
            " $$ BEGIN RAISE EXCEPTION 'x' USING ERRCODE = '53100'; END $$;"
            "CREATE TRIGGER no_room BEFORE INSERT ON verification_message EXECUTE FUNCTION no_room()"
        )
    try:
        assert api.create().status_code == 503
    finally:
        with connection.cursor() as cursor:
            cursor.execute("DROP FUNCTION no_room CASCADE")
    faults.last_refusal.forget()  # as another process, which asks the cache
    degradation.current.forget()
    told = Client().get("/readyz", REMOTE_ADDR="127.0.0.1").json()
    assert "DiskFull (53100)" in told["degraded"]["database"]
    cache.delete(faults.LastRefusal.KEY)


@pytest.fixture
def valkey(monkeypatch):
    with ValkeyServer() as server, server.client() as client:
        monkeypatch.setattr(broker, "client", redis.Redis.from_url(server.url))
        yield client


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("setting", "value", "words"), [("maxmemory", "1", "OOM"), ("min-replicas-to-write", "1", "NOREPLICAS")]
)
def test_a_valkey_that_answers_and_takes_no_write_is_told_in_its_own_words(
    worker, valkey, caplog, setting, value, words
):
    valkey.config_set(setting, value)
    assert valkey.ping()
    caching.clear_all()
    now = degradation.current()
    assert {"broker", "cache"} <= set(now.degraded)
    assert words in now.meanings["broker"] and words in run("status")
    for _ in range(3):
        wake._away.forget()
        wake._send(MESSAGES, 1)
    [line] = [record.getMessage() for record in caplog.records if record.name == wake.__name__]
    assert words in line and "not answer" not in line
    valkey.config_set(setting, "0")
    caching.clear_all()
    assert degradation.current().degraded == ()


def test_status_tells_on_which_side_the_clock_is(worker, monkeypatch):
    for shift, words in (
        (0, "the same as the database's"),
        (-3.2, "3.2 s behind the database's"),
        (3.2, "3.2 s ahead of the"),
    ):
        at = replace(degradation.current(), clock_ahead=shift)
        monkeypatch.setattr(degradation, "current", lambda at=at: at)
        assert words in run("status")
