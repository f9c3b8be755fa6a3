"""The one door out: every HTTP request of this service leaves here.

What it promises:

- The guard (:mod:`providers.guard`) judges the URL, and at each new connection every address behind its name.
- A call ends at its deadline, even where the other side sends a byte a second, in the headers or in the body.
- An answer of more than 64 KiB is not read on. Answers are asked for unpacked, and packed ones are not
  unpacked.
- No redirects, no proxies from the environment, no cookies, nothing sent twice.
- Errors name the host at most: never a path, a query, a header or a body.

It stands on httpcore's pool rather than on ``httpx.Client``, whose cookie jar would be shared by all tenants
that use the same provider, and which logs whole URLs. Each thread has a pool of its own, because a shared one
collapses under many threads; after a fork the child begins anew.

Nothing is sent twice, not even a GET, since many gateways send by GET. That leaves the kept connection which
the server closes in the very moment we write to it: no answer, an unknown outcome. Two things keep that rare:
the pool looks whether an idle connection has been closed before it takes it, and it keeps none for longer
than ``KEEP_SECONDS``, which is less than the usual servers wait before they close one.
"""

from __future__ import annotations

import base64
import contextlib
import json as jsonlib
import math
import os
import re
import select
import socket
import ssl
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.parse import urlencode

import httpcore
import httpx

from providers import guard, tls
from providers.base import Outcome
from providers.deadline import Deadline
from providers.errors import NoAnswer, NotConnected, ProviderError

MAX_BODY_BYTES = 64 * 1024
MAX_RETRY_AFTER_SECONDS = 3600.0
KEEP_SECONDS = 4.0

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
        line = self._line()
        line.begin(timeout, only_allowed=guard.needs_allowed_network(target))
        try:
            with line.pool.stream(method, _core_url(target), headers=sent, content=body) as response:
                return _read(response, wants_body)
        except httpcore.LocalProtocolError:
            raise ProviderError("the request cannot be sent like this", Outcome.MISCONFIGURED) from None
        except httpcore.TimeoutException:
            raise NoAnswer(f"{target.host}: no complete answer in time") from None
        except (httpcore.NetworkError, httpcore.ProtocolError):
            raise NoAnswer(f"{target.host}: the connection broke or the answer is not HTTP") from None

    def touch(self, url: str, *, timeout: Timeouts = DEFAULT) -> None:
        """Connect, for https with the TLS handshake, and hang up: nothing is asked. Raises as
        :meth:`request`.
        """
        target = guard.read_url(url, self.allowed_networks)
        line = _Line(self.allowed_networks, self._resolver)
        line.begin(timeout, only_allowed=guard.needs_allowed_network(target))
        host = target.raw_host.decode("ascii")
        stream: httpcore.NetworkStream = line.connect_tcp(host, _port(target))
        try:
            if target.scheme == "https":
                stream = stream.start_tls(tls.context("http/1.1"), host)
        finally:
            stream.close()

    def close(self) -> None:
        """Close the connections that the calling thread keeps. The door stays usable."""
        line: _Line | None = self._local.__dict__.pop("line", None)
        if line is not None:
            line.pool.close()

    def _line(self) -> _Line:
        line: _Line | None = getattr(self._local, "line", None)
        if line is None or line.pid != os.getpid():
            # After a fork this closes only the child's copies of the sockets; nothing is said on the wire.
            self.close()
            line = self._local.line = _Line(self.allowed_networks, self._resolver)
        return line


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


class _Line(httpcore.NetworkBackend):
    """What one thread keeps: its pool, and the deadline of the call it is making."""

    def __init__(self, allowed_networks: Sequence[str], resolver: guard.Resolver | None) -> None:
        self.pid = os.getpid()
        self._allowed_networks = allowed_networks
        self._resolver = resolver
        self.pool = httpcore.ConnectionPool(
            ssl_context=tls.context("http/1.1"),
            max_connections=16,
            max_keepalive_connections=16,
            keepalive_expiry=KEEP_SECONDS,
            network_backend=self,
        )

    def begin(self, timeout: Timeouts, *, only_allowed: bool) -> None:
        self.total = Deadline(timeout.total)
        self.connecting = Deadline(min(timeout.connect, timeout.total))
        self.only_allowed = only_allowed

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> _Stream:
        connected = guard.connect(
            host,
            port,
            self.connecting.left(),
            self._allowed_networks,
            only_allowed=self.only_allowed,
            resolver=self._resolver,
        )
        return _Stream(connected, self)


class _Stream(httpcore.NetworkStream):
    """A socket whose every wait ends with the line's deadline. The per-operation time-outs of httpcore are
    unused.
    """

    def __init__(self, connected: socket.socket, line: _Line) -> None:
        self._socket = connected
        self._line = line

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        with _as(httpcore.ReadTimeout, httpcore.ReadError):
            self._socket.settimeout(self._line.total.left())
            return self._socket.recv(max_bytes)

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        with _as(httpcore.WriteTimeout, httpcore.WriteError):
            while buffer:
                self._socket.settimeout(self._line.total.left())
                buffer = buffer[self._socket.send(buffer) :]

    def close(self) -> None:
        self._socket.close()

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> _Stream:
        """The name that is checked is the one in the URL, though the socket went to a judged address."""
        try:
            self._socket.settimeout(self._line.connecting.left())
            return _Stream(ssl_context.wrap_socket(self._socket, server_hostname=server_hostname), self._line)
        except OSError as error:
            self._socket.close()
            raise NotConnected(f"{server_hostname}: {_tls_reason(error)}") from None

    def get_extra_info(self, info: str) -> Any:
        return self._is_readable() if info == "is_readable" else None

    def _is_readable(self) -> bool:
        """For an idle connection readable means closed by the server; httpcore asks before it takes one
        again.
        """
        if self._socket.fileno() < 0:
            return True
        poller = select.poll()
        poller.register(self._socket, select.POLLIN)
        return bool(poller.poll(0))


@contextlib.contextmanager
def _as(late: type[Exception], broken: type[Exception]) -> Iterator[None]:
    try:
        yield
    except TimeoutError:
        raise late from None
    except OSError:
        raise broken from None


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


def _core_url(url: httpx.URL) -> httpcore.URL:
    return httpcore.URL(scheme=url.raw_scheme, host=url.raw_host, port=_port(url), target=url.raw_path)


def _read(response: httpcore.Response, wants_body: bool) -> HttpAnswer:
    headers: dict[str, str] = {}
    for raw_name, raw_value in response.headers:
        name, value = raw_name.decode("latin-1").lower(), raw_value.decode("latin-1")
        headers[name] = f"{headers[name]}, {value}" if name in headers else value
    body = b""
    if wants_body:
        try:
            body = _read_body(response, headers)
        except (NoAnswer, httpcore.TimeoutException, httpcore.NetworkError, httpcore.ProtocolError):
            if response.status < 400:
                raise
    return HttpAnswer(response.status, headers, body)


def _read_body(response: httpcore.Response, headers: Mapping[str, str]) -> bytes:
    if headers.get("content-encoding", "identity").strip().lower() not in ("", "identity"):
        raise NoAnswer("the answer is packed, though it was asked for unpacked")
    body = b""
    for chunk in response.iter_stream():
        body += chunk
        if len(body) > MAX_BODY_BYTES:
            raise NoAnswer(f"the answer is larger than {MAX_BODY_BYTES // 1024} KiB")
    return body


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
