"""The web server's entry: takes each request in whole before a thread works on it.

A thread has a database connection and there are few of them. If a thread read the body itself, a handful of clients
that send theirs a byte a minute would hold every one. So the event loop collects the body, within limits of size and
time. Only then does it hand the request to Django, which runs in the threads as under any WSGI server.
"""

from __future__ import annotations

import asyncio
import contextlib
import io
import json
import sys
from collections.abc import Callable, Iterable
from typing import Any

from django.conf import settings

from config.wsgi import application as wsgi_application
from verification.api import probes
from verification.api.edge import longest_body
from verification.outside import WebThreads

SWITCH_SECONDS = 0.0005  # The most that a busy thread keeps the GIL. Python's 5 ms would delay every waiting request.

UNREADABLE_HEADER = "\N{REPLACEMENT CHARACTER}".encode().decode("latin-1")  # for a value beyond ASCII
SERVER = ("server", "web")  # granian would else name itself and its version
LIVE_HEADERS = [("content-type", "application/json"), ("cache-control", "no-store")]
LIVE_ANSWER = json.dumps(probes.OK).encode()

# Bodies longer than the panel's forms that a process holds at once: only providers send them, and each takes a few MB.
# Others wait for their turn as far as their time allows. One that has to give up is sent again by its provider.
LONG_BODIES = 4
long_bodies = asyncio.Semaphore(LONG_BODIES)

Environ = dict[str, Any]
Headers = list[tuple[str, str]]


class LateBody(io.RawIOBase):
    """A body that did not arrive in time. Django makes an ``UnreadablePostError`` of what reading it raises."""

    def read(self, size: int = -1, /) -> bytes:
        raise TimeoutError("The body did not arrive in time.")


class Server:
    """The application as granian calls it over RSGI."""

    def __init__(self, application: Callable[..., Iterable[bytes]], *, threads: int) -> None:
        self.application = application
        self.pool = WebThreads(threads)

    async def __rsgi__(self, scope: Any, protocol: Any) -> None:
        if scope.path == probes.LIVE:  # here, as it would wait behind slow requests for one of the threads
            protocol.response_bytes(200, [*LIVE_HEADERS, SERVER], LIVE_ANSWER)
            return
        async with contextlib.AsyncExitStack() as place:
            body = await read_body(scope, protocol, place)
            await asyncio.get_running_loop().run_in_executor(self.pool, self.answer, scope, protocol, body)

    def answer(self, scope: Any, protocol: Any, body: io.RawIOBase | io.BytesIO) -> None:
        status, headers = 500, []

        def start_response(line: str, fields: Headers, exc_info: object = None) -> None:
            nonlocal status, headers
            status, headers = int(line[:3]), fields

        chunks = self.application(to_environ(scope, body), start_response)
        try:
            content = b"".join(chunks)
        finally:
            if hasattr(chunks, "close"):
                chunks.close()
        protocol.response_bytes(status, [*headers, SERVER], content)


async def read_body(scope: Any, protocol: Any, place: contextlib.AsyncExitStack) -> io.RawIOBase | io.BytesIO:
    """Return the body, or one byte more than is allowed of it. ``place`` is held until the request is answered.

    A body that is announced as longer is not read at all: whoever looks at the length refuses it.
    """
    most = longest_body(scope.path)
    length = scope.headers.get("content-length", "0")
    is_chunked = "transfer-encoding" in scope.headers
    if not is_chunked and (not length.isdecimal() or not 0 < int(length) <= most):
        return io.BytesIO()
    body = bytearray()
    usual = settings.DATA_UPLOAD_MAX_MEMORY_SIZE
    try:
        async with asyncio.timeout(settings.WEB_BODY_SECONDS):
            async for chunk in protocol:
                if len(body) <= usual < len(body) + len(chunk) and most > usual:
                    await place.enter_async_context(long_bodies)
                body += chunk
                if len(body) > most:
                    break
    except (TimeoutError, RuntimeError):  # the latter is granian's, for a client that hung up
        return LateBody()
    return io.BytesIO(bytes(body[: most + 1]))


def to_environ(scope: Any, body: io.RawIOBase | io.BytesIO) -> Environ:
    """The request as PEP 3333 wants it."""
    client, _, port = scope.client.rpartition(":")
    server, _, server_port = scope.server.rpartition(":")
    environ: Environ = {
        "REQUEST_METHOD": scope.method,
        "SCRIPT_NAME": "",
        "PATH_INFO": scope.path.encode().decode("latin-1"),
        "QUERY_STRING": scope.query_string,
        "SERVER_PROTOCOL": f"HTTP/{scope.http_version}",
        "SERVER_NAME": server,
        "SERVER_PORT": server_port,
        "REMOTE_ADDR": client.strip("[]"),
        "REMOTE_PORT": port,
        "wsgi.version": (1, 0),
        "wsgi.url_scheme": scope.scheme,
        "wsgi.input": body,
        "wsgi.errors": sys.stderr,
        "wsgi.multithread": True,
        "wsgi.multiprocess": True,
        "wsgi.run_once": False,
    }
    headers = scope.headers.items()
    # Granian leaves out a value with bytes beyond ASCII: it is there, and wrong, and not the same as none.
    unread = set(scope.headers.keys()) - {name for name, _ in headers}
    for name, value in [*headers, *((name, UNREADABLE_HEADER) for name in unread)]:
        if "_" in name:  # else it would read like one with a hyphen, which a proxy in front has set or taken away
            continue
        key = name.upper().replace("-", "_")
        if key not in ("CONTENT_TYPE", "CONTENT_LENGTH"):
            key = f"HTTP_{key}"
        if key in environ:
            value = f"{environ[key]}{'; ' if key == 'HTTP_COOKIE' else ','}{value}"
        environ[key] = value
    return environ


sys.setswitchinterval(SWITCH_SECONDS)
application = Server(wsgi_application, threads=settings.WEB_THREADS)
