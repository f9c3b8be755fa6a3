"""The connections of urllib3, with some changes: the guard opens them, a deadline bounds them, an answer ends them.

urllib3's own time-outs begin anew with every byte. Our sockets look at the caller's :func:`within` before each wait, so
that a call ends in time whatever trickles. They stop reading after ``MAX_ANSWER_BYTES``. A connection on which anything
follows the end of an answer is not used again: no later request may take that for its answer. Of the interim answers
before it (RFC 9110, 15.2) Python's own reader passes over 100 alone; ours passes over all.
"""

from __future__ import annotations

import http.client
import io
import logging
import math
import socket
import ssl
import time
from contextlib import suppress
from typing import Any, Protocol

from urllib3 import HTTPConnectionPool, HTTPSConnectionPool, PoolManager
from urllib3.connection import HTTPConnection, HTTPSConnection

from providers.errors import NoAnswer, NotConnected
from providers.http import tls
from providers.http.deadline import seconds_left, within
from providers.http.ssrf import needs_allowed_network

MAX_ANSWER_BYTES = 512 * 1024  # of an answer on the line: 64 KiB of body, in chunks of one byte, take six times as much
KEEP_SECONDS = 4.0  # the longest idleness: most servers wait longer before they close an idle connection
MAX_ORIGINS = 16  # servers to which a process keeps connections; the longest unused goes first
MAX_KEPT = 128  # idle connections to one server: more than a worker has threads

logging.getLogger("urllib3").setLevel(logging.CRITICAL + 1)  # its lines hold URLs, with keys in them


class Guard(Protocol):
    """Connects to a host and port within so many seconds, or raises :class:`providers.errors.ProviderError`."""

    def __call__(self, host: str, port: int, timeout: float, *, only_allowed: bool) -> socket.socket: ...


class DeadlineSocket(socket.socket):
    """A socket on which every wait ends with the caller's :func:`within`."""

    received = 0  # bytes of this answer
    is_spoilt = False  # something followed the last answer
    quiet_since = -math.inf

    def recv_into(self, *arguments: Any) -> int:
        self.settimeout(seconds_left())
        count = super().recv_into(*arguments)
        self.received += count
        if self.received > MAX_ANSWER_BYTES:
            raise NoAnswer("the answer is too long")
        return count

    def send(self, *arguments: Any) -> int:
        self.settimeout(seconds_left())
        return super().send(*arguments)

    def sendall(self, *arguments: Any) -> None:
        self.settimeout(seconds_left())  # for all of it; TLS sends by ``send``
        super().sendall(*arguments)

    def makefile(self, *_: object, **__: object) -> Any:
        """Return a reader of one answer."""
        self.received = 0
        return _Reader(self, super().makefile("rb", buffering=0))


class TlsDeadlineSocket(DeadlineSocket, ssl.SSLSocket):
    """The same with TLS."""


class _Reader(io.BufferedReader):
    """A reader of one answer. At its end it looks whether more came than the answer."""

    def __init__(self, connected: DeadlineSocket, raw: socket.SocketIO) -> None:
        super().__init__(raw)
        self._connected = connected

    def close(self) -> None:
        if not self.closed:
            self._connected.quiet_since = time.monotonic()
            with suppress(OSError), within(0):  # no time to wait for more: only what is here already
                self._connected.is_spoilt = bool(self.peek(1))
        super().close()


class FinalAnswer(http.client.HTTPResponse):
    """An answer after all that are only interim (1xx). We ask for no other protocol, so 101 is one of them."""

    def begin(self) -> None:
        super().begin()
        while self.status < 200:
            self.headers = None  # type: ignore[assignment]  # else it counts as begun
            super().begin()


class GuardedConnection(HTTPConnection):
    """A connection that the guard opens."""

    scheme = "http"
    response_class = FinalAnswer
    sock: DeadlineSocket | None

    def __init__(self, *arguments: Any, guard: Guard, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._guard = guard

    @property
    def is_connected(self) -> bool:
        """Return whether another request may follow: if the idle socket is readable, the server has closed it."""
        found = self.sock
        if found is None or found.is_spoilt or time.monotonic() - found.quiet_since > KEEP_SECONDS:
            return False
        return super().is_connected

    def connect(self) -> None:
        """Connect, for https with TLS, within ``timeout`` seconds. Raises :class:`NotConnected`: nothing was sent."""
        with within(float(self.timeout or 0)):
            try:
                super().connect()
            except OSError as error:
                raise NotConnected(f"{self.host}: {_tls_reason(error)}") from None

    def _new_conn(self) -> DeadlineSocket:
        try:
            seconds = seconds_left()
        except TimeoutError:
            raise NotConnected(f"{self.host}: there was no time left to connect") from None
        only_allowed = needs_allowed_network(self.scheme, self.port)
        connected = self._guard(self.host, self.port, seconds, only_allowed=only_allowed)
        made = DeadlineSocket(connected.family, connected.type, connected.proto, fileno=connected.detach())
        made.settimeout(seconds_left())  # for the whole TLS handshake
        return made


class GuardedTlsConnection(GuardedConnection, HTTPSConnection):
    scheme = "https"


class _Pool(HTTPConnectionPool):
    ConnectionCls = GuardedConnection


class _TlsPool(HTTPSConnectionPool):
    ConnectionCls = GuardedTlsConnection


class Pools(PoolManager):
    """The pools of a process. They try nothing twice, and threads can share them."""

    def __init__(self, guard: Guard) -> None:
        context = tls.context("http/1.1", TlsDeadlineSocket)
        super().__init__(MAX_ORIGINS, maxsize=MAX_KEPT, retries=False, ssl_context=context)
        self.pool_classes_by_scheme = {"http": _Pool, "https": _TlsPool}
        self._guard = guard

    def _new_pool(
        self, scheme: str, host: str, port: int, request_context: dict[str, Any] | None = None
    ) -> HTTPConnectionPool:
        context = {**(request_context or self.connection_pool_kw), "guard": self._guard}
        return super()._new_pool(scheme, host, port, context)


def _tls_reason(error: OSError) -> str:
    if isinstance(error, TimeoutError):
        return "no TLS handshake in time"
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"its certificate is not trusted ({error.verify_message})"
    return "the TLS handshake failed"
