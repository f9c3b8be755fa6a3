"""The web server's entry, called as granian calls it."""

import asyncio
from types import SimpleNamespace

from config.rsgi import Server


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
