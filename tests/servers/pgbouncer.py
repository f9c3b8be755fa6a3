"""The real PgBouncer in transaction mode, as Debian's package has it, before a PostgreSQL of the tests."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

import psycopg

from config.processes.embedded.postgres import not_root
from tests.live import free_port, wait_until
from tests.servers.postgres import USER, PostgresServer
from tests.snippets import block

# Another version can be tried: PGBOUNCER=/path/to/pgbouncer. Debian keeps it where only root's PATH looks.
PROGRAM = os.environ.get("PGBOUNCER") or shutil.which("pgbouncer", path=f"{os.environ['PATH']}:/usr/sbin")
CONFIGURATION = """
[databases]
* = host=127.0.0.1 port={server}

[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {port}
unix_socket_dir =
admin_users = {user}
auth_type = trust
auth_file = {users}
{shown}
{more}
"""
# What docs/engineering/scale.md shows, with the size of a pool that a test asks for.
SHOWN = block("docs/engineering/scale.md", "ini").replace("[pgbouncer]\n", "")


def version() -> tuple[int, ...]:
    """The installed one; nothing where none is."""
    told = subprocess.run([PROGRAM, "--version"], capture_output=True, text=True).stdout if PROGRAM else ""
    return tuple(map(int, re.findall(r"\d+", told)[:2]))


class PgBouncer:
    """Use as a context manager. ``more`` are lines of its configuration."""

    def __init__(self, server: PostgresServer, *, pool_size: int = 10, more: str = "") -> None:
        self.server, self.port = server, free_port()
        shown, count = re.subn(r"default_pool_size = \d+", f"default_pool_size = {pool_size}", SHOWN)
        assert count == 1
        self.settings = {"server": server.port, "port": self.port, "shown": shown, "more": more}

    def __enter__(self) -> PgBouncer:
        self.folder = Path(tempfile.mkdtemp(prefix="watchword-"))
        self.folder.chmod(0o755)
        users = self.folder / "users.txt"
        users.write_text(f'"{USER}" ""\n')
        file = self.folder / "pgbouncer.ini"
        file.write_text(CONFIGURATION.format(**self.settings, user=USER, users=users))
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(
                [*not_root(), str(PROGRAM), file], stdout=log, stderr=log, start_new_session=True, cwd="/"
            )
        wait_until(self.answers, "PgBouncer answers")
        return self

    def __exit__(self, *_: object) -> None:
        self.process.terminate()
        self.process.wait(timeout=30)
        shutil.rmtree(self.folder)

    @property
    def url(self) -> str:
        return f"postgres://{USER}@127.0.0.1:{self.port}/{USER}"

    def answers(self) -> bool:
        assert self.process.poll() is None, (self.folder / "log").read_text()
        try:
            return bool(self.show("VERSION"))
        except psycopg.OperationalError:
            return False

    def show(self, what: str) -> list[tuple]:
        """Ask its console, which speaks the simple protocol alone."""
        address = f"host=127.0.0.1 port={self.port} user={USER} dbname=pgbouncer"
        connection = psycopg.connect(address, autocommit=True, cursor_factory=psycopg.ClientCursor)
        try:
            return connection.execute(f"SHOW {what}".encode()).fetchall()
        finally:
            connection.close()
