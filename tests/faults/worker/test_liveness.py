"""A worker's file: fresh while the database is away, and left to age by one that hangs. The probe is the chart's."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import threading
import time
from pathlib import Path

import pytest

from tests.live import ROOT, LiveService, wait_until
from verification.worker import liveness
from verification.worker.liveness import BEAT_SECONDS, Liveness
from verification.worker.poller import Poller

CHART = (ROOT / "deploy" / "helm" / "watchword" / "templates" / "workers.yaml").read_text()
OLD = 600  # seconds: older than any probe allows


def is_alive(file):
    """Ask as Kubernetes does."""
    [command] = re.findall(r"exec: \{command: \[sh, -c, '(.+)'\]\}", CHART)
    done = subprocess.run(["sh", "-c", command.replace("/tmp/worker.alive", str(file))], capture_output=True)
    return done.returncode == 0


def age(file):
    then = time.time() - OLD
    os.utime(file, (then, then))


def has_stopped(pid):
    threads = Path(f"/proc/{pid}/task").glob("*/stat")
    return all(thread.read_text().rpartition(")")[2].split()[0] == "T" for thread in threads)


@pytest.mark.live
@pytest.mark.xdist_group("outages_of_workers")
@pytest.mark.long
def test_a_worker_is_alive_while_the_database_is_away_and_not_when_it_hangs(tmp_path):
    file = tmp_path / "alive"
    service = LiveService(tmp_path, is_embedded=False)
    try:
        service.servers.start()
        worker = service.start_command("worker0", "worker", "--alive-file", str(file))
        wait_until(lambda: "The worker is ready" in service.output("worker0"), "the worker is ready")
        service.stop_server("postgres")
        wait_until(lambda: "the sweep failed" in service.output("worker0"), "the worker notices")
        age(file)
        wait_until(lambda: is_alive(file), "the worker touches it")
        os.killpg(worker.pid, signal.SIGSTOP)
        wait_until(lambda: has_stopped(worker.pid), "it stands still")
        age(file)
        time.sleep(2 * BEAT_SECONDS)
        assert not is_alive(file)
        os.killpg(worker.pid, signal.SIGCONT)
        wait_until(lambda: is_alive(file), "the worker touches it again")
        service.servers.start()
        service.kill("worker0", signal.SIGTERM)
        assert not file.exists()
    finally:
        service.stop()


def test_a_poller_that_hangs_lets_the_file_age(tmp_path, monkeypatch, caplog):
    monkeypatch.setattr(liveness, "HANGS_SECONDS", 0.0)
    file, stopping, hung = Liveness(tmp_path / "alive"), threading.Event(), threading.Event()
    hangs = Poller("a poller", stopping, before_round=lambda: hung.wait(10))
    hangs.start()
    age(file.path)
    file.beat([hangs])
    file.beat([hangs])
    assert not is_alive(file.path)
    assert [record.getMessage() for record in caplog.records] == [
        "The worker hangs; these parts no longer respond: a poller."
    ]
    monkeypatch.setattr(liveness, "HANGS_SECONDS", 900.0)
    file.beat([hangs])
    assert is_alive(file.path)
    stopping.set()
    hung.set()
    hangs.wake.set()
    hangs.join()
    file.beat([hangs])  # a thread that ended is not at work either
    age(file.path)
    file.beat([hangs])
    assert not is_alive(file.path)


@pytest.fixture
def systemd(tmp_path, monkeypatch):
    """The socket on which systemd hears from a unit with WatchdogSec."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as heard:
        heard.bind(str(tmp_path / "notify"))
        heard.setblocking(False)
        monkeypatch.setenv("NOTIFY_SOCKET", str(tmp_path / "notify"))
        yield heard


def test_without_a_file_systemd_hears_of_a_worker_until_it_hangs_and_the_log_says_so(systemd, monkeypatch, caplog):
    worker, stopping = Liveness(None), threading.Event()
    works = Poller("a poller", stopping, before_round=lambda: None)
    works.start()
    worker.beat([works])
    assert systemd.recv(100) == b"WATCHDOG=1"
    monkeypatch.setattr(liveness, "HANGS_SECONDS", -1.0)
    worker.beat([works])
    with pytest.raises(BlockingIOError):
        systemd.recv(100)
    assert "no longer respond: a poller" in caplog.text
    stopping.set()
    works.wake.set()
    works.join()


def test_a_file_that_cannot_be_written_is_said_in_one_line(tmp_path):
    done = LiveService(tmp_path, is_embedded=False).run("worker", "--alive-file", str(tmp_path / "nowhere" / "alive"))
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].startswith("watchword: --alive-file: cannot write ")
