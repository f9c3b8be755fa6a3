"""The service's WSGI application inside one process, and the round trips of its requests.

Requests go straight into the application, so neither sockets nor other processes are in the figures, and a busy machine
disturbs them little.
"""

from __future__ import annotations

import io
import json
import os
import re
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

from benchmarks.common.driver import LOOPBACK
from benchmarks.common.scripts import CHECK, CREATE, ENDPOINTS, VERIFY, recipients
from benchmarks.common.service import Service
from benchmarks.common.tables import table

BATCH = 100  # requests; one figure is their mean
WARM_REQUESTS = 20  # They prepare the statements and fill the caches.
LOOKUP = "load_caller"  # The only statement that may run beside an endpoint's own, once a second.

_FUNCTION = re.compile(r"\bFROM (\w+)\(")

Application = Callable[[dict[str, Any], Callable[..., Any]], Any]


class Inside:
    """The service's WSGI application in this process. Make at most one; it sets the process's environment."""

    def __init__(self, service: Service) -> None:
        os.environ.update(service.environment)
        from django.conf import settings

        from config.wsgi import application

        settings.EMBEDDED.release()  # the service holds the servers: with a share of ours, nobody would stop them
        self._application: Application = application
        self._keys = {CREATE: service.api_key, CHECK: service.api_key, VERIFY: service.secret_key}
        self._recipients = recipients()

    def call(self, endpoint: str, fields: dict[str, Any]) -> Any:
        """One request; its answer's fields. Raises ``RuntimeError`` unless it is a 200."""
        body = json.dumps(fields).encode()
        statuses: list[str] = []
        answer = self._application(
            {
                "REQUEST_METHOD": "POST",
                "PATH_INFO": f"/session/{endpoint}",
                "QUERY_STRING": "",
                "SERVER_NAME": LOOPBACK,
                "SERVER_PORT": "80",
                "SERVER_PROTOCOL": "HTTP/1.1",
                "REMOTE_ADDR": LOOPBACK,
                "HTTP_HOST": LOOPBACK,
                "HTTP_X_API_KEY": self._keys[endpoint],
                "CONTENT_TYPE": "application/json",
                "CONTENT_LENGTH": str(len(body)),
                "wsgi.input": io.BytesIO(body),
                "wsgi.errors": io.StringIO(),
                "wsgi.url_scheme": "http",
                "wsgi.version": (1, 0),
                "wsgi.multithread": True,
                "wsgi.multiprocess": True,
                "wsgi.run_once": False,
            },
            lambda status, headers, exc_info=None: statuses.append(status),
        )
        content = b"".join(answer)
        if hasattr(answer, "close"):  # as WSGI has it: an answer that holds nothing open has none
            answer.close()
        if not statuses[0].startswith("200"):
            raise RuntimeError(f"{endpoint}: {statuses[0]} {content.decode()}")
        return json.loads(content)

    def prepare(self, endpoint: str, number: int) -> list[dict[str, Any]]:
        """The bodies of so many requests of this endpoint that will succeed."""
        if endpoint == CREATE:
            return [{"to": next(self._recipients), "type": "sms"} for _ in range(number)]
        if endpoint == CHECK:
            sessions = [self.call(CREATE, body)["session_id"] for body in self.prepare(CREATE, number)]
            return [{"session_id": session_id, "code": code_of(session_id)} for session_id in sessions]
        return [{"verify_token": self.call(CHECK, body)["verify_token"]} for body in self.prepare(CHECK, number)]

    def run(self, endpoint: str, bodies: list[dict[str, Any]]) -> None:
        for body in bodies:
            self.call(endpoint, body)


def code_of(session_id: str) -> str:
    from verification.core import crypto
    from verification.core.crypto import decrypt
    from verification.models import Session

    sealed = Session.objects.values_list("code_encrypted", flat=True).get(pk=session_id)
    assert sealed is not None
    return decrypt(bytes(sealed), binding=crypto.session_code_binding(session_id))


def round_trips(inside: Inside, *, requests: int = BATCH) -> dict[str, Counter[str]]:
    """Count the round trips of ``requests`` requests to each endpoint.

    PostgreSQL's are counted by the SQL function that was called, and Valkey's under ``valkey``.
    """
    counts = {}
    for endpoint in ENDPOINTS:
        inside.run(endpoint, inside.prepare(endpoint, WARM_REQUESTS))
        bodies = inside.prepare(endpoint, requests)
        with _counted() as counts[endpoint]:
            inside.run(endpoint, bodies)
    return counts


def describe_round_trips(counts: dict[str, Counter[str]], *, requests: int = BATCH) -> str:
    """A table of round trips a request. Key look-ups come with time and not with requests, so they stand apart."""
    rows = []
    for endpoint, counted in counts.items():
        others = {name: number for name, number in counted.items() if name not in (LOOKUP, "valkey")}
        rows.append(
            (
                endpoint,
                f"{sum(others.values()) / requests:.2f}",
                ", ".join(others),
                counted[LOOKUP],
                f"{counted['valkey'] / requests:.2f}",
            )
        )
    header = ("round trips a request", "PostgreSQL", "by", f"key look-ups in {requests} requests", "Valkey")
    return table(header, rows)


@contextmanager
def _counted() -> Iterator[Counter[str]]:
    """Count the statements, and what is sent to Valkey, whoever asks."""
    import psycopg
    import redis.connection

    counted: Counter[str] = Counter()
    execute: Any = psycopg.Cursor.execute
    send: Any = redis.connection.AbstractConnection.send_packed_command

    def counting_execute(cursor: Any, query: Any, *arguments: Any, **options: Any) -> Any:
        found = _FUNCTION.search(str(query))
        counted[found[1] if found else str(query)[:40]] += 1
        return execute(cursor, query, *arguments, **options)

    def counting_send(connection: Any, *arguments: Any, **options: Any) -> Any:
        counted["valkey"] += 1
        return send(connection, *arguments, **options)

    with (
        patch.object(psycopg.Cursor, "execute", counting_execute),
        patch.object(redis.connection.AbstractConnection, "send_packed_command", counting_send),
    ):
        yield counted
