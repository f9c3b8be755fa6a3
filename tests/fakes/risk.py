"""The services of risk checks on loopback: what each takes, and what it answers, byte for byte."""

from __future__ import annotations

import json
import socket
from typing import Any

from tests.fakes import http_server as fake
from tests.fakes.http_server import FakeHttpServer


class RiskService:
    """One service, which answers each request with ``answers`` in turn, the last of them again and again.

    Use as a context manager. An answer is an object for a 200, or a pair of a status and an object; None never comes.
    """

    def __init__(self, *answers: Any) -> None:
        self.answers = list(answers)
        self.server = FakeHttpServer(default=self._behave)

    def __enter__(self) -> RiskService:
        self.server.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        self.server.close()

    @property
    def url(self) -> str:
        return self.server.url

    @property
    def asked(self) -> list[fake.Request]:
        return self.server.requests

    def _behave(self, server: FakeHttpServer, connection: socket.socket) -> bool:
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if answer is None:
            return fake.hang()(server, connection)
        status, body = answer if isinstance(answer, tuple) else (200, answer)
        content = json.dumps(body).encode()
        return fake.answer(status, content, {"Content-Type": "application/json"})(server, connection)


def lookup(score: float | None, *, blocked: bool = False, error: int | None = None) -> dict[str, Any]:
    """Twilio's answer, as its page shows it."""
    risk = {
        "carrier_risk_category": "moderate",
        "number_blocked": blocked,
        "number_blocked_date": None,
        "number_blocked_last_3_months": None,
        "sms_pumping_risk_score": score,
        "error_code": error,
    }
    return {"calling_country_code": "49", "country_code": "DE", "valid": True, "sms_pumping_risk": risk, "url": ""}
