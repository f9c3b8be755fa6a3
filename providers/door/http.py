"""The one door out: every HTTP request of this service leaves here.

The door promises:

- The guard (:mod:`providers.door.outbound`) judges the URL, and at each new connection every address behind its name.
- A call ends at its deadline, even if the other side sends a byte a second, in the headers or in the body.
- We stop reading an answer at 64 KiB. We ask for answers unpacked, and do not unpack packed ones.
- No redirects, no proxies from the environment, no cookies, nothing sent twice.
- Errors name the host at most: never a path, a query, a header or a body.

``httpx.Client`` would share its cookie jar among all tenants that use the same provider, and it logs whole URLs. The
bookkeeping of httpcore's pool costs four times what the request does. A thread makes one request at a time. So it keeps
one connection for each origin (:mod:`providers.door.connections`) and shares none. After a fork the child begins anew.

Nothing is sent twice, not even a GET, because many gateways send by GET. One case is left: the server closes a kept
connection in the very moment at which we write to it. Then there is no answer, and the outcome is unknown. Two things
keep that rare: we look if an idle connection was closed before we take it again, and we keep none for long.
"""

from __future__ import annotations

import base64
import json as jsonlib
import math
import os
import re
import socket
import ssl
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.parse import urlencode

import httptools
import httpx
from django.utils.translation import gettext as _

from providers.door import outbound, tls
from providers.door.connections import Connection, IdleConnections, compose
from providers.door.deadline import Deadline
from providers.errors import NoAnswer, NotConnected, ProviderError
from providers.outcomes import Outcome

# The statuses of a server in front of the vendor's own, which may have handed the request on and lost the answer: a bad
# gateway, a gateway's timeout, and Cloudflare's for an empty answer, a silent connection and a timeout.
GATEWAY_STATUSES = (502, 504, 520, 522, 524)
MAX_RETRY_AFTER_SECONDS = 3600.0  # the longest pause that a vendor can ask for; we try again after an hour

Form = Mapping[str, object] | Sequence[tuple[str, object]]

# Headers that only we set: a tenant's header line must not change where the request ends or whom it reaches.
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
    """The time limits of a call, in seconds. ``connect`` covers name, connection and TLS; ``total`` the whole call."""

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
        """Return the body, read as strict JSON in UTF-8. Raises ``ValueError`` for anything else."""
        try:
            return jsonlib.loads(self.body.decode("utf-8"), parse_constant=_refuse_constant)
        except RecursionError:
            raise ValueError("nested too deeply") from None


class HttpDoor:
    """The door. Threads can share it. For ``allowed_networks`` (CIDRs) the operator has lifted the guard."""

    def __init__(self, allowed_networks: Sequence[str] = (), *, resolver: outbound.Resolver | None = None) -> None:
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

        Give at most one of ``content``, ``json`` and ``form``. ``auth`` is for HTTP Basic. Without ``wants_body`` the
        call waits for status and headers only. An error status stands on its own: its body is empty if it is too large
        or cannot be read.

        Raises :class:`NotConnected`, :class:`NoAnswer`, :class:`AddressBlocked`, and a plain
        :class:`ProviderError` for a header that cannot be sent.
        """
        target = outbound.read_url(url, self.allowed_networks)
        body, content_type = _encode(content, json, form)
        sent = _headers(target, headers or {}, content_type, auth)
        if body is not None:
            sent.append(("Content-Length", str(len(body))))
        request = compose(method, target.raw_path.decode("ascii"), sent, body or b"")
        deadline = Deadline(timeout.total)
        kept = self._connections()
        origin = (target.scheme, target.host, _port(target))
        connection = kept.take(origin) or Connection(self._connect(target, timeout))
        try:
            return HttpAnswer(*connection.ask(request, deadline, wants_body=wants_body and method != "HEAD"))
        except TimeoutError:
            raise NoAnswer(f"{target.host}: no complete answer in time") from None
        except (OSError, httptools.HttpParserError):
            raise NoAnswer(f"{target.host}: the connection broke or the answer is not HTTP") from None
        finally:
            kept.put_back(origin, connection)

    def touch(self, url: str, *, timeout: Timeouts = DEFAULT) -> None:
        """Connect, for https with the TLS handshake, and hang up without asking anything.

        Raises the same errors as :meth:`request`.
        """
        self._connect(outbound.read_url(url, self.allowed_networks), timeout).close()

    def close(self) -> None:
        """Close the connections that the calling thread keeps. The door stays usable."""
        kept: IdleConnections | None = self._local.__dict__.pop("kept", None)
        if kept is not None:
            kept.close()

    def _connections(self) -> IdleConnections:
        kept: IdleConnections | None = getattr(self._local, "kept", None)
        if kept is None or kept.pid != os.getpid():
            # After a fork this closes only the child's copies of the sockets; nothing is said on the wire.
            self.close()
            kept = self._local.kept = IdleConnections()
        return kept

    def _connect(self, target: httpx.URL, timeout: Timeouts) -> socket.socket:
        """Connect to a judged address. TLS still checks the name in the URL."""
        deadline = Deadline(min(timeout.connect, timeout.total))
        host = target.raw_host.decode("ascii")
        try:
            seconds = deadline.left()
        except TimeoutError:
            raise NotConnected(f"{host}: there was no time left to connect") from None
        connected = outbound.connect(
            host,
            _port(target),
            seconds,
            self.allowed_networks,
            only_allowed=outbound.needs_allowed_network(target),
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
    """Judge an answer that is no acceptance by its HTTP status, if the provider's own words say no more.

    A 2xx that the adapter could not read is an unknown outcome: the message may well be on its way. So is the status of
    a gateway that lost the vendor's answer. Other statuses from 500 on come from a server that says it failed.
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
        outcome, text = Outcome.DECLINED, "refused the message"  # the status does not say whose fault that is
    elif status in GATEWAY_STATUSES:
        outcome, text = Outcome.UNKNOWN, "gave no answer to the server in front of it"
    else:
        outcome, text = Outcome.TEMPORARY, "has a fault of its own"
        retry_after = retry_after_seconds(answer)
    message = f"the provider {text} (HTTP {status})"
    return ProviderError(message, outcome, provider_status=str(status), retry_after=retry_after)


def retry_after_seconds(answer: HttpAnswer, *, most: float = MAX_RETRY_AFTER_SECONDS) -> float | None:
    """Return ``Retry-After`` in seconds, at most ``most``; None if it is absent, in the past or nonsense."""
    value = answer.headers.get("retry-after", "").strip()
    try:
        seconds = float(value)
    except ValueError:
        seconds = _seconds_until(value)
    if math.isnan(seconds) or seconds < 0:
        return None
    return min(seconds, most)


def header_error(name: str, value: str) -> str:
    """Return why a tenant's header line cannot be sent; empty if it can."""
    if not _HEADER_NAME.fullmatch(name):
        return _("a header name is not valid")
    if name.lower() in RESERVED_HEADERS:
        return _("the header {name} is set by this service").format(name=name)
    if not _HEADER_VALUE.fullmatch(value):
        return _("the value of the header {name} holds a line break or a character outside ASCII").format(name=name)
    return ""


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
    """Return the host as written in the URL, then the caller's headers, then ours that the caller did not give."""
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
