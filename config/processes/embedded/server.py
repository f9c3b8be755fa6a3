"""A server from a wheel: started outside our session, watched by a lock, stopped by a signal."""

import contextlib
import fcntl
import hashlib
import importlib.util
import os
import re
import signal
import socket
import stat
import subprocess
import time
from pathlib import Path
from typing import Any

from config.processes.files import lock_file, open_private, try_lock

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

# The servers need nothing from our environment, which may hold secrets.
ENVIRONMENT = {"PATH": os.defpath, "LC_ALL": "C", "TZ": "UTC"}


class EmbeddedUnavailable(RuntimeError):
    """One line for the operator: what is missing or failed, and what to do or read."""


class Server:
    """A server with one lock, one log and one socket, which is started detached and stopped by a signal."""

    key: str
    name: str
    package: str
    remedy: str
    socket_name: str
    stop_signal: signal.Signals

    def __init__(self, home: Path) -> None:
        self.home = home
        self.user: list[str] = []  # what goes before a command, to run it as another user
        digest = hashlib.sha256(os.fsencode(home)).hexdigest()
        self.socket_folder = SOCKETS / f"watchword-{os.geteuid()}-{digest[:8]}"
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
        with lock_file(self.lock) as lock:
            return not try_lock(lock, fcntl.LOCK_EX)

    def ensure(self) -> None:
        """Share the running server, wait for a dying one to be gone, or start one."""
        claim_folder(self.socket_folder)
        deadline = time.monotonic() + START_SECONDS
        with lock_file(self.lock) as lock:
            while not try_lock(lock, fcntl.LOCK_EX):
                if self.answers():
                    return
                if time.monotonic() > deadline:
                    raise EmbeddedUnavailable(f"{self.name} runs but does not answer at {self.socket}; see {self.log}.")
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
            given: dict[str, Any] = {"stdin": subprocess.DEVNULL, "stdout": log, "stderr": log, **arguments}
            done = subprocess.run([*self.user, *command], cwd="/", env=ENVIRONMENT, umask=0o077, **given)
            if done.returncode != 0:
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


def claim_folder(path: Path) -> None:
    """Make a private folder in a place open to all; accept an existing one only if no stranger can have made it."""
    with contextlib.suppress(FileExistsError):
        path.mkdir(0o700)
    found = path.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid() or found.st_mode & 0o077:
        raise EmbeddedUnavailable(f"{path} exists but is not a private folder of Watchword; remove it and start again.")


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
