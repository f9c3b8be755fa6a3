"""A gateway on loopback that does as it is told, the bad manners of real ones included.

Each request takes the next behaviour of the script; when the script is empty, the answer is 200 with ``{}``.
The requests are recorded.
"""

from __future__ import annotations

import contextlib
import gzip
import json
import socket
import ssl
import struct
import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Request:
    """``headers`` has lower-case names; ``connection`` counts connections from 1."""

    method: str
    target: str
    headers: dict[str, str]
    body: bytes
    connection: int

    def json(self) -> Any:
        return json.loads(self.body)


# Speaks on the socket; True keeps the connection for a further request.
Behaviour = Callable[["FakeHttpServer", socket.socket], bool]


@dataclass
class FakeHttpServer:
    """Use as a context manager. With ``tls`` it speaks https. ``port`` 0 takes a free one; ``default`` is what it
    does where the script has ended.
    """

    tls: ssl.SSLContext | None = None
    requests: list[Request] = field(default_factory=list)
    connections: int = 0
    bytes_sent: int = 0
    port: int = 0
    default: Behaviour = field(default_factory=lambda: answer())

    def __enter__(self) -> FakeHttpServer:
        self.stopped = threading.Event()
        self._script: deque[Behaviour] = deque()
        self._open: list[socket.socket] = []
        self._asked = threading.local()
        self._listener = socket.create_server(("127.0.0.1", self.port))
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Refuse connections to the port from now on, and end those that were kept."""
        self.stopped.set()
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for connection in self._open:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
            connection.close()

    @property
    def asked(self) -> Request:
        """Return the request that a behaviour is to answer, whatever other connections ask meanwhile."""
        request: Request = self._asked.request
        return request

    @property
    def url(self) -> str:
        return f"{'https' if self.tls else 'http'}://127.0.0.1:{self.port}"

    def script(self, *behaviours: Behaviour) -> None:
        self._script.extend(behaviours)

    def _accept(self) -> None:
        while not self.stopped.is_set():
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            self.connections += 1
            threading.Thread(target=self._serve, args=(connection, self.connections), daemon=True).start()

    def _serve(self, connection: socket.socket, number: int) -> None:
        with contextlib.suppress(OSError, ValueError):
            if self.tls:
                connection = self.tls.wrap_socket(connection, server_side=True)
            self._open.append(connection)
            reader = connection.makefile("rb")
            keep = True
            while keep and not self.stopped.is_set():
                request = _read_request(reader, number)
                if request is None:
                    break
                self._asked.request = request
                self.requests.append(request)
                behaviour = self._script.popleft() if self._script else self.default
                keep = behaviour(self, connection)
            reader.close()
        connection.close()


def raw(data: bytes, *, keep: bool = False) -> Behaviour:
    """These bytes as they are, then the end of the connection unless ``keep``."""

    def behave(server: FakeHttpServer, connection: socket.socket) -> bool:
        connection.sendall(data)
        return keep

    return behave


def answer(status: int = 200, body: bytes | object = b"{}", headers: dict[str, str] | None = None) -> Behaviour:
    """A well-formed answer; anything but bytes is sent as JSON."""
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    lines = [f"HTTP/1.1 {status} Whatever", f"Content-Length: {len(content)}"]
    lines += [f"{name}: {value}" for name, value in (headers or {}).items()]
    return raw("\r\n".join([*lines, "", ""]).encode() + content, keep=True)


def huge_body(size: int = 100_000_000, status: int = 200, *, is_announced: bool = True) -> Behaviour:
    """Answer with as much as the other side will take; ``server.bytes_sent`` tells how much that was."""

    def behave(server: FakeHttpServer, connection: socket.socket) -> bool:
        length = f"Content-Length: {size}\r\n" if is_announced else "Connection: close\r\n"
        connection.sendall(f"HTTP/1.1 {status} OK\r\n{length}\r\n".encode())
        chunk = b"x" * 65536
        while server.bytes_sent < size:
            server.bytes_sent += connection.send(chunk)
        return False

    return behave


def drip(start: bytes, endless: bytes, pause: float = 0.02) -> Behaviour:
    """``start`` at once, then a byte now and then for ever: each resets an ordinary read time-out."""

    def behave(server: FakeHttpServer, connection: socket.socket) -> bool:
        connection.sendall(start)
        position = 0
        while not server.stopped.wait(pause):
            connection.sendall(endless[position % len(endless) :][:1])
            position += 1
        return False

    return behave


def drip_headers() -> Behaviour:
    return drip(b"HTTP/1.1 200 OK\r\n", b"x-a: b\r\n")


def drip_body(status: int = 200) -> Behaviour:
    return drip(f"HTTP/1.1 {status} OK\r\nContent-Length: 1000000\r\n\r\n".encode(), b"x")


def hang() -> Behaviour:
    """Not a byte."""

    def behave(server: FakeHttpServer, connection: socket.socket) -> bool:
        server.stopped.wait()
        return False

    return behave


def close_later(moment: threading.Event) -> Behaviour:
    """A good answer on a connection that stays open until ``moment``, as at the end of a keep-alive."""

    def behave(server: FakeHttpServer, connection: socket.socket) -> bool:
        answer()(server, connection)
        moment.wait()
        return False

    return behave


def hang_up() -> Behaviour:
    return raw(b"")


def reset(start: bytes = b"") -> Behaviour:
    """``start``, then a reset instead of an end."""

    def behave(server: FakeHttpServer, connection: socket.socket) -> bool:
        connection.sendall(start)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        return False

    return behave


def redirect(to: str) -> Behaviour:
    return answer(302, b"", {"Location": to})


def gzip_bomb() -> Behaviour:
    """Ten thousand bytes that would unpack to ten million, though no packing was asked for."""
    return answer(200, gzip.compress(b"0" * 10_000_000), {"Content-Encoding": "gzip"})


def _read_request(reader: Any, number: int) -> Request | None:
    line = reader.readline().decode("latin-1").split()
    if len(line) != 3:
        return None
    headers: dict[str, str] = {}
    while (header := reader.readline().decode("latin-1").strip()) != "":
        name, _, value = header.partition(":")
        headers[name.lower()] = value.strip()
    length = int(headers.get("content-length", "0"))
    body = reader.read(length)
    if len(body) < length:  # the other side died, or gave up, between the head and the body: no server acts on that
        return None
    return Request(line[0], line[1], headers, body, number)
