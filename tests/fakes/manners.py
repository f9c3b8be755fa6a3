"""Answers that any provider may give one day, and what each adapter must make of them."""

from __future__ import annotations

import pytest

from providers.base import Outcome
from providers.http.client import HttpClient, Timeouts
from tests.fakes import http_server as fake

HTML = b"<html><body>Welcome to 4711</body></html>"

# Behaviour and outcome, of an answer to a message.
BAD_ANSWERS = [
    pytest.param(fake.hang_up(), Outcome.UNKNOWN, id="hangs up"),
    pytest.param(fake.reset(b"HTTP/1.1 201 Cre"), Outcome.UNKNOWN, id="resets"),
    pytest.param(fake.huge_body(), Outcome.UNKNOWN, id="100 MB"),
    pytest.param(fake.huge_body(status=500), Outcome.TEMPORARY, id="100 MB of error"),
    pytest.param(fake.gzip_bomb(), Outcome.UNKNOWN, id="packed"),
    pytest.param(fake.answer(200, HTML), Outcome.UNCLEAR, id="HTML"),
    pytest.param(fake.answer(200, b""), Outcome.UNCLEAR, id="empty"),
    pytest.param(fake.answer(200, b"\xff\xfe\x00"), Outcome.UNCLEAR, id="bytes"),
    pytest.param(fake.answer(200, b"[" * 60_000), Outcome.UNCLEAR, id="deep"),
    pytest.param(fake.answer(200, []), Outcome.UNCLEAR, id="list"),
    pytest.param(fake.answer(200, {"sid": 5, "messages": "x"}), Outcome.UNCLEAR, id="wrong types"),
    pytest.param(fake.redirect("http://127.0.0.1:1/"), Outcome.MISCONFIGURED, id="redirect"),
    pytest.param(fake.answer(401, HTML), Outcome.MISCONFIGURED, id="401"),
    pytest.param(fake.answer(402, HTML), Outcome.OUT_OF_FUNDS, id="402"),
    pytest.param(fake.answer(403, HTML), Outcome.DECLINED, id="403"),
    pytest.param(fake.answer(404, HTML), Outcome.DECLINED, id="404"),
    pytest.param(fake.answer(429, HTML), Outcome.RATE_LIMITED, id="429"),
    pytest.param(fake.answer(500, HTML), Outcome.TEMPORARY, id="500"),
    pytest.param(fake.answer(502, HTML), Outcome.UNKNOWN, id="502"),
    pytest.param(fake.answer(503, {"error": "x", "code": []}), Outcome.TEMPORARY, id="503"),
    pytest.param(fake.answer(504, HTML), Outcome.UNKNOWN, id="504"),
]

# Answers that never come to an end; what they leave is always unknown.
SLOW_ANSWERS = [
    pytest.param(fake.hang(), id="silent"),
    pytest.param(fake.drip_headers(), id="slow headers"),
    pytest.param(fake.drip_body(), id="slow body"),
]


class HastyDoor(HttpClient):
    """The door with little time, for tests of slow answers."""

    def request(self, method, url, **options):
        return super().request(method, url, **{**options, "timeout": Timeouts(0.5, 0.5)})
