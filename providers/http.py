"""The one door out: every HTTP request of this service leaves here.

What it promises:

- The guard (:mod:`providers.guard`) judges the URL, and at each new connection every address behind its name.
- A call ends at its deadline, even where the other side sends a byte a second, in the headers or in the body.
- An answer of more than 64 KiB is not read on. Answers are asked for unpacked, and packed ones are not
  unpacked.
- No redirects, no proxies from the environment, no cookies, nothing sent twice.
- Errors name the host at most: never a path, a query, a header or a body.

It speaks through h11, which knows the protocol and no sockets. ``httpx.Client`` would share its cookie jar among
all tenants that use the same provider, and logs whole URLs; the bookkeeping of httpcore's pool costs twice what
the request does. A thread makes one request at a time, so it keeps one connection to a place and shares none;
after a fork the child begins anew.

Nothing is sent twice, not even a GET, since many gateways send by GET. That leaves the kept connection which
the server closes in the very moment we write to it: no answer, an unknown outcome. Two things keep that rare:
before an idle connection is taken again we look whether it has been closed, and none is kept for longer than
``KEEP_SECONDS``, which is less than the usual servers wait before they close one.
"""

from __future__ import annotations

import base64
import json as jsonlib
import math
import os
import re
import select
import socket
import ssl
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.parse import urlencode

import h11
import httpx

from providers import guard, tls
from providers.deadline import Deadline
from providers.errors import NoAnswer, NotConnected, ProviderError
from providers.outcomes import Outcome

MAX_BODY_BYTES = 64 * 1024
MAX_RETRY_AFTER_SECONDS = 3600.0
KEEP_SECONDS = 4.0
MAX_KEPT = 16  # connections of a thread
READ_BYTES = 16 * 1024

Form = Mapping[str, object] | Sequence[tuple[str, object]]

# The framing is ours; a header line of a tenant must not change where the request ends or whom it reaches.
RESERVED_HEADERS = frozenset(
    {
        "accept-encoding",
        "connection",
        "content-length",
        "expect",
        "host",
        "keep-alive",
        "proxy-authorization",
        "proxy-connection",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    }
)
_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_HEADER_VALUE = re.compile(r"[\x20-\x7e\t]*")


@dataclass(frozen=True, slots=True)
class Timeouts:
    """In seconds. ``connect`` covers name, connection and TLS; ``total`` the whole call."""

    connect: float = 2.0
    total: float = 5.0


DEFAULT = Timeouts()


@dataclass(frozen=True, slots=True)
class HttpAnswer:
    """An answer read to its end. Header names are in lower case; repeated ones are joined by a comma."""

    status: int
    headers: Mapping[str, str] = field(repr=False)
    body: bytes = field(repr=False)

    @property
    def text(self) -> str:
        return self.body.decode("utf-8", "replace")

    def json(self) -> Any:
        """The body as strict JSON in UTF-8. Raises ``ValueError`` for anything else."""
        try:
            return jsonlib.loads(self.body.decode("utf-8"), parse_constant=_refuse_constant)
        except RecursionError:
            raise ValueError("nested too deeply") from None


class HttpDoor:
    """``allowed_networks`` are the CIDRs for which the operator has lifted the guard. Safe to share by
    threads.
    """

    def __init__(self, allowed_networks: Sequence[str] = (), *, resolver: guard.Resolver | None = None) -> None:
        self.allowed_networks = tuple(allowed_networks)
        self._resolver = resolver
        self._local = threading.local()

    def request(
        self,
        method: str,
        url: str,
        *,
        headers: Mapping[str, str] | None = None,
        content: bytes | None = None,
        json: object = None,
        form: Form | None = None,
        auth: tuple[str, str] | None = None,
        timeout: Timeouts = DEFAULT,
        wants_body: bool = True,
    ) -> HttpAnswer:
        """Send one request and read its answer, whatever its status.

        At most one of ``content``, ``json`` and ``form``. ``auth`` is for HTTP Basic. Without ``wants_body``
        only status and headers are waited for. An error status stands on its own: if its body is too large or
        cannot be read, the body is empty.

        Raises :class:`NotConnected`, :class:`NoAnswer`, :class:`AddressBlocked`, and a plain
        :class:`ProviderError` for a header that cannot be sent.
        """
        target = guard.read_url(url, self.allowed_networks)
        body, content_type = _encode(content, json, form)
        sent = _headers(target, headers or {}, content_type, auth)
        if body is not None:
            sent.append(("Content-Length", str(len(body))))
        try:
            request = h11.Request(method=method, target=target.raw_path, headers=sent)
        except h11.LocalProtocolError:
            raise ProviderError("the request cannot be sent like this", Outcome.MISCONFIGURED) from None
        deadline = Deadline(timeout.total)
        kept = self._kept()
        place = (target.scheme, target.host, _port(target))
        connection = kept.take(place) or _Connection(self._connect(target, timeout))
        try:
            answer = connection.ask(request, body or b"", deadline, wants_body=wants_body)
        except TimeoutError:
            raise NoAnswer(f"{target.host}: no complete answer in time") from None
        except (OSError, h11.RemoteProtocolError):
            raise NoAnswer(f"{target.host}: the connection broke or the answer is not HTTP") from None
        finally:
            kept.put_back(place, connection)
        return answer

    def touch(self, url: str, *, timeout: Timeouts = DEFAULT) -> None:
        """Connect, for https with the TLS handshake, and hang up: nothing is asked. Raises as
        :meth:`request`.
        """
        self._connect(guard.read_url(url, self.allowed_networks), timeout).close()

    def close(self) -> None:
        """Close the connections that the calling thread keeps. The door stays usable."""
        kept: _Kept | None = self._local.__dict__.pop("kept", None)
        if kept is not None:
            kept.close()

    def _kept(self) -> _Kept:
        kept: _Kept | None = getattr(self._local, "kept", None)
        if kept is None or kept.pid != os.getpid():
            # After a fork this closes only the child's copies of the sockets; nothing is said on the wire.
            self.close()
            kept = self._local.kept = _Kept()
        return kept

    def _connect(self, target: httpx.URL, timeout: Timeouts) -> socket.socket:
        """The name that TLS checks is the one in the URL, though the socket goes to a judged address."""
        deadline = Deadline(min(timeout.connect, timeout.total))
        host = target.raw_host.decode("ascii")
        connected = guard.connect(
            host,
            _port(target),
            deadline.left(),
            self.allowed_networks,
            only_allowed=guard.needs_allowed_network(target),
            resolver=self._resolver,
        )
        if target.scheme == "http":
            return connected
        try:
            connected.settimeout(deadline.left())
            return tls.context("http/1.1").wrap_socket(connected, server_hostname=host)
        except OSError as error:
            connected.close()
            raise NotConnected(f"{host}: {_tls_reason(error)}") from None


def classify_status(answer: HttpAnswer) -> ProviderError:
    """The default reading of an answer that is not an acceptance, where a provider's own words say no more.

    A 2xx that the adapter could not read is an unknown outcome: the message may well be on its way.
    """
    status = answer.status
    retry_after = None
    if 200 <= status < 300:
        outcome, text = Outcome.UNKNOWN, "accepted, but the answer makes no sense"
    elif 300 <= status < 400:
        outcome, text = Outcome.MISCONFIGURED, "answered with a redirect, which is not followed"
    elif status == 402:
        outcome, text = Outcome.OUT_OF_FUNDS, "asks for payment"
    elif status in (408, 429):
        outcome, text = Outcome.RATE_LIMITED, "asks to slow down"
        retry_after = retry_after_seconds(answer)
    elif status in (401, 403, 404, 405, 407, 410, 415):
        outcome, text = Outcome.MISCONFIGURED, "does not accept these settings"
    elif 400 <= status < 500:
        outcome, text = Outcome.REFUSED, "refused the message"
    else:
        outcome, text = Outcome.TEMPORARY, "has a fault of its own"
        retry_after = retry_after_seconds(answer)
    message = f"the provider {text} (HTTP {status})"
    return ProviderError(message, outcome, provider_status=str(status), retry_after=retry_after)


def retry_after_seconds(answer: HttpAnswer) -> float | None:
    """``Retry-After`` as seconds, at most an hour; None where it is absent, in the past or nonsense."""
    value = answer.headers.get("retry-after", "").strip()
    try:
        seconds = float(value)
    except ValueError:
        seconds = _seconds_until(value)
    if math.isnan(seconds) or seconds < 0:
        return None
    return min(seconds, MAX_RETRY_AFTER_SECONDS)


def header_error(name: str, value: str) -> str:
    """Why a header line of a tenant cannot be sent; empty if it can."""
    if not _HEADER_NAME.fullmatch(name):
        return "a header name is not valid"
    if name.lower() in RESERVED_HEADERS:
        return f"the header {name} is set by this service"
    if not _HEADER_VALUE.fullmatch(value):
        return f"the value of the header {name} holds a line break or a character outside ASCII"
    return ""


Place = tuple[str, str, int]  # scheme, host and port, on which alone depends whom the guard lets us reach


class _Kept:
    """The idle connections of one thread, one to a place, the longest unused first."""

    def __init__(self) -> None:
        self.pid = os.getpid()
        self._idle: dict[Place, _Connection] = {}

    def take(self, place: Place) -> _Connection | None:
        """None if there is none that could still be used."""
        found = self._idle.pop(place, None)
        self._let_go()
        if found is None or found.is_usable():
            return found
        found.close()
        return None

    def put_back(self, place: Place, connection: _Connection) -> None:
        """Keep it if its last answer was read to its end and more may follow; otherwise close it."""
        if connection.is_idle():
            self._idle[place] = connection
        else:
            connection.close()

    def close(self) -> None:
        for connection in self._idle.values():
            connection.close()
        self._idle.clear()

    def _let_go(self) -> None:
        """Of those that have been idle for too long or are too many."""
        for place, connection in list(self._idle.items()):
            if len(self._idle) < MAX_KEPT and not connection.is_stale():
                break
            self._idle.pop(place).close()


class _Connection:
    """One HTTP/1.1 connection. Every wait on its socket ends with the deadline of the call."""

    def __init__(self, connected: socket.socket) -> None:
        self._socket = connected
        self._http = h11.Connection(h11.CLIENT)
        self._idle_since = -math.inf

    def ask(self, request: h11.Request, body: bytes, deadline: Deadline, *, wants_body: bool) -> HttpAnswer:
        """Raises ``OSError``, :class:`h11.RemoteProtocolError` and :class:`NoAnswer`."""
        parts = (request, h11.Data(data=body), h11.EndOfMessage())
        try:
            self._write(b"".join(self._http.send(part) or b"" for part in parts), deadline)
        except TimeoutError:
            raise
        except OSError:
            pass  # whoever hangs up before all is said may have answered all the same
        response = self._next(deadline)
        while not isinstance(response, h11.Response):  # as in 100 Continue
            response = self._next(deadline)
        headers: dict[str, str] = {}
        for raw_name, raw_value in response.headers:
            name, value = raw_name.decode("latin-1"), raw_value.decode("latin-1")
            headers[name] = f"{headers[name]}, {value}" if name in headers else value
        content = b""
        if wants_body:
            try:
                content = self._read_body(headers, deadline)
            except (NoAnswer, OSError, h11.RemoteProtocolError):
                if response.status_code < 400:
                    raise
        return HttpAnswer(response.status_code, headers, content)

    def is_idle(self) -> bool:
        """Whether another request may follow; if so, it is ready for it."""
        is_over = self._http.our_state is h11.DONE and self._http.their_state is h11.DONE
        if not is_over or self._http.trailing_data[0]:
            return False
        self._http.start_next_cycle()
        self._idle_since = time.monotonic()
        return True

    def is_stale(self) -> bool:
        return time.monotonic() - self._idle_since > KEEP_SECONDS

    def is_usable(self) -> bool:
        """For an idle connection readable means closed by the server."""
        if self.is_stale() or self._socket.fileno() < 0:
            return False
        poller = select.poll()
        poller.register(self._socket, select.POLLIN)
        return not poller.poll(0)

    def close(self) -> None:
        self._socket.close()

    def _read_body(self, headers: Mapping[str, str], deadline: Deadline) -> bytes:
        if headers.get("content-encoding", "identity").strip().lower() not in ("", "identity"):
            raise NoAnswer("the answer is packed, though it was asked for unpacked")
        body = b""
        while isinstance(event := self._next(deadline), h11.Data):
            body += event.data
            if len(body) > MAX_BODY_BYTES:
                raise NoAnswer(f"the answer is larger than {MAX_BODY_BYTES // 1024} KiB")
        return body

    def _next(self, deadline: Deadline) -> object:
        while (event := self._http.next_event()) is h11.NEED_DATA:
            self._socket.settimeout(deadline.left())
            self._http.receive_data(self._socket.recv(READ_BYTES))
        return event

    def _write(self, data: bytes, deadline: Deadline) -> None:
        while data:
            self._socket.settimeout(deadline.left())
            data = data[self._socket.send(data) :]


def _tls_reason(error: OSError) -> str:
    if isinstance(error, TimeoutError):
        return "no TLS handshake in time"
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"its certificate is not trusted ({error.verify_message})"
    return "the TLS handshake failed"


def _encode(content: bytes | None, json: object, form: Form | None) -> tuple[bytes | None, str]:
    if json is not None:
        text = jsonlib.dumps(json, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        return text.encode(), "application/json"
    if form is not None:
        return urlencode(form, doseq=True).encode(), "application/x-www-form-urlencoded"
    return content, ""


def _headers(
    url: httpx.URL, given: Mapping[str, str], content_type: str, auth: tuple[str, str] | None
) -> list[tuple[str, str]]:
    """The host as written in the URL, then the caller's headers, then ours where the caller has none."""
    for name, value in given.items():
        problem = header_error(name, value)
        if problem:
            raise ProviderError(problem, Outcome.MISCONFIGURED)
    ours = {"Accept": "*/*", "Accept-Encoding": "identity", "User-Agent": "Watchword"}
    if content_type:
        ours["Content-Type"] = content_type
    if auth is not None:
        ours["Authorization"] = "Basic " + base64.b64encode(":".join(auth).encode()).decode()
    taken = {name.lower() for name in given}
    rest = [(name, value) for name, value in ours.items() if name.lower() not in taken]
    return [("Host", url.netloc.decode("ascii")), *given.items(), *rest]


def _port(url: httpx.URL) -> int:
    return url.port or (443 if url.scheme == "https" else 80)


def _refuse_constant(name: str) -> object:
    raise ValueError(f"{name} is not JSON")


def _seconds_until(http_date: str) -> float:
    try:
        moment = parsedate_to_datetime(http_date)
    except ValueError:
        return math.nan
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return (moment - datetime.now(UTC)).total_seconds()
