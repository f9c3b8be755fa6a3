"""A load driver in one thread: keep-alive HTTP/1.1 clients and the gateway that receives the codes, on one selector.

The gateway is in the same process, so one clock tells when a code was asked for and when it arrived. A client's
behaviour is a script, a generator. It yields a :class:`Request` and is sent the parsed answer, or yields a
:class:`CodeFor` and is sent the code once the gateway has it.
"""

from __future__ import annotations

import json
import selectors
import socket
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

LOOPBACK = "127.0.0.1"
READ_BYTES = 65_536
START_SECONDS = 60.0  # until the first script of a server that was just started is over
WARM_SECONDS = 5.0  # of many scripts, before a server's first window
WARM_CONNECTIONS = 32
DRAIN_SECONDS = 20.0  # how long what is under way at the end of a window may take
HEAD_END = b"\r\n\r\n"
ACCEPTED = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}"


@dataclass(frozen=True, slots=True)
class Request:
    """``name`` is what its times are kept under."""

    name: str
    data: bytes


@dataclass(frozen=True, slots=True)
class CodeFor:
    """Wait until the gateway has the code for this recipient."""

    to: str


Script = Generator[Request | CodeFor, Any, Any]


class Failed(Exception):
    """An answer that ends the script; counted by its text."""


@dataclass(frozen=True, slots=True)
class Arrival:
    """A message at the gateway. ``at`` is by ``time.perf_counter``, ``wall_at`` by the system's clock; seconds."""

    to: str
    code: str
    message_id: int
    at: float
    wall_at: float


@dataclass(slots=True)
class Window:
    """The scripts and requests that ended within one measured stretch of time. Times are in seconds."""

    seconds: float = 0.0
    scripts: int = 0
    errors: Counter[str] = field(default_factory=Counter)
    times: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    used: dict[str, float] = field(default_factory=dict)  # by the meter's names

    @property
    def rate(self) -> float:
        """Scripts finished in a second."""
        return self.scripts / self.seconds if self.seconds else 0.0

    def cost_ms(self, part: str) -> float:
        """Milliseconds of CPU of one part for each script; NaN where it cannot be read."""
        return self.used[part] / self.scripts * 1e3 if part in self.used and self.scripts else float("nan")


def post(name: str, path: str, body: dict[str, Any], *, port: int, key: str = "") -> Request:
    content = json.dumps(body, separators=(",", ":")).encode()
    head = (
        f"POST {path} HTTP/1.1\r\nHost: {LOOPBACK}:{port}\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(content)}\r\n" + (f"X-Api-Key: {key}\r\n" if key else "") + "\r\n"
    )
    return Request(name, head.encode() + content)


class Driver:
    """Owns the selector, the gateway and, during a run, the clients. Use as a context: leaving it closes all."""

    def __init__(self) -> None:
        self.selector = selectors.DefaultSelector()
        self.gateway = Gateway(self)
        self.window = Window()
        self.active = 0  # clients that have a script
        self._scripts: Iterator[Script] = iter(())

    def __enter__(self) -> Driver:
        return self

    def __exit__(self, *_: object) -> None:
        for key in list(self.selector.get_map().values()):
            key.fileobj.close()  # type: ignore[union-attr]
        self.selector.close()

    def run(
        self,
        scripts: Iterable[Script],
        *,
        port: int,
        connections: int,
        warmup: float = 0.0,
        seconds: float = float("inf"),
        meter: Callable[[], dict[str, float]] = dict,
    ) -> Window:
        """Run the scripts over so many connections, until they or ``seconds`` after the ``warmup`` are over.

        Only what ends between warm-up and end is in the window that is returned. ``meter`` is read at both its ends.
        """
        self._scripts = iter(scripts)
        self.window = Window()
        clients = [Client(self, port) for _ in range(connections)]
        self.active = connections
        try:
            for client in clients:
                client.take_script()
            self.poll_until(lambda: not self.active, seconds=warmup)
            window = self.window = Window()
            before, began_at = meter(), time.perf_counter()
            self.poll_until(lambda: not self.active, seconds=seconds)
            window.seconds = time.perf_counter() - began_at
            window.used = {name: value - before[name] for name, value in meter().items()}
            self._scripts = iter(())
            self.window = Window()  # what ends from now on is outside
            self.poll_until(lambda: not self.active, seconds=DRAIN_SECONDS)
            window.errors += self.window.errors
            if self.active:
                window.errors["not finished in time"] += self.active
            return window
        finally:
            for client in clients:
                client.close()
            self.gateway.forget_waiting()

    def warm_up(self, scripts: Iterator[Script], *, port: int) -> None:
        """Run one script alone, and then many at once."""
        self.run([next(scripts)], port=port, connections=1, seconds=START_SECONDS)
        self.run(scripts, port=port, connections=WARM_CONNECTIONS, seconds=WARM_SECONDS)

    def poll_until(self, is_over: Callable[[], bool], *, seconds: float) -> bool:
        """Serve whatever happens until then. Whether it was over before the time was."""
        deadline = time.perf_counter() + seconds
        while not is_over():
            left = deadline - time.perf_counter()
            if left <= 0:
                return False
            for key, _ in self.selector.select(min(left, 1.0)):
                key.data()
        return True

    def next_script(self) -> Script | None:
        return next(self._scripts, None)


class Client:
    """One connection that runs scripts one after the other until there are no more."""

    def __init__(self, driver: Driver, port: int) -> None:
        self._driver = driver
        self._port = port
        self._script: Script | None = None
        self._asked = Request("", b"")
        self._asked_at = 0.0
        self._open()

    def take_script(self) -> None:
        script = self._driver.next_script()
        if script is None:
            self._driver.active -= 1
        else:
            self.begin(script)

    def begin(self, script: Script) -> None:
        self._script = script
        self.advance(None)

    def advance(self, value: Any) -> None:
        """Go on with the script until it has to wait for an answer or a code."""
        assert self._script is not None
        window = self._driver.window
        try:
            step = self._script.send(value)
        except StopIteration:
            window.scripts += 1
            self.take_script()
            return
        except Failed as error:
            window.errors[str(error)] += 1
            self.take_script()
            return
        if isinstance(step, CodeFor):
            self._driver.gateway.await_code(step.to, self)
            return
        self._asked, self._asked_at = step, time.perf_counter()
        self._socket.sendall(step.data)  # far below the socket's buffer, which is empty: it never blocks

    def close(self) -> None:
        if self._socket.fileno() >= 0:
            self._driver.selector.unregister(self._socket)
            self._socket.close()

    def _open(self) -> None:
        self._buffer = b""
        self._socket = socket.create_connection((LOOPBACK, self._port), timeout=DRAIN_SECONDS)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._driver.selector.register(self._socket, selectors.EVENT_READ, self._read)

    def _read(self) -> None:
        try:
            data = self._socket.recv(READ_BYTES)
        except OSError:
            data = b""
        if not data:
            self._reconnect()
            return
        self._buffer += data
        message = take_message(self._buffer)
        if message is None:
            return
        head, body, self._buffer = message
        now = time.perf_counter()
        self._driver.window.times[self._asked.name].append(now - self._asked_at)
        status = int(head[9:12])
        if status != 200:
            self._driver.window.errors[f"{self._asked.name}: {status} {body[:200].decode(errors='replace')}"] += 1
            self.take_script()
            return
        self.advance(json.loads(body))

    def _reconnect(self) -> None:
        """The server hung up: the script is lost, the client goes on with the next."""
        self._driver.window.errors["the server closed a connection"] += 1
        self.close()
        self._open()
        self.take_script()


class Gateway:
    """The stub provider: accepts any message, keeps its code, and tells the client that waits for it."""

    def __init__(self, driver: Driver) -> None:
        self._driver = driver
        self._waiting: dict[str, Client] = {}
        self.on_arrival: Callable[[Arrival], None] = lambda arrival: None
        self.codes: dict[str, str] = {}  # by recipient, of those nobody has asked for yet
        self._listener = socket.create_server((LOOPBACK, 0), backlog=256)
        self.port: int = self._listener.getsockname()[1]
        driver.selector.register(self._listener, selectors.EVENT_READ, self._accept)

    def await_code(self, to: str, client: Client) -> None:
        code = self.codes.pop(to, None)
        if code is None:
            self._waiting[to] = client
        else:
            client.advance(code)

    def forget_waiting(self) -> None:
        self._waiting.clear()

    def _accept(self) -> None:
        connected, _ = self._listener.accept()
        connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        _GatewayConnection(self._driver, connected, self._receive)

    def _receive(self, body: bytes) -> None:
        message = json.loads(body)
        arrival = Arrival(message["to"], message["code"], int(message["message_id"]), time.perf_counter(), time.time())
        self.on_arrival(arrival)
        client = self._waiting.pop(arrival.to, None)
        if client is None:
            self.codes[arrival.to] = arrival.code
        else:
            client.advance(arrival.code)


class _GatewayConnection:
    """A worker's connection to the gateway: every request on it is a message."""

    def __init__(self, driver: Driver, connected: socket.socket, receive: Callable[[bytes], None]) -> None:
        self._driver = driver
        self._socket = connected
        self._receive = receive
        self._buffer = b""
        driver.selector.register(connected, selectors.EVENT_READ, self._read)

    def _read(self) -> None:
        try:
            data = self._socket.recv(READ_BYTES)
        except OSError:
            data = b""
        if not data:
            self._driver.selector.unregister(self._socket)
            self._socket.close()
            return
        self._buffer += data
        while (message := take_message(self._buffer)) is not None:
            _, body, self._buffer = message
            self._socket.sendall(ACCEPTED)
            self._receive(body)


def take_message(buffer: bytes) -> tuple[bytes, bytes, bytes] | None:
    """Head, body and the rest behind them, or None where the message is not complete yet.

    Only what the measured servers and clients write is understood: a body with its length in the head, or in chunks.
    """
    head, end, rest = buffer.partition(HEAD_END)
    if not end:
        return None
    fields = head.lower()
    _, name, value = fields.partition(b"\r\ncontent-length:")
    if name:
        length = int(value.partition(b"\r\n")[0])
        return (head, rest[:length], rest[length:]) if len(rest) >= length else None
    if b"\r\ntransfer-encoding: chunked" in fields:
        return _take_chunks(head, rest)
    raise RuntimeError(f"A message whose length is not told: {head!r}")


def _take_chunks(head: bytes, rest: bytes) -> tuple[bytes, bytes, bytes] | None:
    body = b""
    while True:
        size, end, rest = rest.partition(b"\r\n")
        if not end or len(rest) < int(size, 16) + 2:
            return None
        chunk, rest = rest[: int(size, 16)], rest[int(size, 16) + 2 :]
        if not chunk:
            return head, body, rest
        body += chunk


def percentile(values: Iterable[float], share: float) -> float:
    """The smallest of the values that is not below ``share`` of them; NaN of none."""
    ordered = sorted(values)
    if not ordered:
        return float("nan")
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))]


@contextmanager
def recorded(gateway: Gateway) -> Iterator[list[Arrival]]:
    """Every arrival meanwhile, in its order."""
    arrivals: list[Arrival] = []
    before, gateway.on_arrival = gateway.on_arrival, arrivals.append
    try:
        yield arrivals
    finally:
        gateway.on_arrival = before
