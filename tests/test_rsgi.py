"""The web server's entry, called as granian calls it."""

import asyncio
import json
import subprocess
import sys
from types import SimpleNamespace

from config.processes.rsgi import Server
from tests.conftest import ROOT


class Protocol:
    """Takes the answer."""

    def response_bytes(self, status, headers, body):
        self.status, self.headers, self.body = status, dict(headers), body


def fail(environ, start_response):
    raise AssertionError("A thread was asked.")


def test_whether_a_process_lives_is_answered_without_one_of_its_threads():
    """They may all wait for the database, and a restart would not bring it back."""
    protocol = Protocol()
    asyncio.run(Server(fail, threads=1).__rsgi__(SimpleNamespace(path="/livez"), protocol))
    assert (protocol.status, protocol.body) == (200, b'{"status": "ok"}')
    assert protocol.headers["server"] == "web"


def test_the_web_servers_own_lines_have_the_form_of_ours(capfd):
    """``up`` and the image start granian with this file."""
    script = (
        "import json, logging; from granian.log import LogLevels, configure_logging;"
        "configure_logging(LogLevels.info, json.load(open('config/granian.json')), True);"
        "logging.getLogger('_granian').info('Listening')"
    )
    subprocess.run([sys.executable, "-c", script], cwd=ROOT, check=True)
    line = json.loads(capfd.readouterr().err)
    assert (line["event"], line["level"], line["logger"]) == ("Listening", "info", "_granian")
