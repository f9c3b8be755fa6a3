"""The web server as a process: it replaces what dies, and ends when it is told to, at whatever moment."""

import contextlib
import http.client
import json
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path
from unittest.mock import Mock

import pytest

from config.processes.webserver import WebServer
from tests.conftest import ROOT
from tests.live import free_port, wait_until
from tests.test_deployment import PRODUCTION


def listens(port):
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.skipif(not Path("/proc").exists(), reason="needs /proc")
def test_it_ends_even_while_its_processes_are_being_started(number):
    port = free_port()
    command = [sys.executable, "-m", "config.processes.webserver", "--port", str(port), "--workers", "3"]
    server = subprocess.Popen(command, cwd=ROOT, env=PRODUCTION, start_new_session=True)
    try:
        children = f"/proc/{server.pid}/task/{server.pid}/children"
        wait_until(lambda: Path(children).read_text() or server.poll() is not None, "the first process is there")
        server.send_signal(number)
        assert server.wait(60) == 0
        assert not listens(port)
    finally:
        if server.poll() is None:
            os.killpg(server.pid, signal.SIGKILL)
            server.wait()


@pytest.mark.parametrize(("host", "reason"), [("127.0.0.1", "in use"), ("203.0.113.7", "assign")])
def test_an_address_that_cannot_be_listened_at_is_told_in_one_line(host, reason):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        command = [sys.executable, "-m", "config.processes.webserver", "--host", host, "--port", port]
        done = subprocess.run(command, cwd=ROOT, env=PRODUCTION, capture_output=True, text=True, timeout=60)
    [line] = done.stderr.splitlines()
    assert line.startswith(f"watchword: Cannot listen at {host} port {port}: ") and reason in line
    assert done.returncode == 1


def test_its_log_tells_where_it_listens_and_that_it_stops():
    port = free_port()
    command = [sys.executable, "-m", "config.processes.webserver", "--port", str(port), "--workers", "1"]
    server = subprocess.Popen(command, cwd=ROOT, env=PRODUCTION, start_new_session=True, stderr=subprocess.PIPE)
    try:
        wait_until(lambda: is_alive(port), "it serves")
    finally:
        server.terminate()
        lines = [json.loads(line) for line in server.communicate(timeout=60)[1].splitlines()]
    assert [line["event"] for line in lines] == [
        f"The web server listens at 127.0.0.1 port {port}, processes: 1.",
        "The web server is stopping.",
    ]
    assert {line["logger"] for line in lines} == {"config.processes.webserver"}


@contextlib.contextmanager
def web_server(port, *, workers):
    command = [sys.executable, "-m", "config.processes.webserver", "--port", str(port), "--workers", str(workers)]
    server = subprocess.Popen(command, cwd=ROOT, env=PRODUCTION, start_new_session=True)
    try:
        yield server
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(server.pid, signal.SIGKILL)
        server.wait()


def children(server):
    return [int(number) for number in Path(f"/proc/{server.pid}/task/{server.pid}/children").read_text().split()]


def is_alive(port):
    with contextlib.suppress(OSError, http.client.HTTPException):
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
        with contextlib.closing(connection):
            connection.request("GET", "/livez")
            return connection.getresponse().status == 200
    return False


@pytest.mark.skipif(not Path("/proc").exists(), reason="needs /proc")
def test_a_process_that_dies_is_replaced_and_none_outlives_the_server():
    port = free_port()
    with web_server(port, workers=1) as server:
        wait_until(lambda: is_alive(port), "it answers")
        [first] = children(server)
        os.kill(first, signal.SIGKILL)
        wait_until(lambda: children(server) not in ([], [first]) and is_alive(port), "another answers")
        server.kill()
        wait_until(lambda: not listens(port), "nobody listens")


def test_a_server_that_is_told_to_end_replaces_nobody():
    server = WebServer(Mock(), workers=1)
    dead = Mock(is_alive=lambda: False)
    server._processes = [dead]
    os.write(server._ask_to_end, b".")
    server._replace_dead()
    assert server._processes == [dead]
