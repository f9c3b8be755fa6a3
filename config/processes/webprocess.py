"""One web process: its event loop takes requests in whole and writes the answers, its threads work on them."""

from __future__ import annotations

import asyncio
import io
import json
import logging
import os
import resource
import signal
import socket
import sys
import time
from collections import Counter, deque
from collections.abc import Callable, Hashable, Iterable
from email.utils import formatdate
from http import HTTPStatus
from typing import Any
from urllib.parse import unquote_to_bytes, urlsplit

import uvloop
from django.conf import settings

from config.processes.connection import Connection
from config.processes.request import Request
from config.processes.sharing import caller_of, turn_of
from verification import request_ids
from verification.api import probes
from verification.api.exceptions import problem_response
from verification.api.wsgi import longest_body
from verification.errors import Refusal
from verification.outside import WebThreads

log = logging.getLogger(__name__)

SWITCH_SECONDS = 0.0005  # The most that a busy thread keeps the GIL. Python's 5 ms would delay every waiting request.
CONNECTIONS = 8192  # that a process holds at once. One that is idle or slow costs little more than its socket.
KEPT_FILES = 128  # descriptors that connections leave for the database, the cache, calls to others and what is loaded
MAX_IN_WORK = 1024  # requests that are in a thread or wait for one; the next are told to come back
MAX_OF_CALLER = MAX_IN_WORK // 2  # of those, the requests of one project, so that its flood leaves room for others
LOOK_SECONDS = 0.25  # between two looks for clients whose time is over, and for a wish to stop
STOP_SECONDS = 7.0  # for the requests in work after SIGTERM; less than the server waits before it kills

USUAL_BODY = 32 * 1024  # bytes that each connection may hold: twice what the API takes, and most forms of the panel
# Longer bodies that a process holds at once, of up to 3 MB each: providers' reports, and a few forms of the panel.
# Others wait for their turn as far as their time allows. One that has to give up is sent again by its provider.
LONG_BODIES = 16

SERVER = b"server: web\r\n"  # names no product
NO_CONTENT = frozenset({204, 304})  # statuses whose answers have no body
PROBE = probes.LIVE.encode()

Environ = dict[str, Any]
Headers = list[tuple[str, str]]
Application = Callable[[Environ, Callable[..., Any]], Iterable[bytes]]
_REASONS = {status.value: status.phrase for status in HTTPStatus}


class LateBody(io.RawIOBase):
    """A body that did not arrive in time. Django makes an ``UnreadablePostError`` of what reading it raises."""

    def read(self, size: int = -1, /) -> bytes:
        raise TimeoutError("The body did not arrive in time.")


class WebProcess:
    """Serves a WSGI application on a listening socket."""

    def __init__(self, application: Application) -> None:
        self.application = application
        self.threads = WebThreads(settings.WEB_THREADS)
        self.body_seconds: float = settings.WEB_BODY_SECONDS
        self.usual_body = USUAL_BODY
        self._places = LONG_BODIES
        self._line: deque[Connection] = deque()  # connections that wait for a place for a long body
        self._connections: set[Connection] = set()
        self._opening: set[asyncio.Task[None]] = set()
        self._in_work = 0  # requests in a thread or in line for one
        self._in_work_of: Counter[Hashable] = Counter()  # by caller
        self._is_accepting = False
        self._is_stopping = False

    def run(self, listener: socket.socket, *, parent: int) -> None:
        """Serve until SIGTERM, or until the process ``parent``, which started this one, is gone."""
        sys.setswitchinterval(SWITCH_SECONDS)
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            for number in (signal.SIGTERM, signal.SIGINT):
                runner.get_loop().add_signal_handler(number, self.stop)
            runner.run(self.serve(listener, parent=parent))

    def stop(self) -> None:
        """Have :meth:`serve` end, once what is in work is answered. Called in the event loop."""
        self._is_stopping = True

    async def serve(self, listener: socket.socket, *, parent: int) -> None:
        self.loop = asyncio.get_running_loop()
        self._listener = listener
        self._server = server_variables(listener)
        self._accept_more()
        while not self._is_stopping and os.getppid() == parent:
            self._look()
            await asyncio.sleep(LOOK_SECONDS)
        self._is_stopping = True
        self._accept_no_more()
        while self._accept():  # all who wait, as the kernel would reset them with the listening socket
            pass
        self._listener.close()
        for connection in list(self._connections):
            connection.stop()
        give_up_at = self.loop.time() + STOP_SECONDS
        while (self._connections or self._opening) and self.loop.time() < give_up_at:
            await asyncio.sleep(LOOK_SECONDS / 5)
            self._look()

    # --- connections --------------------------------------------------------------------------------------------

    def _accept_more(self) -> None:
        if not self._is_accepting and not self._is_stopping:
            self._is_accepting = True
            self.loop.add_reader(self._listener.fileno(), self._accept)

    def _accept_no_more(self) -> None:
        if self._is_accepting:
            self._is_accepting = False
            self.loop.remove_reader(self._listener.fileno())

    def _accept(self) -> bool:
        """Take one connection, so that the processes that listen beside this one have theirs. False if none waits."""
        try:
            accepted, _ = self._listener.accept()
        except (BlockingIOError, InterruptedError, ConnectionAbortedError):
            return False
        except OSError as error:  # too many open files, of us or of the machine: wait until some are closed
            log.error("No connection can be accepted: %s.", os.strerror(error.errno or 0))
            self._accept_no_more()
            self.loop.call_later(LOOK_SECONDS, self._accept_more)
            return False
        accepted.setblocking(False)
        if accepted.family != socket.AF_UNIX:
            accepted.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        opening = self.loop.create_task(self._open(accepted))
        self._opening.add(opening)
        opening.add_done_callback(self._opening.discard)
        opening.add_done_callback(_note_failure)
        return True

    async def _open(self, accepted: socket.socket) -> None:
        await self.loop.connect_accepted_socket(lambda: Connection(self, self.loop), accepted)

    def opened(self, connection: Connection) -> None:
        self._connections.add(connection)
        if self._is_stopping:
            connection.stop()
        if len(self._connections) >= most_connections(resource.getrlimit(resource.RLIMIT_NOFILE)[0]):
            self._accept_no_more()

    def closed(self, connection: Connection) -> None:
        self._connections.discard(connection)
        self._accept_more()

    def _look(self) -> None:
        now = self.loop.time()
        for connection in [each for each in self._connections if each.deadline <= now]:
            connection.expire()

    # --- long bodies ----------------------------------------------------------------------------------------------

    def longest_body(self, target: bytes) -> int:
        return longest_body(target.decode("latin-1"))

    def take_place(self, connection: Connection) -> bool:
        if self._places:
            self._places -= 1
            return True
        self._line.append(connection)
        return False

    def leave_place(self, connection: Connection) -> None:
        if connection in self._line:
            self._line.remove(connection)
        elif self._line:
            self._line.popleft().have_place()
        else:
            self._places += 1

    # --- requests -------------------------------------------------------------------------------------------------

    def start(self, connection: Connection, request: Request) -> None:
        if request.target == PROBE:  # here, as it would wait behind slow requests for one of the threads
            connection.answer(render(request, 200, LIVE_HEADERS, LIVE_ANSWER))
            return
        caller = caller_of(request)
        if self._in_work >= MAX_IN_WORK or self._in_work_of[caller] >= MAX_OF_CALLER:
            connection.answer(render_problem(request, "service_unavailable"))
            return
        self._in_work += 1
        self._in_work_of[caller] += 1
        self.threads.start(caller, self._work, connection, request, caller, turn=turn_of(request))

    def _finish(self, connection: Connection, caller: Hashable, data: bytes) -> None:
        self._in_work -= 1
        self._in_work_of[caller] -= 1
        if not self._in_work_of[caller]:
            del self._in_work_of[caller]
        connection.answer(data)

    def _work(self, connection: Connection, request: Request, caller: Hashable) -> None:
        """Answer a request; runs in a thread."""
        data = b""
        try:
            if connection.transport is not None:  # else the client broke off while it waited, and nobody would hear
                data = self._answer(connection, request)
        except Exception:
            log.exception("A request was not answered.")
            data = render_problem(request, "internal_error")
        self.loop.call_soon_threadsafe(self._finish, connection, caller, data)

    def _answer(self, connection: Connection, request: Request) -> bytes:
        environ = None if request.fault else to_environ(request, self._server, connection.peer)
        if environ is None:
            request.is_last = True
            return render_problem(request, request.fault or "parse_error")
        status, headers = 500, []

        def start_response(line: str, fields: Headers, exc_info: object = None) -> None:
            nonlocal status, headers
            status, headers = int(line[:3]), fields

        chunks = self.application(environ, start_response)
        try:
            content = b"".join(chunks)
        finally:
            if hasattr(chunks, "close"):
                chunks.close()
        return render(request, status, headers, content)


def most_connections(files: int) -> int:
    """Return how many connections a process takes that may open so many files."""
    return CONNECTIONS if files == resource.RLIM_INFINITY else max(1, min(CONNECTIONS, files - KEPT_FILES))


def _note_failure(opening: asyncio.Task[None]) -> None:
    if not opening.cancelled() and (error := opening.exception()) is not None:
        log.info("A connection was lost before it was used (%s).", type(error).__name__)


# --- from the wire and to it ---------------------------------------------------------------------------------------


def server_variables(listener: socket.socket) -> Environ:
    """Return what PEP 3333 wants to be told of the server."""
    name = listener.getsockname()
    host, port = (name[0], str(name[1])) if isinstance(name, tuple) else ("localhost", "80")
    return {
        "SCRIPT_NAME": "",
        "SERVER_NAME": host,
        "SERVER_PORT": port,
        "SERVER_PROTOCOL": "HTTP/1.1",
        "wsgi.version": (1, 0),
        "wsgi.url_scheme": "http",
        "wsgi.errors": sys.stderr,
        "wsgi.multithread": True,
        "wsgi.multiprocess": True,
        "wsgi.run_once": False,
    }


def to_environ(request: Request, server: Environ, peer: tuple[str, int] | None) -> Environ | None:
    """Return the request as PEP 3333 wants it; None for a target that cannot be read."""
    target = request.target.decode("latin-1")
    host = None
    if not target.startswith("/") and target != "*":  # the form for proxies, which names the host, too
        try:
            parts = urlsplit(target)
        except ValueError:
            return None
        if parts.scheme not in ("http", "https") or not parts.netloc:
            return None
        host, path = parts.netloc, target.partition("://")[2].removeprefix(parts.netloc)
        target = path if path.startswith("/") else f"/{path}"
    if "#" in target:  # stays with the browser that follows a link
        return None
    path, _, query = target.partition("?")
    environ: Environ = {
        **server,
        "REQUEST_METHOD": request.method.decode("latin-1"),
        "PATH_INFO": unquote_to_bytes(path).decode("latin-1") if "%" in path else path,
        "QUERY_STRING": query,
        "REMOTE_ADDR": peer[0] if peer else "",
        "REMOTE_PORT": str(peer[1]) if peer else "",
        "wsgi.input": io.BytesIO(request.body) if request.is_whole else LateBody(),
    }
    for raw_name, raw_value in request.headers:
        name, value = raw_name.decode("latin-1"), raw_value.decode("latin-1")
        if "_" in name:  # else it would read like one with a hyphen, which a proxy in front has set or taken away
            continue
        key = name.upper().replace("-", "_")
        if key not in ("CONTENT_TYPE", "CONTENT_LENGTH"):
            key = f"HTTP_{key}"
        if key in environ:
            value = f"{environ[key]}{'; ' if key == 'HTTP_COOKIE' else ','}{value}"
        environ[key] = value
    if request.is_chunked:
        # Of one that is not whole, Django must try to read at least a byte. Else it would take it for an empty body.
        environ["CONTENT_LENGTH"] = str(len(request.body) or int(not request.is_whole))
    if host is not None:
        environ["HTTP_HOST"] = host
    return environ


def render(request: Request, status: int, headers: Iterable[tuple[str, str]], content: bytes) -> bytes:
    """Return the bytes of an answer."""
    lines = [f"HTTP/1.1 {status} {_REASONS.get(status, '')}\r\n"]
    told = None
    for name, value in headers:
        if name.lower() == "content-length":
            told = value
        else:
            lines.append(f"{name}: {value}\r\n")
    if status not in NO_CONTENT:
        length = told if request.method == b"HEAD" and told is not None else len(content)
        lines.append(f"content-length: {length}\r\n")
    if request.is_last:
        lines.append("connection: close\r\n")
    has_body = status not in NO_CONTENT and request.method != b"HEAD"
    head = "".join(lines).encode("latin-1")
    return b"%b%b%b\r\n%b" % (head, SERVER, _date(), content if has_body else b"")


BUSY_RETRY_SECONDS = 1  # seconds that callers are told to wait while a process has all the requests that it holds

OF_NOBODY = {
    "internal_error": "",  # its own words say enough
    "service_unavailable": "Too many requests wait at this moment; nothing was accepted. Try again in a moment.",
    "parse_error": "The request cannot be read.",
    "method_not_allowed": "No endpoint serves this method.",
}


def render_problem(request: Request, code: str) -> bytes:
    """Return the answer to a request that did not reach the application, or that it left without one."""
    refusal = Refusal(code, OF_NOBODY[code], retry_after=BUSY_RETRY_SECONDS if code == "service_unavailable" else None)
    response = problem_response(refusal, request_id=request_ids.draw())
    if code == "method_not_allowed":
        response["Allow"] = "GET, POST"
    return render(request, response.status_code, list(response.items()), response.content)


_dated: tuple[int, bytes] = (0, b"")


def _date() -> bytes:
    """Return the Date header, made once a second."""
    global _dated
    now = int(time.time())
    if _dated[0] != now:
        _dated = now, f"date: {formatdate(now, usegmt=True)}\r\n".encode()
    return _dated[1]


LIVE_HEADERS = [("content-type", "application/json"), ("cache-control", "no-store")]
LIVE_ANSWER = json.dumps(probes.OK).encode()
