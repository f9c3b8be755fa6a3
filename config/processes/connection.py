"""One client's connection: HTTP/1.1, each request taken in whole before a thread works on it.

A thread has a database connection and there are few of them. If a thread read the body itself, a handful of clients
that send theirs a byte a minute would hold every one. So the event loop collects head and body, within limits of size
and time, and writes the answer. A slow client holds a socket and nothing else.

The parser is llhttp of Node.js, by way of httptools, with none of its leniencies: it refuses whatever a proxy in front
could read in another way than we do. Requests of one connection are answered one by one, in their order.
"""

from __future__ import annotations

import asyncio
import math
from collections import deque
from typing import Protocol, cast

import httptools

from config.processes.request import MAX_HEAD_BYTES, Request

MAX_WAITING = 32  # requests that a client may send ahead of their answers; more is no use to an honest one
HEAD_SECONDS = 10.0  # for a client's headers, its pause between two requests included
WRITE_SECONDS = 30.0  # for a client to take in what the socket's buffers do not hold of an answer
LINGER_SECONDS = 2.0  # for hearing out a client after its last answer; hanging up at once may destroy that on its way
LAST_SECONDS = 1.0  # for a request that is on its way while we stop: a proxy sends it before it hears that we hang up
NEVER = math.inf

CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"


class Host(Protocol):
    """The web process that a connection belongs to."""

    body_seconds: float  # for a whole body, once its headers are there
    usual_body: int  # bytes; a longer body needs a place, of which there are few

    def longest_body(self, target: bytes) -> int:
        """Return how many bytes of a body are read: of a longer one a byte more, or none where that is announced."""

    def take_place(self, connection: Connection) -> bool:
        """Take a place for a long body, or wait in line for ``connection.have_place``."""

    def leave_place(self, connection: Connection) -> None:
        """Give a place, or a place in line, to the next."""

    def opened(self, connection: Connection) -> None: ...

    def closed(self, connection: Connection) -> None: ...

    def start(self, connection: Connection, request: Request) -> None:
        """Have the request answered; ``connection.answer`` is called in the event loop."""


class Connection(asyncio.Protocol):
    def __init__(self, host: Host, loop: asyncio.AbstractEventLoop) -> None:
        self.host = host
        self.loop = loop
        self.transport: asyncio.Transport | None = None
        self.peer: tuple[str, int] | None = None  # address and port of a client that came by TCP
        self.deadline = NEVER  # by the loop's clock; who has not moved by then is given up
        self._parser = httptools.HttpRequestParser(self)
        self._request: Request | None = None  # the one that arrives now
        self._is_in_head = True
        self._loose_bytes = 0  # received since the last that is kept as a head or a body
        self._wish: Request | None = None  # one that asks for another protocol, until it is read again without that
        self._waiting: deque[Request] = deque()
        self._in_work: Request | None = None
        self._is_deaf = False  # whether nothing more is read, as the last request is known
        self._has_ended = False  # whether the client sends nothing more
        self._is_paused = False  # whether the socket is not read
        self._is_long = False  # whether it has a place for a long body, or waits for one
        self._is_in_line = False  # whether it waits for one
        self._is_blocked = False  # whether the client takes in its answers too slowly
        self._is_stopping = False

    # --- the socket ------------------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)
        peer = transport.get_extra_info("peername")
        if isinstance(peer, tuple):
            self.peer = peer[0], peer[1]  # IPv6 tells more
        self.deadline = self.loop.time() + HEAD_SECONDS
        self.host.opened(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self.transport = None
        if self._in_work is None or len(self._in_work.body) <= self.host.usual_body:  # else a thread still has the body
            self._leave_place()
        self.host.closed(self)

    def data_received(self, data: bytes) -> None:
        if self._is_deaf:
            return
        self._loose_bytes += len(data)
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade as upgrade:
            self._ignore_upgrade(data[upgrade.args[0] :])
        except httptools.HttpParserInvalidMethodError:  # a word that HTTP does not know, so nobody serves it
            self._refuse("method_not_allowed")
        except httptools.HttpParserError:
            self._refuse("parse_error")
        if self._loose_bytes > MAX_HEAD_BYTES:
            self._refuse("parse_error")

    def _ignore_upgrade(self, rest: bytes) -> None:
        """Read a request again without its wish for a protocol that we do not speak.

        The parser takes its body for that protocol. Some clients wish for HTTP/2 with every request, Java's among them.
        """
        wish, self._wish = self._wish, None
        if wish is None:  # a CONNECT: what follows is for the server that it names
            self._end_with_last()
            return
        fields = [(name, value) for name, value in wish.headers if name not in (b"connection", b"upgrade")]
        fields.append((b"connection", b"close"))
        head = b"".join(b"%b: %b\r\n" % each for each in fields)
        self._parser = httptools.HttpRequestParser(self)
        self.data_received(b"%b %b HTTP/1.1\r\n%b\r\n%b" % (wish.method, wish.target, head, rest))

    def eof_received(self) -> bool:
        """Keep the connection of a client that has sent all and waits for its answer."""
        self._has_ended = True
        self._end_with_last()
        return self._in_work is not None or bool(self._waiting)

    def pause_writing(self) -> None:
        self._is_blocked = True
        self.deadline = self.loop.time() + WRITE_SECONDS

    def resume_writing(self) -> None:
        self._is_blocked = False
        self._go_on()

    # --- the parser, which calls these ----------------------------------------------------------------------------

    def on_message_begin(self) -> None:
        self._request = Request()
        self._is_in_head = True

    def on_url(self, target: bytes) -> None:
        if self._request is not None:
            self._request.target += target

    def on_header(self, name: bytes, value: bytes) -> None:
        request = self._request
        if request is None or not self._is_in_head:  # a trailer, which a chunked body may end with: nobody reads it
            return
        request.add_header(name.lower(), value)

    def on_headers_complete(self) -> None:
        request = self._request
        if request is None:
            return
        version = self._parser.get_http_version()
        request.check_head(version)
        self._is_in_head = False
        self._loose_bytes = 0
        request.method = self._parser.get_method()
        if self._parser.should_upgrade() and request.method != b"CONNECT":
            self._wish, self._request = request, None
            return
        request.is_last = version == "1.0" or not self._parser.should_keep_alive()
        request.most = self.host.longest_body(request.target)
        if request.length is not None and request.length > request.most:
            self._take_last(request)
        elif request.length or request.is_chunked:
            request.body = bytearray()
            if self._in_work is None:
                self.deadline = self.loop.time() + self.host.body_seconds
                self._ask_for_body(request)

    def on_body(self, chunk: bytes) -> None:
        request = self._request
        self._loose_bytes = 0
        if request is None:
            return
        assert isinstance(request.body, bytearray)
        request.body += chunk
        if len(request.body) > request.most:
            del request.body[request.most + 1 :]
            self._take_last(request)
        elif len(request.body) > self.host.usual_body and not self._is_long:
            self._is_long = True
            if not self.host.take_place(self):
                self._is_in_line = True
                self._pause()

    def on_message_complete(self) -> None:
        if self._request is not None:
            self._take(self._request)

    # --- one request after the other --------------------------------------------------------------------------------

    def _take(self, request: Request) -> None:
        self._request = None
        self._is_in_head = True
        if self._in_work is None and not self._is_blocked:
            self._start(request)
            return
        if len(self._waiting) >= MAX_WAITING:
            self.abort()
            return
        self._waiting.append(request)
        self._pause()

    def _take_last(self, request: Request) -> None:
        """Take a request after which nothing more is read: where the next one would begin cannot be told."""
        request.is_last = self._is_deaf = True
        self._take(request)

    def _refuse(self, fault: str) -> None:
        if not self._is_deaf:
            self._take_last(Request(fault=fault))

    def _end_with_last(self) -> None:
        """End the connection with the answer to the last request that came whole."""
        self._is_deaf = True
        last = self._waiting[-1] if self._waiting else self._in_work
        if last is not None:
            last.is_last = True

    def _start(self, request: Request) -> None:
        self._in_work = request
        self.deadline = NEVER
        if self._is_stopping:
            request.is_last = True
        self.host.start(self, request)

    def answer(self, data: bytes) -> None:
        """Write the answer to the request in work, and go on with the next."""
        request, self._in_work = self._in_work, None
        if request is not None and len(request.body) > self.host.usual_body:
            self._leave_place()
        if self.transport is None or self.transport.is_closing() or request is None:
            return
        self.deadline = self.loop.time() + HEAD_SECONDS  # not later: writing may set another
        self.transport.write(data)
        if request.is_last:
            self._hang_up()
        else:
            self._go_on()

    def _ask_for_body(self, request: Request) -> None:
        if request.is_awaiting and not request.body and self.transport is not None:
            request.is_awaiting = False  # once is enough
            self.transport.write(CONTINUE)

    def _go_on(self) -> None:
        """Start the next request that is here whole, or wait for one."""
        if self.transport is None or self._is_blocked or self._in_work is not None:
            return
        if self._waiting:
            self._start(self._waiting.popleft())
            return
        self._listen()
        if self._is_stopping:
            self.stop()
        elif not self._is_deaf:
            self.deadline = self.loop.time() + (HEAD_SECONDS if self._is_in_head else self.host.body_seconds)
            if self._request is not None and not self._is_in_head:
                self._ask_for_body(self._request)

    def have_place(self) -> None:
        """Read on a long body, for which there is a place now."""
        self._is_in_line = False
        self._listen()

    def _leave_place(self) -> None:
        if self._is_long:
            self._is_long = self._is_in_line = False
            self.host.leave_place(self)

    def _pause(self) -> None:
        if not self._is_paused and self.transport is not None:
            self._is_paused = True
            self.transport.pause_reading()

    def _listen(self) -> None:
        if self._is_paused and not self._is_in_line and self.transport is not None:
            self._is_paused = False
            self.transport.resume_reading()

    def _hang_up(self) -> None:
        """Close; but first hear out for a moment a client that may still be sending."""
        self._waiting.clear()
        if self.transport is None:
            return
        if not self._is_deaf or self._has_ended:
            self.transport.close()
            return
        self.deadline = self.loop.time() + LINGER_SECONDS
        self._listen()
        self.transport.write_eof()

    # --- its end ------------------------------------------------------------------------------------------------------

    def expire(self) -> None:
        """Give up a client whose time is over. Of a body that did not come in time its sender is told."""
        request = self._request
        if request is None or self._is_in_head or self._is_deaf or self._is_blocked:
            self.abort()
            return
        request.is_whole = False
        self._take_last(request)

    def abort(self) -> None:
        self._is_deaf = True
        if self.transport is not None:
            self.transport.abort()

    def stop(self) -> None:
        """End once what is in work, or has come in part, is answered. Who is about to ask has a moment for it."""
        self._is_stopping = True
        if self._in_work is None and not self._waiting and self._request is None:
            self.deadline = min(self.deadline, self.loop.time() + LAST_SECONDS)
        elif self._in_work is not None and not self._waiting:
            self._in_work.is_last = True
