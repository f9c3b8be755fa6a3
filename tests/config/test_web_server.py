"""The web server as ``manage.py web`` starts it: what it takes for a request, and how its processes come and go."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from tests.config.test_deployment import PRODUCTION
from tests.conftest import ROOT
from tests.live import free_port, wait_until

pytestmark = pytest.mark.skipif(not Path("/proc").exists(), reason="needs /proc")

HOST = b"Host: codes.example.com\r\n"
GET = b"GET /livez HTTP/1.1\r\n" + HOST + b"\r\n"
SECONDS = 30  # for an answer; who gets none fails
SLOW = "1"  # second that a client may pause
AS_SYSTEMD_DOES = """
import os, sys
os.dup2(int(sys.argv[1]), 3)
os.execve(sys.argv[2], sys.argv[2:], {**os.environ, "LISTEN_FDS": "1", "LISTEN_PID": str(os.getpid())})
"""


class Server:
    """``keeps`` is a socket that systemd listens at for the server."""

    def __init__(
        self, log: Path, *options: str, workers: int = 1, keeps: socket.socket | None = None, **environment: str
    ) -> None:
        self.port, self.log = keeps.getsockname()[1] if keeps else free_port(), log
        command = [sys.executable, "manage.py", "web", "--port", str(self.port), "--workers", str(workers), *options]
        if keeps:
            command = [sys.executable, "-c", AS_SYSTEMD_DOES, str(keeps.fileno()), *command]
        with log.open("wb") as output:
            self.process = subprocess.Popen(
                command,
                cwd=ROOT,
                env=PRODUCTION | environment,
                pass_fds=[keeps.fileno()] if keeps else [],
                start_new_session=True,
                stderr=output,
            )

    def __enter__(self) -> Server:
        wait_until(lambda: self.answers() or self.process.poll() is not None, "it serves")
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def connect(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), timeout=SECONDS)

    def answers(self) -> bool:
        with contextlib.suppress(OSError, http.client.HTTPException):
            connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=5)
            with contextlib.closing(connection):
                connection.request("GET", "/livez")
                return connection.getresponse().status == 200
        return False

    def listens(self) -> bool:
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self.port)) == 0

    def processes(self) -> list[int]:
        pid = self.process.pid
        return [int(number) for number in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]

    def lines(self) -> list[dict[str, str]]:
        return [json.loads(line) for line in self.log.read_text().splitlines()]


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with Server(tmp_path_factory.mktemp("web") / "log", WEB_BODY_SECONDS=SLOW) as running:
        yield running
        assert "Traceback" not in running.log.read_text()


@pytest.fixture
def client(server):
    with server.connect() as connection:
        yield connection


def read_all(client: socket.socket) -> bytes:
    data = b""
    with contextlib.suppress(ConnectionError):
        while received := client.recv(65_536):
            data += received
    return data


# --- what is taken for a request ------------------------------------------------------------------------------------


def post(*headers: bytes, body: bytes = b"") -> bytes:
    return b"POST /livez HTTP/1.1\r\n" + HOST + b"".join(header + b"\r\n" for header in headers) + b"\r\n" + body


@pytest.mark.requirement(103)
@pytest.mark.parametrize(
    "data",
    [
        post(b"Content-Length: 1", b"Transfer-Encoding: chunked", body=b"0\r\n\r\n"),
        post(b"Transfer-Encoding: chunked", b"Content-Length: 1", body=b"0\r\n\r\n"),
        post(b"Content-Length: 1", b"Content-Length: 2", body=b"ab"),
        post(b"Content-Length: +1", body=b"a"),
        post(b"Content-Length: 1, 1", body=b"a"),
        post(b"Content-Length : 1", body=b"a"),
        post(b"Transfer-Encoding: chunked, identity", body=b"0\r\n\r\n"),
        post(b"Transfer-Encoding: identity", body=b"0\r\n\r\n"),
        post(b"X: a\nContent-Length: 1", body=b"a"),
        post(b"X: a\r\n folded"),
        post(b"X\x00: a"),
        post(b"X: a\x00b"),
        b"GET /livez HTTP/1.1\nHost: h\n\n",
        b"GET h:1 HTTP/1.1\r\n" + HOST + b"\r\n",
        b"GET /livez HTTP/2.0\r\n" + HOST + b"\r\n",
        b"POST /livez HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        b"GET /livez HTTP/1.1\r\n" + HOST + HOST + b"\r\n",
    ],
)
def test_what_two_servers_could_read_differently_is_refused(client, data):
    client.sendall(data + GET)
    answer = read_all(client)
    assert answer.startswith(b"HTTP/1.1 400 ") and answer.count(b"HTTP/1.1 ") == 1


def test_a_coding_that_nobody_unpacks_is_refused(client):
    client.sendall(post(b"Transfer-Encoding: xchunked", body=b"0\r\n\r\n") + GET)
    answer = read_all(client)
    assert answer.startswith(b"HTTP/1.1 501 ") and answer.count(b"HTTP/1.1 ") == 1


@pytest.mark.requirement(103)
@pytest.mark.parametrize(
    "chunk", [b"1;\n\ra\r\n0\r\n\r\n", b"0x1\r\na\r\n0\r\n\r\n", b"1\r\nab\r\n0\r\n\r\n", b"-1\r\n"]
)
def test_after_a_chunk_that_cannot_be_read_no_further_request_is_taken(client, chunk):
    client.sendall(post(b"Transfer-Encoding: chunked", body=chunk) + GET)
    assert read_all(client).count(b"HTTP/1.1 200") <= 1


@pytest.mark.requirement(103)
@pytest.mark.parametrize(
    ("head", "status"),
    [
        (b"GET /" + b"x" * 8190 + b" HTTP/1.1\r\n" + HOST + b"\r\n", 414),
        (b"GET /livez HTTP/1.1\r\n" + HOST + b"X: " + b"x" * 17_000 + b"\r\n\r\n", 431),
        (b"GET /livez HTTP/1.1\r\n" + HOST + b"X: 1\r\n" * 101 + b"\r\n", 431),
    ],
)
def test_a_head_out_of_all_measure_is_refused(client, head, status):
    client.sendall(head)
    assert read_all(client).startswith(b"HTTP/1.1 %d " % status)


def test_requests_ahead_of_their_answers_are_answered(client):
    last = GET.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n")
    client.sendall(GET * 9 + last)
    assert read_all(client).count(b"HTTP/1.1 200") == 10


def test_a_client_that_waits_to_be_asked_for_its_body_is_asked(client):
    client.sendall(post(b"Content-Length: 2", b"Expect: 100-continue", b"Connection: close"))
    assert client.recv(12) == b"HTTP/1.1 100"
    client.sendall(b"ab")
    assert b"HTTP/1.1 200" in read_all(client)


def test_a_client_that_has_sent_all_still_gets_its_answer(client):
    client.sendall(GET)
    client.shutdown(socket.SHUT_WR)
    assert read_all(client).startswith(b"HTTP/1.1 200")


def test_the_log_tells_that_a_request_was_refused_and_nothing_of_it(server, client):
    client.sendall(b"GET /hooks/secret-of-a-path\x01 HTTP/1.1\r\n" + HOST + b"x-api-key: secret\r\n\r\n")
    assert read_all(client).startswith(b"HTTP/1.1 400 ")
    assert any(line["event"].startswith("A request was refused") for line in server.lines())
    assert "secret" not in server.log.read_text() and "127.0.0.1 " not in server.lines()[-1]["event"]


# --- processes ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_ends_even_while_its_processes_are_being_started(tmp_path, number):
    server = Server(tmp_path / "log", workers=3)
    try:
        wait_until(lambda: server.processes() or server.process.poll() is not None, "the first process is there")
        server.process.send_signal(number)
        assert server.process.wait(60) == 0
        assert not server.listens()
    finally:
        server.__exit__()


@pytest.mark.parametrize(("host", "reason"), [("127.0.0.1", "in use"), ("203.0.113.7", "assign")])
def test_an_address_that_cannot_be_listened_at_is_told_in_one_line(host, reason):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        command = [sys.executable, "manage.py", "web", "--host", host, "--port", port]
        done = subprocess.run(command, cwd=ROOT, env=PRODUCTION, capture_output=True, text=True, timeout=60)
    [line] = done.stderr.splitlines()
    assert line.startswith(f"watchword: Cannot listen at {host} port {port}: ") and reason in line
    assert done.returncode == 1


def test_its_log_tells_where_it_listens_and_that_it_stops(tmp_path):
    with Server(tmp_path / "log") as server:
        server.process.terminate()
        assert server.process.wait(60) == 0
    said = [line["event"] for line in server.lines()]
    assert f"Listening at: http://127.0.0.1:{server.port} ({server.process.pid})" in said
    assert said[-1] == "Shutting down: Master"
    assert {line["logger"] for line in server.lines()} == {"gunicorn.error"}


@pytest.mark.parametrize("options", [(), ("--preload",)])
def test_a_process_that_dies_is_replaced_and_none_outlives_the_server(tmp_path, options):
    with Server(tmp_path / "log", *options) as server:
        [first] = server.processes()
        os.kill(first, signal.SIGKILL)
        wait_until(lambda: server.processes() not in ([], [first]) and server.answers(), "another answers")
        server.process.kill()
        wait_until(lambda: not server.listens(), "nobody listens")


def test_a_reload_replaces_the_processes_and_no_request_is_lost_or_refused(tmp_path):
    with Server(tmp_path / "log", workers=2) as server, Askers(server, 4) as askers:
        before = set(server.processes())
        server.process.send_signal(signal.SIGHUP)
        wait_until(lambda: not before & set(server.processes()), "the old processes are gone")
        assert len(server.processes()) == 2
        answered = askers.answered
        wait_until(lambda: askers.answered > answered + 20, "the new ones answer")
    assert askers.failures == []


def test_while_new_processes_load_the_old_ones_answer(tmp_path):
    """The new ones are stopped while they load, as on a machine that has no time for them."""
    with Server(tmp_path / "log", workers=2) as server:
        old = set(server.processes())
        server.process.send_signal(signal.SIGHUP)
        new = wait_until(lambda: len(found := set(server.processes()) - old) == 2 and found, "new ones are forked")
        for pid in new:
            os.kill(pid, signal.SIGSTOP)
        assert all(time.sleep(0.05) or server.answers() for _ in range(60))
        assert old < set(server.processes())
        for pid in new:
            os.kill(pid, signal.SIGCONT)
        wait_until(lambda: set(server.processes()) == new, "the old ones end")
        assert server.answers()


def test_a_reload_of_what_cannot_start_leaves_the_old_processes_alone(tmp_path):
    secret = tmp_path / "secret"
    secret.write_text(PRODUCTION["SECRET_KEY"])
    with Server(tmp_path / "log", workers=2, SECRET_KEY="", SECRET_KEY_FILE=str(secret)) as server:
        old = set(server.processes())
        secret.unlink()
        server.process.send_signal(signal.SIGHUP)
        wait_until(lambda: server.log.read_text().count("exited with code") == 2, "new processes have failed")
        secret.write_text(PRODUCTION["SECRET_KEY"])
        assert server.answers() and set(server.processes()) == old
        server.process.send_signal(signal.SIGHUP)
        wait_until(lambda: len(new := set(server.processes())) == 2 and not new & old, "the next reload replaces them")


def test_what_waits_to_be_accepted_when_the_server_ends_is_answered(tmp_path):
    """The process is stopped meanwhile, as on a busy machine. Who comes later is refused, and may go elsewhere."""
    with Server(tmp_path / "log") as server, server.connect() as kept:
        kept.sendall(GET)
        assert kept.recv(12) == b"HTTP/1.1 200"
        [pid] = server.processes()
        os.kill(pid, signal.SIGSTOP)
        waiting = [server.connect() for _ in range(20)]
        for client in waiting:
            client.sendall(GET)
        server.process.terminate()
        os.kill(pid, signal.SIGCONT)
        assert {read_all(client)[:12] for client in waiting} == {b"HTTP/1.1 200"}
        wait_until(lambda: not server.listens(), "the next one is refused")
        assert server.process.poll() is None or not server.processes()


def test_who_comes_while_it_is_started_again_waits_at_the_socket_that_systemd_keeps(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as kept:
        with Server(tmp_path / "log", keeps=kept) as server:
            server.process.terminate()
            assert server.process.wait(60) == 0
        with server.connect() as waiting, Server(tmp_path / "log", keeps=kept):
            waiting.sendall(GET)
            assert waiting.recv(12) == b"HTTP/1.1 200"


def test_every_address_is_one_of_ipv4_or_of_ipv6(tmp_path):
    with (
        Server(tmp_path / "log", "--host", "::") as server,  # which has answered over IPv4
        socket.create_connection(("::1", server.port), timeout=SECONDS) as client,
    ):
        client.sendall(GET)
        assert client.recv(12) == b"HTTP/1.1 200"


def test_a_server_that_ends_refuses_a_client_or_answers_it(tmp_path):
    with Server(tmp_path / "log", workers=2) as server, Askers(server, 8, may_be_refused=True) as askers:
        server.process.terminate()
        assert server.process.wait(60) == 0
    assert askers.failures == []


class Askers:
    """Clients that ask without a pause: some on one connection as long as the server keeps it, some on new ones."""

    def __init__(self, server: Server, number: int, *, may_be_refused: bool = False) -> None:
        self.port, self.answered, self.failures = server.port, 0, []
        self.may_be_refused = may_be_refused
        self.is_stopped = threading.Event()
        self.threads = [threading.Thread(target=self.ask, args=(place % 2 == 0,)) for place in range(number)]

    def __enter__(self) -> Askers:
        for thread in self.threads:
            thread.start()
        wait_until(lambda: self.answered > 20, "they are answered")
        return self

    def __exit__(self, *_: object) -> None:
        self.is_stopped.set()
        for thread in self.threads:
            thread.join()

    def ask(self, keeps: bool) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=SECONDS)
        while not self.is_stopped.is_set():
            try:
                connection.request("GET", "/livez")
                response = connection.getresponse()
                response.read()
                assert response.status == 200
                self.answered += 1
            except ConnectionRefusedError as error:
                self.failures += [] if self.may_be_refused else [repr(error)]
                return
            except (OSError, AssertionError, http.client.HTTPException) as error:
                self.failures.append(repr(error))
                return
            if not keeps:
                connection.close()
        connection.close()
