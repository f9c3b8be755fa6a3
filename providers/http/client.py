"""The one door out: every HTTP request of this service leaves here.

The door promises:

- The guard (:mod:`providers.http.ssrf`) judges the URL, and at each new connection every address behind its name.
- A call ends at its deadline, even if the other side sends a byte a second, in the headers or in the body.
- A body of more than 64 KiB is no answer, packed or unpacked, and we stop reading there.
- No redirects, no proxies from the environment, no cookies, nothing sent twice.
- Errors name the host at most: never a path, a query, a header or a body.

The client is urllib3, with the connections of :mod:`providers.http.connections`.

Nothing is sent twice, not even a GET, because many gateways send by GET. One case is left: the server closes a kept
connection in the very moment at which we write to it. Then there is no answer, and the outcome is unknown. Two things
keep that rare: we look if an idle connection was closed before we take it again, and we take none that was idle long.
"""

from __future__ import annotations

import json as jsonlib
import math
import os
import re
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import partial
from typing import Any
from urllib.parse import urlencode

from django.utils.translation import gettext as _
from urllib3 import BaseHTTPResponse, HTTPConnectionPool, Timeout, make_headers
from urllib3.exceptions import HTTPError
from urllib3.util import Url

from providers.errors import UNLISTED, NoAnswer, Outcome, ProviderError
from providers.http import ssrf
from providers.http.connections import Pools
from providers.http.deadline import seconds_left, within

MAX_BODY_BYTES = 64 * 1024  # the longest body: vendors' answers have a few KiB
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
_METHOD = re.compile(r"[A-Z]+")
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


class HttpClient:
    """The door. Threads can share it. For ``allowed_networks`` (CIDRs) the operator has lifted the guard."""

    def __init__(self, allowed_networks: Sequence[str] = (), *, resolver: ssrf.Resolver | None = None) -> None:
        self.allowed_networks = tuple(allowed_networks)
        self._guard = partial(ssrf.connect, allowed_networks=self.allowed_networks, resolver=resolver)
        self._held: tuple[int, Pools] | None = None  # the process whose connections these are, and they

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
        target = ssrf.read_url(url, self.allowed_networks)
        if not _METHOD.fullmatch(method):
            raise ProviderError("the request cannot be sent like this", Outcome.MISCONFIGURED)
        body, content_type = _encode(content, json, form)
        sent = _headers(headers or {}, content_type, auth)
        with within(timeout.total):
            try:
                response = self._pool(target).urlopen(
                    method,
                    target.request_uri,
                    body=body,
                    headers=sent,
                    redirect=False,
                    timeout=Timeout(connect=timeout.connect, read=None),
                    preload_content=False,
                )
                answered = _read_body(response, wants_body=wants_body)
            except HTTPError:
                raise NoAnswer(f"{target.host}: {_why_no_answer()}") from None
        received = {name.lower(): value for name, value in response.headers.itermerged()}
        return HttpAnswer(response.status, received, answered)

    def touch(self, url: str, *, timeout: Timeouts = DEFAULT) -> None:
        """Connect, for https with the TLS handshake, and hang up without asking anything.

        Raises the same errors as :meth:`request`.
        """
        pool = self._pool(ssrf.read_url(url, self.allowed_networks))
        connection = pool.ConnectionCls(host=pool.host, port=pool.port, timeout=timeout.connect, **pool.conn_kw)
        try:
            connection.connect()
        finally:
            connection.close()

    def close(self) -> None:
        """Close the idle connections. The door stays usable."""
        self._held = None

    def _pool(self, target: Url) -> HTTPConnectionPool:
        held = self._held
        if held is None or held[0] != os.getpid():
            # After a fork this closes only the child's copies of the sockets; nothing is said on the wire.
            self._held = held = os.getpid(), Pools(self._guard)
        return held[1].connection_from_host(target.host, target.port, target.scheme)


def classify_status(answer: HttpAnswer) -> ProviderError:
    """Judge an answer that is no acceptance by its HTTP status, if the provider's own words say no more.

    A 2xx that the adapter could not read is unclear: the message may well be on its way. The status of a gateway that
    lost the vendor's answer is an unknown outcome. Other statuses from 500 on come from a server that says it failed.
    Of the statuses from 400 on, few say that the fault is ours. Vendors answer the others for single recipients too,
    403 and 404 among them: an adapter whose vendor does not lists them.
    """
    status = answer.status
    retry_after = None
    if 200 <= status < 300:
        outcome, text = Outcome.UNCLEAR, "accepted, but its answer is invalid"
    elif 300 <= status < 400:
        outcome, text = Outcome.MISCONFIGURED, "answered with a redirect, which Watchword does not follow"
    elif status == 402:
        outcome, text = Outcome.OUT_OF_FUNDS, "wants payment"
    elif status in (408, 429):
        outcome, text = Outcome.RATE_LIMITED, "limits the sending rate"
        retry_after = retry_after_seconds(answer)
    elif status in (401, 405, 407, 415):
        outcome, text = Outcome.MISCONFIGURED, "rejects these settings"
    elif 400 <= status < 500:
        outcome, text = UNLISTED[0], "has nothing at this URL" if status == 404 else "rejected the message"
    elif status in GATEWAY_STATUSES:
        outcome, text = Outcome.UNKNOWN, "did not answer its own gateway"
    else:
        outcome, text = Outcome.TEMPORARY, "has a server error"
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
        return _("the header {name} is set automatically").format(name=name)
    if not _HEADER_VALUE.fullmatch(value):
        return _("the value of the header {name} contains a line break or a non-ASCII character").format(name=name)
    return ""


def _read_body(response: BaseHTTPResponse, *, wants_body: bool) -> bytes:
    """Return the body; empty if it is not wanted, or cannot be read and the status says that the request failed."""
    try:
        with nullcontext() if wants_body else within(0):  # what has come already: then the connection can be kept
            body = response.read(MAX_BODY_BYTES + 1)
        if len(body) > MAX_BODY_BYTES:
            raise NoAnswer(f"the answer is larger than {MAX_BODY_BYTES // 1024} KiB")
    except (HTTPError, NoAnswer):
        if wants_body and response.status < 400:
            raise
        return b""
    finally:
        response.close()  # and the connection, unless the answer was read to its end
    return body if wants_body else b""


def _why_no_answer() -> str:
    try:
        seconds_left()
    except TimeoutError:
        return "no complete answer in time"
    return "the connection broke or the answer is not HTTP"


def _encode(content: bytes | None, json: object, form: Form | None) -> tuple[bytes | None, str]:
    if json is not None:
        text = jsonlib.dumps(json, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        return text.encode(), "application/json"
    if form is not None:
        return urlencode(form, doseq=True).encode(), "application/x-www-form-urlencoded"
    return content, ""


def _headers(given: Mapping[str, str], content_type: str, auth: tuple[str, str] | None) -> dict[str, str]:
    """Return the caller's headers, then ours that the caller did not give."""
    for name, value in given.items():
        problem = header_error(name, value)
        if problem:
            raise ProviderError(problem, Outcome.MISCONFIGURED)
    ours = {"Accept": "*/*", "Accept-Encoding": "identity", "User-Agent": "Watchword"}
    if content_type:
        ours["Content-Type"] = content_type
    if auth is not None:
        ours |= make_headers(basic_auth=":".join(auth), basic_auth_encoding="utf-8")
    taken = {name.lower() for name in given}
    return {**given, **{name: value for name, value in ours.items() if name.lower() not in taken}}


def _refuse_constant(name: str) -> object:
    raise ValueError(f"{name} is not JSON")


def _seconds_until(http_date: str) -> float:
    try:
        moment = parsedate_to_datetime(http_date)
    except (ValueError, OverflowError):  # the latter for a day of eleven digits
        return math.nan
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return (moment - datetime.now(UTC)).total_seconds()
