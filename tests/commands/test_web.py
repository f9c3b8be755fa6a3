"""web: the command that serves in production."""

import os
import sys

import pytest
from django.core.management import CommandError

from tests.commands.running import run
from tests.live import ROOT


def test_the_web_server_takes_the_commands_place_and_finds_the_service_from_anywhere(settings, monkeypatch):
    started = []
    monkeypatch.setattr(os, "execve", lambda *given: started.append(given))
    settings.IS_EMBEDDED, settings.WEB_THREADS = False, 7
    run("web", "--host", "::1", "--port", "8001", "--workers", "3", "--preload")
    ((program, arguments, environment),) = started
    assert program == sys.executable
    assert arguments[1:] == [
        *("-m", "gunicorn", "--config", str(ROOT / "config" / "gunicorn.py")),
        *("--bind", "[::1]:8001", "--workers", "3", "--threads", "7", "--preload"),
    ]
    assert environment["PYTHONPATH"].split(os.pathsep)[0] == str(ROOT)


def test_with_the_embedded_servers_up_serves(settings):
    settings.IS_EMBEDDED = True
    with pytest.raises(CommandError, match="use `up`"):
        run("web")
