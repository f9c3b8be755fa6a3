"""The service's condition, which /readyz, `status` and the metrics tell."""

from dataclasses import replace
from datetime import timedelta

import pytest
from django.db.models.functions import Now
from django.utils import timezone

from tests import clock, factories
from tests.commands.running import run, run_json
from tests.fakes.outage import database_away
from verification.core import caching
from verification.models import CircuitBreaker, Provider, Worker
from verification.services.maintenance import degradation, health
from verification.services.protection.guard import findings
from verification.services.records import workers


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


def test_a_purge_that_never_ended_is_late_from_the_first_project_on(worker, project):
    assert degradation.current().degraded == ()
    clock.forward(13 * 3600)
    Worker.objects.update(seen_at=Now())
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


def test_status_tells_on_which_side_the_clock_is(worker, monkeypatch):
    for shift, words in (
        (0, "the same as the database's"),
        (-3.2, "3.2 s behind the database's"),
        (3.2, "3.2 s ahead of the"),
    ):
        at = replace(degradation.current(), clock_ahead=shift)
        monkeypatch.setattr(degradation, "current", lambda at=at: at)
        assert words in run("status")
