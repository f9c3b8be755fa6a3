"""Debian's Patroni with Debian's etcd: two PostgreSQL servers, of which one follows the other and takes its place."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import tempfile
import urllib.error
import urllib.request
from pathlib import Path

import psycopg

from config.processes.embedded.postgres import Postgres, not_root
from config.processes.embedded.server import ENVIRONMENT, SOCKETS
from tests.live import free_port, wait_until

USER = "watchword"
ETCD, PATRONI = shutil.which("etcd"), shutil.which("patroni")
TTL_SECONDS = 20  # the least that Patroni takes: from the primary's last sign of life to its successor's election
START_SECONDS = 120  # for initdb or a copy of the primary, on a busy machine
CLUSTER = {  # what Patroni keeps in etcd for both
    "ttl": TTL_SECONDS,
    "loop_wait": 2,
    "retry_timeout": 3,
    "synchronous_mode": True,
    "postgresql": {"use_pg_rewind": True, "parameters": {"max_connections": 200, "fsync": "off"}},
}


def start(command: list[object], folder: Path, environment: dict[str, str]) -> subprocess.Popen[bytes]:
    """Start a program as who runs PostgreSQL; it logs in its folder."""
    with (folder / "log").open("ab") as log:
        return subprocess.Popen(
            [*not_root(), *(str(part) for part in command)],
            env=environment,
            cwd="/",
            umask=0o077,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )


def new_folder() -> Path:
    return Path(tempfile.mkdtemp(prefix="watchword-", dir=SOCKETS))


class Etcd:
    """Use as a context manager: one member, which is enough where no test takes it away."""

    def __enter__(self) -> Etcd:
        self.folder, self.port, peers = new_folder(), free_port(), f"http://127.0.0.1:{free_port()}"
        url = f"http://127.0.0.1:{self.port}"
        options = {
            "data-dir": self.folder / "data",
            "listen-client-urls": url,
            "advertise-client-urls": url,
            "listen-peer-urls": peers,
            "initial-advertise-peer-urls": peers,
            "initial-cluster": f"default={peers}",
        }
        command = [ETCD, *(f"--{name}={value}" for name, value in options.items())]
        self.process = start(command, self.folder, ENVIRONMENT)
        wait_until(lambda: status(f"{url}/health") == 200, "etcd answers")
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.wait(timeout=30)
        shutil.rmtree(self.folder)


class PatroniNode:
    """Use as a context manager: one machine, with Patroni and the PostgreSQL that it runs."""

    def __init__(self, etcd: Etcd, name: str) -> None:
        self.etcd, self.name = etcd, name
        self.port, self.own_port = free_port(), free_port()

    def __enter__(self) -> PatroniNode:
        self.folder = new_folder()
        self.data = self.folder / "data"
        file = self.folder / "patroni.yml"
        file.write_text(json.dumps(self._configuration()))  # which is YAML, too
        file.chmod(0o644)
        self.process = start([PATRONI, file], self.folder, ENVIRONMENT)
        return self

    def __exit__(self, *_: object) -> None:
        self.die()
        shutil.rmtree(self.folder)

    def die(self) -> None:
        """Kill all that runs here, as the end of its machine would."""
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait(timeout=30)
        with contextlib.suppress(OSError, ValueError):
            server = int((self.data / "postmaster.pid").read_text().partition("\n")[0])
            os.kill(server, signal.SIGSTOP)  # so that it starts no further process meanwhile
            for process in [*children(server), server]:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(process, signal.SIGKILL)
            wait_until(lambda: not Path(f"/proc/{server}").exists(), "PostgreSQL is gone")

    def is_primary(self) -> bool:
        return status(f"http://127.0.0.1:{self.own_port}/primary") == 200

    def is_synchronous_standby(self) -> bool:
        return status(f"http://127.0.0.1:{self.own_port}/sync") == 200

    def wait_until(self, condition, what: str) -> None:
        """Fail with the log of Patroni where this never comes to pass."""
        try:
            wait_until(condition, what, seconds=START_SECONDS)
        except AssertionError:
            raise AssertionError(f"never {what}: {(self.folder / 'log').read_text()[-4_000:]}") from None

    def execute(self, *statements: str) -> None:
        with psycopg.connect(host="127.0.0.1", port=self.port, user="postgres", autocommit=True) as connection:
            for statement in statements:
                connection.execute(statement.encode())

    def _configuration(self) -> dict:
        people = {name: {"username": name} for name in ("superuser", "replication")}
        people["superuser"]["username"] = "postgres"
        return {
            "scope": "shop",
            "name": self.name,
            "etcd3": {"host": f"127.0.0.1:{self.etcd.port}"},
            "restapi": {
                "listen": f"127.0.0.1:{self.own_port}",
                "connect_address": f"127.0.0.1:{self.own_port}",
            },
            "bootstrap": {"dcs": CLUSTER, "initdb": [{"encoding": "UTF8"}, "no-sync"]},
            "postgresql": {
                "listen": f"127.0.0.1:{self.port}",
                "connect_address": f"127.0.0.1:{self.port}",
                "data_dir": str(self.data),
                "bin_dir": str(Postgres(self.folder, durable=False).binaries()),
                "pgpass": str(self.folder / "pgpass"),
                "basebackup": [{"checkpoint": "fast"}],
                "authentication": people,
                "parameters": {"unix_socket_directories": ""},
                "pg_hba": ["host all all 127.0.0.1/32 trust", "host replication all 127.0.0.1/32 trust"],
            },
        }


def status(url: str) -> int:
    """Return the status of the answer, 0 for none."""
    try:
        with urllib.request.urlopen(url, timeout=5) as response:
            return response.status
    except urllib.error.HTTPError as error:
        return error.code
    except OSError:
        return 0


def children(parent: int) -> list[int]:
    found = []
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError, ValueError):
            fields = (entry / "stat").read_text().rpartition(")")[2].split()
            if int(fields[1]) == parent:
                found.append(int(entry.name))
    return found
