"""The web server as a process: it ends when it is told to, at whatever moment."""

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

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
