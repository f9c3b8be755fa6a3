"""The processes of one ``up``: they end together, with it, however it ends.

``up.lock`` is a lock that the kernel keeps. The children inherit it, so it is free once the last of them is gone, and
an ``up`` that starts after a killed one waits for that. The file says who holds it, for the one that comes second.
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from config.processes import parent_watch
from config.processes.files import open_lock, try_lock
from verification.core.errors import UserError

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
STOP_SECONDS = 10.0  # from SIGTERM to SIGKILL
LEFT_SECONDS = parent_watch.GRACE_SECONDS + 5  # what children may need to notice that their parent was killed
TICK_SECONDS = 0.1


def claim(home: Path, url: str) -> int:
    """Become the one ``up`` of this home, for the life of the process, and return the lock.

    Raises :class:`UserError` where there is another one, or the home cannot be written.
    """
    try:
        home.mkdir(parents=True, exist_ok=True)
        lock = open_lock(home / "up.lock")
    except OSError as error:
        raise UserError(
            f"Cannot write in {home}: {error.strerror}. Set WATCHWORD_HOME to a folder of your own."
        ) from None
    deadline = time.monotonic() + LEFT_SECONDS
    while not try_lock(lock):
        holder = os.pread(lock, 500, 0).decode(errors="replace")
        if not holder or _is_alive(holder):
            raise UserError(f"Watchword already runs here ({holder or 'just starting'}).")
        if time.monotonic() > deadline:
            raise UserError("Processes of an earlier start are still running. Stop them and start again.")
        time.sleep(TICK_SECONDS)
    os.ftruncate(lock, 0)
    os.pwrite(lock, f"pid {os.getpid()}, {url}".encode(), 0)
    return lock


def running_url(home: Path) -> str:
    """Return the address that the ``up`` of this home listens at, or "" where none runs."""
    try:
        holder = (home / "up.lock").read_text()
    except OSError:
        return ""
    return holder.partition(", ")[2] if _is_alive(holder) else ""


class Processes:
    """A context whose processes run until it is left, by whatever way."""

    def __init__(self, lock: int) -> None:
        self._lock = lock
        self._pipe_end, self._pipe = os.pipe()
        self._started: dict[str, subprocess.Popen[bytes]] = {}

    def start(self, name: str, command: Sequence[str], environment: Mapping[str, str]) -> None:
        """Start a process as the leader of a group of its own, so that Ctrl-C reaches only ``up``."""
        self._started[name] = subprocess.Popen(
            command,
            env={**environment, parent_watch.VARIABLE: str(self._pipe_end)},
            stdin=subprocess.DEVNULL,
            pass_fds=(self._pipe_end, self._lock),
            start_new_session=True,
        )

    def check(self) -> None:
        """Raise :class:`UserError` once one has ended."""
        for name, process in self._started.items():
            if (status := process.poll()) is not None:
                ending = f"killed by {signal.Signals(-status).name}" if status < 0 else f"exit code {status}"
                raise UserError(f"The {name} ended ({ending}), so everything was stopped.")

    def wait_until(self, is_ready: Callable[[], bool], *, seconds: float) -> None:
        """Wait until the service is ready. Raises :class:`UserError` when a process or the time ends before that."""
        deadline = time.monotonic() + seconds
        while not is_ready():
            self.check()
            if time.monotonic() > deadline:
                raise UserError(f"The service does not answer after {seconds:.0f} s.")
            time.sleep(TICK_SECONDS / 2)

    def __enter__(self) -> Processes:
        return self

    def __exit__(self, *_: object) -> None:
        """Send SIGTERM, wait ``STOP_SECONDS``, send SIGKILL to what is left. A second signal to us ends the wait."""
        deadline = time.monotonic() + STOP_SECONDS

        def hurry(*_: object) -> None:
            nonlocal deadline
            deadline = 0.0

        for number in SIGNALS:
            signal.signal(number, hurry)
        for process in self._started.values():
            process.terminate()
        while any(process.poll() is None for process in self._started.values()) and time.monotonic() < deadline:
            time.sleep(TICK_SECONDS / 2)
        for process in self._started.values():
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()


def _is_alive(holder: str) -> bool:
    """Return whether the process that took the lock runs. A killed one's children may hold the lock a while longer."""
    try:
        os.kill(int(holder.partition(",")[0].removeprefix("pid ")), 0)
    except PermissionError:
        return True
    except (ProcessLookupError, ValueError):
        return False
    return True
