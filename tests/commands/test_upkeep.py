"""sweep, purge, stats."""

import pytest
from django.core.management import CommandError

from tests import clock
from tests.commands.running import run, run_json


@pytest.mark.django_db
def test_sweep_delivers_what_nobody_was_woken_for(api, outbox):
    api.create("ann@example.com")
    assert run_json("sweep")["delivered"] == 1
    assert run_json("sweep") == {"expired": 0, "wiped": 0, "updates": 0, "delivered": 0}


@pytest.mark.django_db
def test_purge_tells_what_it_deleted(project):
    assert run_json("purge", "--days", "7")["sessions"] == 0
    with pytest.raises(CommandError, match="--days: a whole number from 1 to 36500"):
        run("purge", "--days", "0")


@pytest.mark.django_db
def test_stats_tells_when_the_last_purge_was(project):
    assert run_json("stats")["purge"] == {"finished_at": None, "is_overdue": False}
    clock.forward(13 * 3600)
    assert run_json("stats")["purge"] == {"finished_at": None, "is_overdue": True}
    run("purge")
    assert run_json("stats")["purge"]["finished_at"]
    clock.forward(13 * 3600)
    assert run_json("stats")["purge"]["is_overdue"]
    assert "overdue" in run("stats")


@pytest.mark.django_db
def test_stats_counts_by_project_without_test_logins(api, project, outbox):
    project.test_login("bob@example.com", "123456")
    api.create("ann@example.com")
    api.create("bob@example.com")
    run("sweep")
    (row,) = run_json("stats")["projects"]
    assert (row["project"], row["sessions"], row["verified"]) == (project.id, 1, 0)
    assert row["messages"]["all"] == 1
    assert project.row.name in run("stats")
