"""The vendors' siteverify endpoints on loopback: what they take, refuse and answer, byte for byte.

A token names what is to become of it: ``good…`` passes, ``score-0.1`` passes with that score, ``elsewhere`` was made on
another host, ``stale`` five minutes and a bit ago; anything else is unknown. One that passed is spent.
"""

from __future__ import annotations

import json
import socket
import threading
from datetime import UTC, datetime, timedelta
from urllib.parse import parse_qsl

from tests.fakes import http_server as fake
from tests.fakes.http_server import FakeHttpServer

HOST = "shop.example"
SITE_KEY = "site-key"
SECRET = "the-vendor's-secret"

SPENT_TOKEN = {
    "turnstile": "timeout-or-duplicate",
    "hcaptcha": "already-seen-response",
    "recaptcha": "timeout-or-duplicate",
}


class Siteverify:
    """One vendor's endpoint. Use as a context manager; ``asked`` are the forms that came."""

    def __init__(self, vendor: str) -> None:
        self.vendor = vendor
        self.server = FakeHttpServer(default=self._behave)
        self.asked: list[dict[str, str]] = []
        self._spent: dict[str, str] = {}  # the token, and the idempotency key that it was spent under
        self._lock = threading.Lock()

    def __enter__(self) -> Siteverify:
        self.server.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        self.server.close()

    @property
    def url(self) -> str:
        return f"{self.server.url}/siteverify"

    def script(self, *behaviours: fake.Behaviour) -> None:
        self.server.script(*behaviours)

    def _behave(self, server: FakeHttpServer, connection: socket.socket) -> bool:
        return fake.answer(200, self._answer(server.asked), {"Content-Type": "application/json"})(server, connection)

    def _answer(self, request: fake.Request) -> bytes:
        if request.method != "POST" or request.headers.get("content-type") != "application/x-www-form-urlencoded":
            return self._refuse("missing-input-secret" if self.vendor == "hcaptcha" else "bad-request")
        form = dict(parse_qsl(request.body.decode(), keep_blank_values=True))
        self.asked.append(form)
        if form.get("secret") != SECRET:
            return self._refuse("invalid-input-secret")
        if form.get("sitekey", SITE_KEY) != SITE_KEY:
            return self._refuse("sitekey-secret-mismatch")
        token = form.get("response", "")
        if not token.startswith(("good", "score-", "elsewhere", "stale")):
            return self._refuse("invalid-input-response")
        with self._lock:
            is_spent = token in self._spent
            key = form.get("idempotency_key", "")
            if is_spent and (not key or self._spent[token] != key):
                return self._refuse(SPENT_TOKEN[self.vendor])
            self._spent[token] = key
        return self._accept(token)

    def _accept(self, token: str) -> bytes:
        solved_at = datetime.now(UTC) - timedelta(seconds=310 if token.startswith("stale") else 5)
        host = "evil.example" if token.startswith("elsewhere") else HOST
        if self.vendor == "turnstile":
            return (
                f'{{"success":true,"challenge_ts":"{solved_at.isoformat(timespec="milliseconds")[:-6]}Z",'
                f'"hostname":"{host}","error-codes":[],"action":"send_code","cdata":""}}'
            ).encode()
        if self.vendor == "hcaptcha":
            return (
                f'{{"success":true,"challenge_ts":"{solved_at.isoformat(timespec="microseconds")[:-6]}Z",'
                f'"hostname":"{host}","credit":false,"error-codes":[]}}'
            ).encode()
        time = solved_at.isoformat(timespec="seconds")[:-6] + "Z"
        if token.startswith("score-"):
            score = token.split("-")[1]
            action = token.split("-")[2] if token.count("-") > 1 else "send_code"
            return (
                f'{{\n  "success": true,\n  "challenge_ts": "{time}",\n  "hostname": "{host}",\n  "score": {score},\n'
                f'  "action": "{action}"\n}}'
            ).encode()
        return f'{{\n  "success": true,\n  "challenge_ts": "{time}",\n  "hostname": "{host}"\n}}'.encode()

    def _refuse(self, code: str) -> bytes:
        if self.vendor == "recaptcha":
            return f'{{\n  "success": false,\n  "error-codes": [\n    "{code}"\n  ]\n}}'.encode()
        return json.dumps({"success": False, "error-codes": [code]}, separators=(",", ":")).encode()
