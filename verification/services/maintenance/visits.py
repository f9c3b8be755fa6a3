"""A visit to our own service from outside, and the service's answer on how it saw the visitor.

The visitor signs the request with SECRET_KEY, so that nobody else is told anything. The address is the operator's own
BASE_URL, which may lead to this very machine. So it is called directly: the door for tenants' addresses refuses that.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import ssl
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from django.core import signing

from providers.http import tls
from providers.http.connections import FinalAnswer

PATH = "/readyz"  # where a visitor with our key is told how it is seen
HEADER = "X-Watchword-Visit"
SALT = "watchword.doctor.visit"
VISIT = "visit"  # the signed text, to which the signer adds the time
GOOD_SECONDS = 120  # the age of a signature. The two clocks may differ by that much
ANSWER_SECONDS = 5.0  # for each step of a request: connecting, the headers, the body
MAX_BYTES = 64 * 1024  # read of a body: our answers are far shorter


class Unreachable(Exception):
    """Nobody answered. The text is the reason."""


class Untrusted(Unreachable):
    """The certificate was refused."""


@dataclass(frozen=True, slots=True)
class VisitAnswer:
    """An answer from outside. ``certificate_ends`` is in seconds since 1970, None without TLS."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    certificate_ends: float | None = None

    @property
    def seen(self) -> dict[str, Any] | None:
        """The visitor as the service saw it; None where another service answers, or one with another SECRET_KEY."""
        try:
            body = json.loads(self.body)
        except ValueError:
            return None
        seen = body.get("seen") if isinstance(body, dict) else None
        return seen if isinstance(seen, dict) else None


def signature() -> str:
    """Return what a visitor sends in :data:`HEADER`."""
    return signing.TimestampSigner(salt=SALT).sign(VISIT)


def is_ours(text: str) -> bool:
    """Return whether a visitor with our SECRET_KEY signed this within the last two minutes."""
    try:
        return signing.TimestampSigner(salt=SALT).unsign(text, max_age=GOOD_SECONDS) == VISIT
    except signing.BadSignature:
        return False


def visit(url: str, *, method: str = "GET", headers: Mapping[str, str] | None = None) -> VisitAnswer:
    """Make one request and follow no redirect. Raises :class:`Unreachable`."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    connection: http.client.HTTPConnection
    if parts.scheme == "https":
        connection = http.client.HTTPSConnection(host, parts.port, timeout=ANSWER_SECONDS, context=tls.context())
    else:
        connection = http.client.HTTPConnection(host, parts.port, timeout=ANSWER_SECONDS)
    connection.response_class = FinalAnswer  # a proxy may send hints first
    with contextlib.closing(connection):
        try:
            connection.connect()
            ends = _end_of_certificate(connection.sock)
            connection.request(method, parts.path or "/", headers=dict(headers or {}))
            response = connection.getresponse()
            received = {name.lower(): value for name, value in response.getheaders()}
            return VisitAnswer(response.status, received, response.read(MAX_BYTES), ends)
        except ssl.SSLCertVerificationError as error:
            raise Untrusted(error.verify_message) from None
        except TimeoutError:
            raise Unreachable("no answer in time") from None
        except ssl.SSLError as error:
            raise Unreachable(f"the server does not speak TLS: {error.reason}") from None
        except OSError as error:
            raise Unreachable(error.strerror or type(error).__name__) from None
        except http.client.HTTPException:
            raise Unreachable("the answer is not HTTP") from None


def is_served_by_us(url: str) -> bool:
    """Return whether this installation answers at the address, so that no secret is sent to a stranger."""
    try:
        return visit(f"{url}{PATH}", headers={HEADER: signature()}).seen is not None
    except Unreachable:
        return False


def days_until(moment: float) -> float:
    return (moment - time.time()) / 86_400


def _end_of_certificate(connected: Any) -> float | None:
    if not isinstance(connected, ssl.SSLSocket):
        return None
    certificate = connected.getpeercert() or {}
    return ssl.cert_time_to_seconds(str(certificate["notAfter"]))
