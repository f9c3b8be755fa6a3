"""The service as users run it, with servers and a database of its own, set up for measuring.

Two web processes of 16 threads, one worker process, the embedded PostgreSQL with its durability on and the
embedded Valkey. Everything is on loopback, under ``var/benchmarks/``, and is gone at the end.
"""

from __future__ import annotations

import http.client
import json
import os
import platform
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from types import TracebackType

import psycopg

from benchmarks.common import processes
from benchmarks.common.driver import LOOPBACK
from benchmarks.floor.table import TABLE
from config.processes.embedded import EmbeddedServers
from config.processes.web import server_command

ROOT = Path(__file__).resolve().parents[2]
START_SECONDS = 60.0
STOP_SECONDS = 10.0
WEB_PROCESSES = 2
WEB_THREADS = 16
WORKER_THREADS = 8
FLOOR_DATABASE = "floor"
# Recipients are new in every flow, so limits per recipient never bite; those per second and address would.
LIMITS_OFF = ("requests_per_second=0", "creates_per_address=0", "traffic_guard=off", "challenge_mode=off")


class Service:
    """Use as a context. ``api_key`` and ``secret_key`` are those of its one project, whose SMS go to the gateway."""

    def __init__(
        self,
        *,
        gateway_port: int,
        trusted_proxies: int = 0,
    ) -> None:
        self.home = ROOT / "var" / "benchmarks" / str(os.getpid())
        self.servers = EmbeddedServers(self.home, durable=True)
        self.gateway_url = f"http://{LOOPBACK}:{gateway_port}/send"
        self.port = free_port()
        self.floor_port = free_port()
        self.environment = {
            "WATCHWORD_HOME": str(self.home),
            "EMBEDDED_DURABLE": "true",
            "BASE_URL": f"http://{LOOPBACK}:{self.port}",
            "ALLOWED_HOSTS": LOOPBACK,
            "WEB_THREADS": str(WEB_THREADS),
            "TRUSTED_PROXIES": str(trusted_proxies),
            "LOG_LEVEL": "WARNING",
        }
        self._running: dict[str, subprocess.Popen[bytes]] = {}

    def __enter__(self) -> Service:
        try:
            self.servers.start()
            self.manage("migrate", "--verbosity", "0")
            made = json.loads(self.manage("createproject", "Benchmark", "--json"))
            self.project_id: int = made["project"]
            self.api_key: str = made["api_key"]
            self.secret_key: str = made["secret_key"]
            self.manage("setproject", "Benchmark", *LIMITS_OFF)
            self.add_provider("G", self.gateway_url)
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for name in list(self._running):
            self.stop(name)
        self.servers.release()
        outside = (self.home / "postgres").resolve()  # where the data of a checkout that is closed to others lies
        shutil.rmtree(outside, ignore_errors=True)
        shutil.rmtree(self.home, ignore_errors=True)

    def start_web(self) -> None:
        self._start("web", *gunicorn(self.port))
        wait_until_answering(self.port)

    def start_floor(self, threads: int = WORKER_THREADS) -> None:
        """The least service of the same libraries, web server and worker, on a database of its own."""
        self._create_database(FLOOR_DATABASE, template="template1")
        with psycopg.connect(self.servers.database_url, dbname=FLOOR_DATABASE, autocommit=True) as connection:
            connection.execute(TABLE)
        self._start("floor", *gunicorn(self.floor_port), "benchmarks.floor.wsgi:application")
        self._start("floor worker", "-m", "benchmarks.floor.worker", str(threads))
        wait_until_answering(self.floor_port)

    def start_worker(self, threads: int = WORKER_THREADS) -> None:
        self._start("worker", "manage.py", "worker", "--threads", str(threads))

    def pause(self, name: str) -> None:
        os.killpg(self._running[name].pid, signal.SIGSTOP)

    def resume(self, name: str) -> None:
        os.killpg(self._running[name].pid, signal.SIGCONT)

    def stop(self, name: str) -> None:
        process = self._running.pop(name)
        os.killpg(process.pid, signal.SIGCONT)
        os.killpg(process.pid, signal.SIGTERM)
        try:
            process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()

    def add_provider(self, name: str, url: str, *, priority: int = 100) -> int:
        """An HTTP gateway of the project's. Returns its id."""
        return self._add("http", name, {"url": url}, priority)

    def add_project(self, name: str, *settings: str) -> str:
        """A further project with the same gateway, its limits as they are by default. Returns its API key."""
        made = json.loads(self.manage("createproject", name, "--json"))
        if settings:
            self.manage("setproject", name, *settings)
        self._add("http", "G", {"url": self.gateway_url}, 100, project=name)
        key: str = made["api_key"]
        return key

    def _add(
        self, provider_type: str, name: str, settings: Mapping[str, object], priority: int, project: str = "Benchmark"
    ) -> int:
        options = ["--channel", "sms", "--type", provider_type, "--name", name, "--priority", str(priority)]
        options += ["--daily-budget", "0"]
        options += [part for setting, value in settings.items() for part in ("--set", f"{setting}={value}")]
        return int(json.loads(self.manage("addprovider", project, *options, "--json"))["provider"])

    def trees(self) -> dict[str, int]:
        """The root process of every part, by its name."""
        parts = {name: process.pid for name, process in self._running.items()}
        for name in ("postgres", "valkey"):
            parts[name] = int((self.home / f"{name}.pid").read_text())
        return parts

    def meter(self) -> dict[str, float]:
        """CPU seconds so far by part; ``driver`` is this process, ``machine`` everything that runs on it."""
        return {
            **processes.tree_cpu_seconds(self.trees()),
            "driver": time.process_time(),
            "machine": processes.machine_busy_seconds(),
        }

    def query(self, statement: str, *parameters: object) -> list[tuple[object, ...]]:
        with psycopg.connect(self.servers.database_url, autocommit=True) as connection:
            return connection.execute(statement.encode(), parameters or None).fetchall()

    def _create_database(self, name: str, *, template: str) -> None:
        with psycopg.connect(self.servers.database_url, dbname="postgres", autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name} TEMPLATE {template}".encode())

    def _start(self, name: str, *arguments: str) -> None:
        with (self.home / f"{name}.out").open("ab") as output:
            self._running[name] = subprocess.Popen(
                [sys.executable, *arguments],
                cwd=ROOT,
                env={
                    **os.environ,
                    **self.environment,
                    "BENCHMARK_PROJECT": str(self.project_id),
                    "BENCHMARK_GATEWAY": self.gateway_url,
                },
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def manage(self, *arguments: str) -> str:
        done = subprocess.run(
            [sys.executable, "manage.py", *arguments],
            cwd=ROOT,
            env={**os.environ, **self.environment},
            capture_output=True,
            text=True,
        )
        if done.returncode:
            raise RuntimeError(f"manage.py {arguments[0]}: {done.stderr or done.stdout}")
        return done.stdout


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind((LOOPBACK, 0))
        port: int = probe.getsockname()[1]
        return port


def gunicorn(port: int) -> list[str]:
    """Return the web server's command, after the interpreter."""
    return server_command(host=LOOPBACK, port=port, workers=WEB_PROCESSES, threads=WEB_THREADS)[1:]


def wait_until_answering(port: int) -> None:
    """Wait for an answer, whatever it says: gunicorn listens before its processes have loaded the application."""
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        connection = http.client.HTTPConnection(LOOPBACK, port, timeout=START_SECONDS)
        try:
            connection.request("GET", "/livez")
            connection.getresponse()
            return
        except OSError:
            time.sleep(0.05)
        finally:
            connection.close()
    raise RuntimeError(f"Nothing answers at port {port} after {START_SECONDS:.0f} s.")


def machine() -> str:
    """One line on what the figures were taken on."""
    model = platform.processor() or platform.machine()
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        model = next(line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        pass
    return (
        f"{os.cpu_count()} x {model}, load {os.getloadavg()[0]:.1f} before, a fixed loop takes "
        f"{processes.loop_ms():.0f} ms; Python {platform.python_version()}, "
        f"gunicorn {version('gunicorn')}, Django {version('django')}, psycopg {version('psycopg')}"
    )
