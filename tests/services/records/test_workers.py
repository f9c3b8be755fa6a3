"""The workers that deliver, as their own rows tell it."""

import pytest

from tests import clock
from tests.commands.running import run, run_json
from verification.models import Worker
from verification.services.maintenance import retention
from verification.services.records import workers

pytestmark = pytest.mark.django_db


def a_worker(**values):
    row = workers.introduce(threads=values.pop("threads", 8), holds_connections=values.pop("holds_connections", False))
    workers.beat(row)
    return row


def test_stats_names_each_worker_and_what_it_does(project, settings):
    row = a_worker(holds_connections=True)
    (shown,) = run_json("stats")["workers"]
    assert (shown["host"], shown["pid"], shown["version"]) == (row.host, row.pid, settings.VERSION)
    assert (shown["kinds"], shown["threads"]) == (["messages", "connections"], 8)
    assert f"Workers: {row.host} process {row.pid}: messages, connections, 8 threads" in run("stats")


def test_stats_says_that_none_runs_when_none_has_been_heard_of_for_a_minute(project):
    assert "Workers: none running" in run("stats")
    row = a_worker()
    assert "none runs" not in run("stats")
    clock.forward(61)
    assert "Workers: none running" in run("stats")
    workers.beat(row)
    assert "none runs" not in run("stats")


def test_one_that_stops_is_gone_at_once_and_one_that_was_killed_is_purged():
    stopped, killed = a_worker(), a_worker()
    workers.leave(stopped)
    assert list(workers.running()) == [killed]
    clock.forward(25 * 3600)
    assert retention.purge()["workers"] == 1
    assert not Worker.objects.exists()


def test_a_row_that_was_taken_away_comes_back_with_the_next_beat():
    row = a_worker()
    Worker.objects.all().delete()
    workers.beat(row)
    assert list(workers.running()) == [row]
