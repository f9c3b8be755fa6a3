"""A provider that takes a while to answer, or fails as it is told, in a process of its own.

/send       accepts after the latency that the command line names, in seconds
/500 …      fails at once, in the manner of that name; /hang never answers
/count      how many messages /send was given so far
/arrivals   which, as [id, seconds since 1970], from the position in the query
"""

from __future__ import annotations

import asyncio
import http.client
import json
import subprocess
import sys
import time
from typing import Any

from benchmarks.common.driver import LOOPBACK, take_message
from benchmarks.common.service import ROOT

LATENCY = 0.2  # seconds that the provider takes

FAULTS = {
    "500": b"HTTP/1.1 500 Fault\r\nContent-Length: 0\r\n\r\n",
    "429": b"HTTP/1.1 429 Slow down\r\nRetry-After: 60\r\nContent-Length: 0\r\n\r\n",
    "garbage": b"\x15\x03\x01\x00\x02\x02\x46 this is not HTTP\r\n\r\n",
}

arrivals: list[tuple[int, float]] = []


class Connection(asyncio.Protocol):
    """Requests come one after the other, as a worker's thread sends them."""

    latency = 0.0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        self.buffer = b""

    def data_received(self, data: bytes) -> None:
        self.buffer += data
        if self.buffer.startswith(b"GET "):
            head, end, rest = self.buffer.partition(b"\r\n\r\n")
            if end:
                self.buffer = rest
                self.tell(head.split()[1].decode())
            return
        message = take_message(self.buffer)
        if message is not None:
            head, body, self.buffer = message
            self.answer(head.split()[1].decode()[1:], body)

    def answer(self, manner: str, body: bytes) -> None:
        if manner == "send":
            arrivals.append((int(json.loads(body)["message_id"]), time.time()))
            asyncio.get_running_loop().call_later(self.latency, self.say, {})
        elif manner in FAULTS:
            self.transport.write(FAULTS[manner])
            if manner == "garbage":
                self.transport.close()

    def tell(self, target: str) -> None:
        path, _, start = target.partition("?")
        self.say(len(arrivals) if path == "/count" else arrivals[int(start or 0) :])

    def say(self, value: object) -> None:
        body = json.dumps(value).encode()
        head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(body)
        self.transport.write(head + body)


async def serve(latency: float) -> None:
    Connection.latency = latency
    server = await asyncio.get_running_loop().create_server(Connection, LOOPBACK, 0, backlog=512)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


class Gateway:
    """The stub of this module in a process of its own. Use as a context. ``latency`` is in seconds."""

    def __init__(self, latency: float = LATENCY) -> None:
        self.latency = latency

    def __enter__(self) -> Gateway:
        command = [sys.executable, "-m", "benchmarks.delivery.gateway", str(self.latency)]
        self.process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        self.port = int(self.process.stdout.readline())
        self.connection = http.client.HTTPConnection(LOOPBACK, self.port, timeout=30)
        return self

    def __exit__(self, *_: object) -> None:
        self.connection.close()
        self.process.terminate()
        self.process.wait()

    def count(self) -> int:
        return int(self._ask("/count"))

    def arrivals(self, since: int) -> list[tuple[int, float]]:
        """Ids and moments, without the first so many."""
        return [(message_id, at) for message_id, at in self._ask(f"/arrivals?{since}")]

    def _ask(self, path: str) -> Any:
        self.connection.request("GET", path)
        return json.loads(self.connection.getresponse().read())


if __name__ == "__main__":
    asyncio.run(serve(float(sys.argv[1])))
