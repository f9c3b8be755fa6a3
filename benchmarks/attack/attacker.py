"""One attacker, in a process of its own: requests at a fixed rate whatever the answers, hundreds at once, or bodies
that never end.

    python -m benchmarks.attack.attacker KIND PORT KEY RATE SECONDS

For the attacks with servers that hang KEY is the file that ``tenants`` wrote. Prints the answers' statuses and their
number as one JSON object.
"""

from __future__ import annotations

import itertools
import json
import secrets
import socket
import sys
import time
from collections import Counter, deque
from collections.abc import Iterator
from selectors import EVENT_READ, DefaultSelector
from typing import cast

from benchmarks.attack import tenants
from benchmarks.common.driver import LOOPBACK, READ_BYTES, Request, take_message
from benchmarks.common.scripts import Target, recipients

ADDRESS = "81.2.69.142"  # a public one, which the service is told of by its trusted proxy
CONNECTIONS = 16
PANEL_CONNECTIONS = 64  # more than the web processes have threads
SLOW_SOCKETS = 500
PARALLEL_CREATES = 300  # for one recipient; each on a connection of its own
BURST_SECONDS = 1.0  # from one burst of them to the next, at least
WRONG_KEYS, PREFIX, SLOW = "wrong keys", "creates over a prefix", "slow bodies"
ONE_RECIPIENT = "parallel creates for one recipient"
BOTS, PANEL = "bots whose messenger hangs", "checks and test events that hang"
HANGING = (BOTS, PANEL)
CLOSED = "closed"  # the answer of a server that hung up
KINDS = (WRONG_KEYS, PREFIX, ONE_RECIPIENT, SLOW, *HANGING)
# Requests a second at most: what is measured is who waits, not what a flood of updates or of the panel's pages costs.
MOST = {BOTS: 50.0, PANEL: 2.0}


def main(kind: str, port: int, key: str, rate: float, seconds: float) -> None:
    if kind == SLOW:
        answers = hold_slowly(port, key, seconds)
    elif kind == ONE_RECIPIENT:
        answers = burst(port, key, seconds)
    else:
        connections = PANEL_CONNECTIONS if kind == PANEL else CONNECTIONS
        rate = min(rate, MOST.get(kind, rate))
        answers = ask(requests(kind, port, key), port, rate, seconds, connections=connections)
    print(json.dumps(answers))


def requests(kind: str, port: int, key: str) -> Iterator[bytes]:
    for number in itertools.count():
        if kind == BOTS:
            yield tenants.update_of_bots(key, number, port)
        elif kind == PANEL:
            yield tenants.use_of_the_panel(key, number, port)
        elif kind == WRONG_KEYS:
            yield as_attacker(Target("attacked", port, secrets.token_hex(21)).create("+4915112345678"))
        else:
            yield as_attacker(Target("attacked", port, key).create(f"+4915112{number % 1_000_000:06d}"))


def as_attacker(request: Request) -> bytes:
    return request.data.replace(b"\r\n\r\n", f"\r\nX-Forwarded-For: {ADDRESS}\r\n\r\n".encode(), 1)


def ask(
    data: Iterator[bytes], port: int, rate: float, seconds: float, *, connections: int = CONNECTIONS
) -> Counter[str]:
    """A request whenever one is due and a connection is free. What found none free in time is counted as ``late``."""
    answers: Counter[str] = Counter()
    selector = DefaultSelector()
    free: deque[socket.socket] = deque()
    buffers: dict[socket.socket, bytes] = {}

    def connect() -> None:
        connection = socket.create_connection((LOOPBACK, port))
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        selector.register(connection, EVENT_READ)
        free.append(connection)

    for _ in range(connections):
        connect()
    began_at = time.perf_counter()
    due = 0
    while (now := time.perf_counter() - began_at) < seconds:
        while due <= now * rate:
            due += 1
            if free:
                connection = free.popleft()
                buffers[connection] = b""
                connection.sendall(next(data))
            else:
                answers["late"] += 1
        for ready, _ in selector.select(max(0.0, due / rate - now)):
            connection = cast(socket.socket, ready.fileobj)
            received = connection.recv(READ_BYTES)
            if not received:  # idle connections are closed after a while, which is no answer
                if connection in free:
                    free.remove(connection)
                else:
                    answers[CLOSED] += 1
                selector.unregister(connection)
                connection.close()
                connect()
                continue
            buffers[connection] += received
            message = take_message(buffers[connection])
            if message is not None:
                answers[message[0][9:12].decode()] += 1
                free.append(connection)
    return answers


def burst(port: int, key: str, seconds: float) -> Counter[str]:
    """Creates for one recipient, all sent before any answer is read; once all are answered, for another recipient."""
    answers: Counter[str] = Counter()
    connections = [socket.create_connection((LOOPBACK, port)) for _ in range(PARALLEL_CREATES)]
    deadline = time.perf_counter() + seconds
    for to in recipients():
        began_at = time.perf_counter()
        if began_at >= deadline:
            break
        data = as_attacker(Target("attacked", port, key).create(to))
        for connection in connections:
            connection.sendall(data)
        for number, connection in enumerate(connections):
            status = read_status(connection)
            answers[status] += 1
            if status == CLOSED:
                connections[number] = socket.create_connection((LOOPBACK, port))
        time.sleep(max(0.0, began_at + BURST_SECONDS - time.perf_counter()))
    return answers


def read_status(connection: socket.socket) -> str:
    buffer = b""
    while (message := take_message(buffer)) is None:
        data = connection.recv(READ_BYTES)
        if not data:
            return CLOSED
        buffer += data
    return message[0][9:12].decode()


def hold_slowly(port: int, key: str, seconds: float) -> Counter[str]:
    """Requests with a good key whose last byte never comes; those that are given up are begun again."""
    answers: Counter[str] = Counter()
    selector = DefaultSelector()
    data = as_attacker(Target("attacked", port, key).create("+4915112345678"))[:-1]

    def begin() -> None:
        connection = socket.create_connection((LOOPBACK, port))
        connection.sendall(data)
        selector.register(connection, EVENT_READ)

    for _ in range(SLOW_SOCKETS):
        begin()
    deadline = time.perf_counter() + seconds
    while time.perf_counter() < deadline:
        for ready, _ in selector.select(0.2):
            connection = cast(socket.socket, ready.fileobj)
            answers[connection.recv(READ_BYTES)[9:12].decode() or CLOSED] += 1
            selector.unregister(connection)
            connection.close()
            begin()
    answers["held"] = SLOW_SOCKETS
    return answers


if __name__ == "__main__":
    name, *numbers = sys.argv[1:]
    main(name, int(numbers[0]), numbers[1], float(numbers[2]), float(numbers[3]))
