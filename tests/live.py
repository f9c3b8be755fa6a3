"""The service as users run it: a web server of several processes and workers, on a database of their own.

For what one process cannot show: races, crashes, transport. Everything is on loopback and ends with the test.
"""

from __future__ import annotations

import base64
import contextlib
import http.client
import itertools
import json
import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
from django.conf import settings

from config.processes.embedded import EmbeddedServers
from config.processes.web import SETTINGS, server_command
from tests.cluster import with_migrations

ROOT = Path(__file__).resolve().parent.parent
START_SECONDS = 180  # a process that migrates an empty database on a full machine has taken more than 60
READY = "The worker is ready"


class LiveService:
    """Start with :meth:`start`; ``home`` is a folder of its own. Processes can be killed and started one by one.

    With ``is_embedded`` false it runs as in production, with the URLs and secrets in the environment: then no process
    ever starts a server again that a test has stopped. A ``DATABASE_URL`` in ``environment`` leads to another database.
    ``root`` is the folder whose code runs, by ``interpreter``; a test that upgrades sets others before it starts the
    next process.
    """

    def __init__(self, home: Path, *, web_processes: int = 2, is_embedded: bool = True, **environment: str) -> None:
        self.home = home
        self.root = ROOT
        self.interpreter = sys.executable
        self.web_processes = web_processes
        self.port = free_port()
        has_own_database = "DATABASE_URL" not in environment
        self.servers = with_migrations(EmbeddedServers(home, durable=False, postgres=has_own_database))
        self.environment = {
            **os.environ,
            "WATCHWORD_HOME": str(home),
            "EMBEDDED_DURABLE": "false",
            "BASE_URL": f"http://127.0.0.1:{self.port}",
            "ALLOWED_HOSTS": "127.0.0.1",
            "DJANGO_SETTINGS_MODULE": "config.settings",
            "WEB_BODY_SECONDS": "4",  # so that the test of a body that never comes need not wait for ten
            **({} if is_embedded else self._production()),
            **environment,
        }
        self.processes: dict[str, subprocess.Popen[bytes]] = {}

    def start(self, *, workers: int = 1) -> LiveService:
        self.servers.start()
        self.start_web()
        for number in range(workers):
            self.start_worker(f"worker{number}")
        return self

    def start_web(self) -> None:
        options = ["--host", "127.0.0.1", "--port", str(self.port), "--workers", str(self.web_processes)]
        if (self.root / "config" / "gunicorn.py").exists():
            threads = int(self.environment.get("WEB_THREADS", settings.WEB_THREADS))
            command = server_command(host="127.0.0.1", port=self.port, workers=self.web_processes, threads=threads)
            command[command.index(str(SETTINGS))] = str(self.root / "config" / "gunicorn.py")
            self._spawn("web", *command[1:])
        else:  # the release before, which had a web server of its own
            self._spawn("web", "-m", "config.processes.webserver", *options)
        wait_until(self.answers, "the web server answers")

    def start_worker(self, name: str = "worker0", *, threads: int = 8) -> None:
        """Return once it is ready."""
        before = self.output(name).count(READY)
        self._spawn(name, "manage.py", "worker", "--threads", str(threads))
        wait_until(lambda: self.output(name).count(READY) > before, f"{name} is ready")

    def answers(self) -> bool:
        try:
            return self.call("GET", "/session/settings")[0] == 401
        except (OSError, ValueError):  # the latter from a proxy in front, whose own answers are no JSON
            return False

    def start_command(self, name: str, *arguments: str) -> subprocess.Popen[bytes]:
        """A command of ``manage.py`` that runs until it is stopped."""
        self._spawn(name, "manage.py", *arguments)
        return self.processes[name]

    def run(self, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
        """A command of ``manage.py``, however it ends."""
        return self._python("manage.py", *arguments, **environment)

    def python(self, program: str, *arguments: str) -> str:
        """Run a program on the service's own settings and database, and return what it prints."""
        done = self._python("-c", f"import django\ndjango.setup()\n{program}", *arguments)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def _python(self, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [self.interpreter, *arguments],
            cwd=self.root,
            env={**self.environment, **environment},
            capture_output=True,
            text=True,
        )

    def manage(self, *arguments: str) -> str:
        done = self.run(*arguments)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def json(self, *arguments: str) -> dict:
        return json.loads(self.manage(*arguments, "--json"))

    def call(self, method: str, path: str, body: object = None, *, key: str = "", headers: dict | None = None):
        """One request on a connection of its own: status, parsed body, headers. Bytes are sent as they are."""
        content = body if body is None or isinstance(body, bytes) else json.dumps(body)
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        try:
            sent = {"content-type": "application/json", **({"x-api-key": key} if key else {}), **(headers or {})}
            connection.request(method, path, content, sent)
            response = connection.getresponse()
            text = response.read()
            return response.status, json.loads(text) if text else None, response.headers
        finally:
            connection.close()

    def query(self, statement: str, *parameters: object) -> list[tuple]:
        given = self.environment.get("DATABASE_URL", "").partition("?prepare_threshold")[0]  # which libpq does not know
        with psycopg.connect(given or self.servers.database_url, autocommit=True) as connection:
            return connection.execute(statement, parameters or None).fetchall()

    def kill(self, name: str, number: int = signal.SIGKILL) -> None:
        """Signal the process and those that it started, and wait for its end. It may have ended by itself."""
        process = self.processes.pop(name)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, number)
        process.wait(timeout=START_SECONDS)

    def stop_server(self, name: str, number: int = signal.SIGKILL) -> None:
        """Stop ``postgres`` or ``valkey``; ``servers.start()`` brings it back."""
        server = {"postgres": self.servers._postgres, "valkey": self.servers._valkey}[name]
        if server.is_running():
            os.kill(int(server.pid_file.read_text()), number)
            wait_until(lambda: not server.is_running(), f"{name} is gone")

    def output(self, name: str) -> str:
        file = self.home / f"{name}.out"
        return file.read_text() if file.exists() else ""

    def stop(self) -> None:
        """End everything, and leave nothing but the logs."""
        for name in list(self.processes):
            self.kill(name)
        # By hand: a web process that was killed just now may still hold its share of the servers.
        self.stop_server("postgres", signal.SIGINT)
        self.stop_server("valkey")
        self.servers.release()
        shutil.rmtree((self.home / "postgres").resolve(), ignore_errors=True)
        for server in (self.servers._postgres, self.servers._valkey):
            shutil.rmtree(server.socket_folder, ignore_errors=True)

    def _production(self) -> dict[str, str]:
        return {
            "DATABASE_URL": self.servers.database_url,
            "REDIS_URL": self.servers.redis_url,
            "SECRET_KEY": secrets.token_urlsafe(48),
            "ENCRYPTION_KEYS": base64.b64encode(secrets.token_bytes(32)).decode(),
            "OUTBOUND_ALLOWED_NETWORKS": "127.0.0.0/8",
            "LOG_FORMAT": "console",
        }

    def _spawn(self, name: str, *command: str) -> None:
        with (self.home / f"{name}.out").open("ab") as output:
            self.processes[name] = subprocess.Popen(
                [self.interpreter, *command],
                cwd=self.root,
                env=self.environment,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )


def _ports() -> Iterator[int]:
    """Ports that the system gives to nobody by itself, others in each process of a run.

    Two web servers of ours may listen at one port, and each would be asked what is meant for the other.
    """
    worker = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw")) % 8
    first, number = 10_000 + 2_500 * worker, 2_500
    # Apart from another run's, too: 997 parts the process ids of runs that were started side by side.
    return (first + place % number for place in itertools.count(os.getpid() * 997))


_next_ports = _ports()


def free_port() -> int:
    while True:
        port = next(_next_ports)
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port


def at_once(count: int, act: Callable[[int], object]) -> list:
    """``act(0)`` … ``act(count - 1)``, each in a thread of its own, let go together; what each returned or raised."""
    barrier = threading.Barrier(count)
    results: list = [None] * count

    def run(number: int) -> None:
        barrier.wait()
        try:
            results[number] = act(number)
        except Exception as error:
            results[number] = error

    threads = [threading.Thread(target=run, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


def wait_until(condition, what: str, seconds: float = START_SECONDS, *, why: Callable[[], str] = str):
    """Poll until the condition holds, and return what it returned; fail by name if it never does, and by ``why()``."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if found := condition():
            return found
        time.sleep(0.02)
    raise AssertionError(f"it never came to pass that {what}\n{why()}".rstrip())
