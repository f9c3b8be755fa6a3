"""``up`` for real: processes, ports and locks, in a home of its own."""

from __future__ import annotations

import base64
import contextlib
import fcntl
import http.client
import json
import os
import re
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import psycopg
import pytest
from django.conf import settings
from django.core.management import CommandError, call_command

from config.processes.embedded import EmbeddedServers
from tests.cluster import with_migrations
from tests.live import ROOT, free_port, wait_until

pytestmark = [pytest.mark.live, pytest.mark.xdist_group("up")]
KEPT = ("PATH", "HOME", "LANG", "TMPDIR")


class Up:
    """One ``manage.py up`` and what it wrote."""

    def __init__(self, home: Path, port: int, **variables: str) -> None:
        self.home = home
        self.port = port
        self.output = home.parent / f"up-{port}-{os.urandom(2).hex()}.out"
        self.environment = {name: os.environ[name] for name in KEPT if name in os.environ}
        self.environment |= {"WATCHWORD_HOME": str(home), "EMBEDDED_DURABLE": "false", **variables}
        with self.output.open("wb") as output:
            self.process = subprocess.Popen(
                [sys.executable, "manage.py", "up", "--port", str(port), "--workers", "1"],
                cwd=ROOT,
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def text(self) -> str:
        return self.output.read_text()

    def ready(self) -> Up:
        wait_until(
            lambda: "is ready" in self.text() or self.process.poll() is not None,
            "it says that it is ready",
            why=self.text,
        )
        assert self.process.poll() is None, self.text()
        return self

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run another command of ``manage.py`` on the same home."""
        command = [sys.executable, "manage.py", *arguments]
        return subprocess.run(command, cwd=ROOT, env=self.environment, capture_output=True, text=True)

    def stop(self, number: int = signal.SIGTERM) -> int:
        if self.process.poll() is None:
            self.process.send_signal(number)
        return self.process.wait(60)

    def demo(self) -> Any:
        return json.loads((self.home / "demo.json").read_text())

    def post(self, path: str, body: object, key: str) -> Any:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        with contextlib.closing(connection):
            connection.request("POST", path, json.dumps(body), {"content-type": "application/json", "x-api-key": key})
            response = connection.getresponse()
            return response.status, json.loads(response.read())


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """A home whose PostgreSQL is there, with all migrations; every test leaves it stopped. The production that starts
    on an empty database, and the wheel, wait for them.
    """
    home = tmp_path_factory.mktemp("up") / "var"
    servers = with_migrations(EmbeddedServers(home, durable=False))
    servers.start()
    servers.release()
    yield home


@pytest.fixture
def start(home):
    """Starts any number of them; whatever is left at the end is stopped."""
    started = []

    def _start(*, home=home, port=0, **variables):
        started.append(Up(home, port or free_port(), **variables))
        return started[-1]

    yield _start
    for up in started:
        up.stop()


@pytest.fixture
def production(tmp_path, django_db_setup):
    """Both URLs set, to the servers of this test run. Its own test database is copied from this one: that is first."""
    return {
        "home": tmp_path / "var",
        "DATABASE_URL": settings.EMBEDDED.database_url,
        "REDIS_URL": settings.EMBEDDED.redis_url,
        "SECRET_KEY": settings.SECRET_KEY,
        "ENCRYPTION_KEYS": base64.b64encode(settings.ENCRYPTION_KEYS[0]).decode(),
        "ALLOWED_HOSTS": "127.0.0.1",
    }


def processes_of(home: Path) -> list[str]:
    """The processes that carry this home in their environment or command line (Linux)."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            told = (folder / "environ").read_bytes() + (folder / "cmdline").read_bytes()
            if os.fsencode(home) in told:
                found.append((folder / "cmdline").read_bytes().replace(b"\0", b" ").decode())
    return found


def is_free(path: Path) -> bool:
    with path.open() as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
    return True


def pids_of_children(up: Up) -> list[int]:
    found = subprocess.run(["pgrep", "-P", str(up.process.pid)], capture_output=True, text=True).stdout
    return [int(line) for line in found.split()]


def test_it_starts_everything_and_a_code_can_be_read_sent_and_verified(start):
    up = start().ready()
    demo = up.demo()
    assert demo["api_key"] in up.text() and demo["admin_password"] in up.text()
    assert (up.home / "demo.json").stat().st_mode & 0o777 == 0o600

    status, session = up.post("/session/create", {"to": "ann@example.com"}, demo["api_key"])
    assert status == 200
    line = r"\[watchword\] email to ann@example\.com:.*\b(\d{6})\b"
    code = wait_until(lambda: re.search(line, up.text()), "the code is printed")[1]
    status, checked = up.post("/session/check", {"session_id": session["session_id"], "code": code}, demo["api_key"])
    assert status == 200, checked
    proof = {"verify_token": checked["verify_token"]}
    assert up.post("/session/verify", proof, demo["secret_key"])[1] == {"email": "ann@example.com"}

    doctor = up.run("doctor", "--json")
    assert (doctor.returncode, json.loads(doctor.stdout)) == (0, {"worst": None, "findings": []}), doctor.stderr

    second = start()
    assert second.process.wait(60) == 1
    assert second.text() == (
        f"watchword: Watchword already runs here (pid {up.process.pid}, http://127.0.0.1:{up.port}).\n"
    )

    assert up.stop() == 0
    assert up.text().endswith("Stopped.\n")
    assert processes_of(up.home) == []


def is_at_work(pid):
    """Return whether there is such a process. One that ended stays until its adoptive parent has time for it."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in ("Z", "X")
    except FileNotFoundError:
        return False


@pytest.mark.long
@pytest.mark.timeout(400)  # it starts twice, and each start may take a busy machine the minute that `ready` waits
def test_it_survives_its_own_murder_and_shows_the_same_keys_again(start):
    killed = start().ready()
    children = pids_of_children(killed)
    killed.stop(signal.SIGKILL)
    again = start(port=killed.port).ready()
    assert [pid for pid in children if is_at_work(pid)] == []
    assert again.demo() == killed.demo()
    assert again.demo()["admin_password"] in again.text()
    assert again.post("/session/create", {"to": "bob@example.com"}, again.demo()["api_key"])[0] == 200

    # Ctrl-C reaches the whole group of the terminal; only `up` is in it.
    os.killpg(again.process.pid, signal.SIGINT)
    assert again.process.wait(60) == 0
    assert processes_of(again.home) == []
    assert is_free(again.home / "up.lock")


def test_they_end_together(start):
    up = start().ready()
    worker = next(pid for pid in pids_of_children(up) if b"manage.py" in Path(f"/proc/{pid}/cmdline").read_bytes())
    os.kill(worker, signal.SIGKILL)
    assert up.process.wait(60) == 1
    assert up.text().endswith("watchword: The worker ended (killed by SIGKILL), so everything was stopped.\n")
    assert processes_of(up.home) == []


@pytest.fixture
def empty_database(production):
    """The URL of a database in which there is no table yet."""
    url = production["DATABASE_URL"]
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("CREATE DATABASE nothing_yet TEMPLATE template0")
        yield url.replace(f"/{connection.info.dbname}?", "/nothing_yet?")
        connection.execute("DROP DATABASE nothing_yet WITH (FORCE)")


@pytest.mark.long
def test_in_production_it_migrates_and_makes_no_demo(start, production, empty_database):
    up = start(**{**production, "DATABASE_URL": empty_database}).ready()
    assert "The database is new" in up.text()
    assert "manage.py createproject" in up.text()
    assert up.post("/session/create", {"to": "ann@example.com"}, "ww_api_unknown")[0] == 401
    assert up.stop() == 0
    assert {path.name for path in up.home.iterdir()} == {"up.lock"}


def test_it_refuses_a_busy_port_before_anything_starts(start, production):
    with socket.socket() as busy:
        busy.bind(("127.0.0.1", 0))
        busy.listen()
        port = busy.getsockname()[1]
        up = start(port=port, **production)
        assert up.process.wait(60) == 1
    said = rf"watchword: Cannot listen at 127\.0\.0\.1 port {port}: .* Choose another with --port\.\n"
    assert re.fullmatch(said, up.text())


def test_it_says_in_one_line_that_the_database_is_away(start, production):
    production["DATABASE_URL"] = f"postgres://watchword@127.0.0.1:{free_port()}/watchword"
    up = start(**production)
    assert up.process.wait(60) == 1
    assert re.fullmatch(r"Watchword is starting ...\nwatchword: The database does not answer: .*\n", up.text())


@pytest.mark.parametrize("arguments", [("--port", "0"), ("--workers", "0"), ("--threads", "x"), ("--color",)])
def test_it_refuses_wrong_arguments(arguments):
    with pytest.raises(CommandError):
        call_command("up", *arguments)
