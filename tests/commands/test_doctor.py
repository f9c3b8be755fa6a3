"""The doctor's command and its exit status."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from contextlib import nullcontext

import pytest
from django.core import checks
from django.core.management import call_command

from tests.commands.running import run
from tests.conftest import ROOT
from verification.checks.registry import SUBJECTS
from verification.management.commands.doctor import Command

LEVELS = {"critical": checks.ERROR, "warning": checks.WARNING, "note": checks.INFO}


@pytest.mark.django_db
class TestCommand:
    @pytest.mark.parametrize(("seed", "status"), [((), 0), (("warning",), 1), (("warning", "critical", "note"), 2)])
    def test_its_exit_status_is_the_worst_finding(self, monkeypatch, capsys, seed, status):
        monkeypatch.setitem(SUBJECTS, "machine", [sown(severity) for severity in seed])
        with pytest.raises(SystemExit) if status else nullcontext() as ended:
            call_command("doctor", "--only", "machine", "--json")
        told = json.loads(capsys.readouterr().out)
        assert (ended.value.code if status else 0) == status
        assert [each["severity"] for each in told["findings"]] == sorted(seed, key=list(LEVELS).index)
        assert told["worst"] == (told["findings"][0]["severity"] if seed else None)

    def test_it_tells_the_remedy_below_each_finding(self, monkeypatch):
        monkeypatch.setitem(SUBJECTS, "machine", [sown("note")])
        assert run("doctor", "--only", "machine") == "NOTE  machine: It is wet.\n    Dry it.  (sown)\n"

    def test_wrong_use_has_a_status_of_its_own(self, capsys):
        with pytest.raises(SystemExit) as ended:
            Command().run_from_argv(["manage.py", "doctor", "--only", "everything"])
        assert (ended.value.code, capsys.readouterr().err.startswith("watchword: ")) == (3, True)


def sown(severity):
    def check(aims):
        yield checks.CheckMessage(LEVELS[severity], "It is wet.", hint="Dry it.", id="sown")

    return check


def test_a_setting_that_stops_every_start_is_a_finding_too(tmp_path):
    environment = {
        "PATH": os.environ["PATH"],
        "DATABASE_URL": "postgres://a:b@127.0.0.1/c",
        "REDIS_URL": "redis://127.0.0.1",
    }
    command = [sys.executable, "manage.py", "doctor", "--json"]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    [finding] = json.loads(done.stdout)["findings"]
    assert (done.returncode, finding["name"]) == (2, "not-started")
    assert finding["what"].startswith("SECRET_KEY is not set.")
