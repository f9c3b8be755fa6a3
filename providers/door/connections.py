"""HTTP/1.1 on connections that a thread keeps: writing a request, reading its answer, keeping the idle connection.

The parser is llhttp of Node.js, by way of httptools. It knows the protocol and no sockets. We ask it to be as patient
with old gateways as browsers are: lines that end in LF alone, folded headers, a length beside chunks. That is safe for
a client with one request under way. If anything follows an answer's end, we do not use the connection again.
"""

from __future__ import annotations

import math
import os
import re
import select
import socket
import time
from collections.abc import Sequence

import httptools

from providers.door.deadline import Deadline
from providers.errors import NoAnswer, ProviderError
from providers.outcomes import Outcome

MAX_HEAD_BYTES = 16 * 1024  # the longest head of an answer
MAX_BODY_BYTES = 64 * 1024  # the longest body: vendors' answers have a few KiB
MAX_ANSWER_BYTES = MAX_HEAD_BYTES + 8 * MAX_BODY_BYTES  # on the line, where a chunk of one byte takes six
KEEP_SECONDS = 4.0  # the longest idleness: most servers wait longer before they close an idle connection
MAX_KEPT = 16  # idle connections of one thread
READ_BYTES = 16 * 1024  # the most that one read takes from the socket

Origin = tuple[str, str, int]  # scheme, host and port: the guard's verdict depends on nothing else

_REQUEST_LINE = re.compile(r"[A-Z]+ [\x21-\x7e]+ HTTP/1\.1")


def compose(method: str, target: str, headers: Sequence[tuple[str, str]], body: bytes) -> bytes:
    """Write a request as it goes over the line.

    Raises :class:`ProviderError` for a method or target that would end its line early. The caller judges the headers.
    """
    line = f"{method} {target} HTTP/1.1"
    if not _REQUEST_LINE.fullmatch(line):
        raise ProviderError("the request cannot be sent like this", Outcome.MISCONFIGURED)
    head = [line, *(f"{name}: {value}" for name, value in headers), "", ""]
    return "\r\n".join(head).encode("ascii") + body


class IdleConnections:
    """The idle connections of one thread: one for each origin, the longest unused first."""

    def __init__(self) -> None:
        self.pid = os.getpid()
        self._idle: dict[Origin, Connection] = {}

    def take(self, origin: Origin) -> Connection | None:
        """Return a connection that can still be used; None if there is none."""
        found = self._idle.pop(origin, None)
        self._close_stale()
        if found is None or found.is_usable():
            return found
        found.close()
        return None

    def put_back(self, origin: Origin, connection: Connection) -> None:
        """Keep the connection if another request may follow on it; otherwise close it."""
        if connection.rest():
            self._idle[origin] = connection
        else:
            connection.close()

    def close(self) -> None:
        for connection in self._idle.values():
            connection.close()
        self._idle.clear()

    def _close_stale(self) -> None:
        """Close connections that have been idle for too long, and the oldest if there are too many."""
        for origin, connection in list(self._idle.items()):
            if len(self._idle) < MAX_KEPT and not connection.is_stale():
                break
            self._idle.pop(origin).close()


class Connection:
    """One connection. Every wait on its socket ends with the deadline of the call."""

    def __init__(self, connected: socket.socket) -> None:
        self._socket = connected
        self._answer = _Answer()
        self._idle_since = -math.inf

    def ask(self, request: bytes, deadline: Deadline, *, wants_body: bool) -> tuple[int, dict[str, str], bytes]:
        """Send a request, and return the answer's status, headers and body.

        Header names are in lower case; repeated headers are joined by a comma. An error status stands without its body
        if the body cannot be read. Raises ``OSError``, ``httptools.HttpParserError`` and :class:`NoAnswer`.
        """
        answer = self._answer
        answer.begin()
        try:
            self._write(request, deadline)
        except TimeoutError:
            raise
        except OSError:
            pass  # a server that hangs up before it has read everything may have answered all the same
        while not answer.has_head:
            self._read(deadline)
        if not wants_body:
            return answer.status, answer.headers, b""
        try:
            self._read_body(deadline)
        except (NoAnswer, OSError, httptools.HttpParserError):
            if answer.status < 400:
                raise
            return answer.status, answer.headers, b""
        return answer.status, answer.headers, bytes(answer.body)

    def rest(self) -> bool:
        """Start the time of idleness, and return whether another request may follow."""
        self._idle_since = time.monotonic()
        return self._answer.may_be_followed

    def is_stale(self) -> bool:
        return time.monotonic() - self._idle_since > KEEP_SECONDS

    def is_usable(self) -> bool:
        """Return whether the idle connection still stands: if it is readable, the server has closed it."""
        if self.is_stale() or self._socket.fileno() < 0:
            return False
        poller = select.poll()
        poller.register(self._socket, select.POLLIN)
        return not poller.poll(0)

    def close(self) -> None:
        self._socket.close()

    def _read_body(self, deadline: Deadline) -> None:
        answer = self._answer
        if answer.headers.get("content-encoding", "identity").strip().lower() not in ("", "identity"):
            raise NoAnswer("the answer is packed, though it was asked for unpacked")
        while not answer.is_over and len(answer.body) <= MAX_BODY_BYTES:
            self._read(deadline)
        if len(answer.body) > MAX_BODY_BYTES:
            raise NoAnswer(f"the answer is larger than {MAX_BODY_BYTES // 1024} KiB")

    def _read(self, deadline: Deadline) -> None:
        self._socket.settimeout(deadline.left())
        self._answer.feed(self._socket.recv(READ_BYTES))

    def _write(self, data: bytes, deadline: Deadline) -> None:
        while data:
            self._socket.settimeout(deadline.left())
            data = data[self._socket.send(data) :]


class _Answer:
    """The answer read since :meth:`begin`. The parser, which reads all answers of a connection, calls ``on_...``."""

    def __init__(self) -> None:
        self._parser = httptools.HttpResponseParser(self)
        self._parser.set_dangerous_leniencies(
            lenient_headers=True,
            lenient_chunked_length=True,
            lenient_optional_cr_before_lf=True,
            lenient_spaces_after_chunk_size=True,
        )
        self.begin()

    def begin(self) -> None:
        self.status = 0
        self.headers: dict[str, str] = {}
        self.body = bytearray()
        self.has_head = self.is_over = self.may_be_followed = False
        self._bytes = 0

    def feed(self, data: bytes) -> None:
        """Read on with what came over the line. Empty data is the end of the connection."""
        if not data:
            self._end()
            return
        self._bytes += len(data)
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade):
            if not self.is_over:
                raise httptools.HttpParserError("this is no answer") from None
            self.may_be_followed = False
        if not self.is_over and self._bytes > (MAX_ANSWER_BYTES if self.has_head else MAX_HEAD_BYTES):
            raise NoAnswer("the answer is too long outside its body")

    def _end(self) -> None:
        is_framed = "content-length" in self.headers or "transfer-encoding" in self.headers
        if is_framed or not self.has_head:
            raise NoAnswer("the answer broke off")
        self.is_over = True

    def on_message_begin(self) -> None:
        self.may_be_followed = False
        if not self.is_over:
            self.headers = {}

    def on_header(self, raw_name: bytes, raw_value: bytes) -> None:
        if not self.has_head:
            name, value = raw_name.decode("latin-1").lower(), raw_value.decode("latin-1")
            self.headers[name] = f"{self.headers[name]}, {value}" if name in self.headers else value

    def on_headers_complete(self) -> None:
        if not self.has_head:
            self.status = self._parser.get_status_code()
            self.has_head = self.status >= 200  # a lower status is provisional, as 100 Continue

    def on_body(self, data: bytes) -> None:
        if not self.is_over and len(self.body) <= MAX_BODY_BYTES:
            self.body += data

    def on_message_complete(self) -> None:
        if self.has_head and not self.is_over:
            self.is_over = True
            self.may_be_followed = self._parser.should_keep_alive()
