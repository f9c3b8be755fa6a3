"""The supervisor of one ``up``: it starts the processes, restarts one that dies, and stops them all.

Two facts are file locks, which the kernel keeps, so that no process id has to be believed:

- ``up.lock``: a supervisor lives here. It also says who and where, for the one that comes second.
- ``up.children``: the children inherit it, so it stays locked until the last of them is gone. A supervisor that starts
  after a killed one waits for that.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from config.processes import lifeline
from config.processes.files import open_lock, try_lock
from verification.errors import Misuse

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
STOP_SECONDS = 10.0  # from SIGTERM to SIGKILL
LEFT_SECONDS = lifeline.GRACE_SECONDS + 5  # what children may need to notice that their parent was killed
TICK_SECONDS = 0.1
RESTARTS = 5  # of one process within RESTART_WINDOW seconds; after one more everything is stopped
RESTART_WINDOW = 60.0
FIRST_PAUSE = 0.5  # seconds before a restart; the pause doubles with every further one


class Claim:
    """The right to be the one supervisor of this home, for the life of the process."""

    def __init__(self, home: Path, url: str) -> None:
        try:
            home.mkdir(parents=True, exist_ok=True)
            self._lock = open_lock(home / "up.lock")
            self.children = open_lock(home / "up.children")
        except OSError as error:
            raise Misuse(
                f"Cannot write in {home}: {error.strerror}. Set WATCHWORD_HOME to a folder of your own."
            ) from None
        if not try_lock(self._lock):
            raise Misuse(f"Watchword already runs here ({_read(self._lock)}).")
        os.ftruncate(self._lock, 0)
        os.pwrite(self._lock, f"pid {os.getpid()}, {url}".encode(), 0)
        deadline = time.monotonic() + LEFT_SECONDS
        while not try_lock(self.children):
            if time.monotonic() > deadline:
                raise Misuse("Processes of an earlier start do not end. Stop them and start again.")
            time.sleep(TICK_SECONDS)


def running_url(home: Path) -> str:
    """Return the address that the latest ``up`` of this home listens at, or "" where there was none."""
    try:
        told = (home / "up.lock").read_text()
    except OSError:
        return ""
    return told.partition(", ")[2]


class Child:
    """One process of the service. It leads a process group of its own, so that Ctrl-C reaches only the supervisor."""

    def __init__(self, name: str, command: Sequence[str], environment: Mapping[str, str]) -> None:
        self.name = name
        self._command = list(command)
        self._environment = dict(environment)
        self._process: subprocess.Popen[bytes] | None = None
        self.starts: deque[float] = deque(maxlen=RESTARTS + 1)
        self.start_at = 0.0

    def start(self, *, lifeline_end: int, claim: int) -> None:
        self.starts.append(time.monotonic())
        self._process = subprocess.Popen(
            self._command,
            env={**self._environment, lifeline.VARIABLE: str(lifeline_end)},
            stdin=subprocess.DEVNULL,
            pass_fds=(lifeline_end, claim),
            start_new_session=True,
        )

    def is_running(self) -> bool:
        return self._process is not None and not self._has_ended()

    def signal(self, number: signal.Signals) -> None:
        if self._process is not None:  # not yet reaped, so the number is surely its own
            os.kill(self._process.pid, number)

    def reap(self) -> str:
        """End what is left of the group, reap its leader, and return how that ended.

        The group's number is surely ours only until its leader is reaped.
        """
        assert self._process is not None
        with contextlib.suppress(ProcessLookupError, PermissionError):  # macOS: a group of zombies is not permitted
            os.killpg(self._process.pid, signal.SIGKILL)
        status = self._process.wait()
        self._process = None
        return f"killed by {signal.Signals(-status).name}" if status < 0 else f"exit code {status}"

    @property
    def is_reaped(self) -> bool:
        return self._process is None

    def _has_ended(self) -> bool:
        assert self._process is not None
        options = os.WEXITED | os.WNOHANG | os.WNOWAIT
        return os.waitid(os.P_PID, self._process.pid, options) is not None


class Supervisor:
    """A context whose children run until it is left, by whatever way."""

    def __init__(self, claim: Claim, children: Sequence[Child], say: Callable[[str], None]) -> None:
        self._claim = claim
        self._children = children
        self._say = say
        self._lifeline_end, self._lifeline = os.pipe()

    def __enter__(self) -> Supervisor:
        for child in self._children:
            self._start(child)
        return self

    def __exit__(self, *_: object) -> None:
        """Send SIGTERM, wait ``STOP_SECONDS``, send SIGKILL. A second signal to us ends the wait."""
        for number in SIGNALS:
            signal.signal(number, lambda *_: self._signal(signal.SIGKILL))
        self._signal(signal.SIGTERM)
        deadline = time.monotonic() + STOP_SECONDS
        while any(child.is_running() for child in self._children) and time.monotonic() < deadline:
            time.sleep(TICK_SECONDS / 2)
        for child in self._children:
            if not child.is_reaped:
                child.reap()

    def wait_until(self, is_ready: Callable[[], bool], *, seconds: float) -> None:
        """Wait until the service is ready. Raises :class:`Misuse` when a child or the time ends before that."""
        deadline = time.monotonic() + seconds
        while not is_ready():
            for child in self._children:
                if not child.is_running():
                    raise Misuse(f"The {child.name} did not start ({child.reap()}).")
            if time.monotonic() > deadline:
                raise Misuse(f"The service does not answer after {seconds:.0f} s.")
            time.sleep(TICK_SECONDS / 2)

    def check_children(self) -> None:
        """Start children that have ended again, after a pause. Raises :class:`Misuse` for one that keeps ending."""
        now = time.monotonic()
        for child in self._children:
            if child.is_reaped and now >= child.start_at:
                self._start(child)
            elif not child.is_reaped and not child.is_running():
                self._plan_restart(child, child.reap())

    def _plan_restart(self, child: Child, ending: str) -> None:
        now = time.monotonic()
        recent = [moment for moment in child.starts if now - moment < RESTART_WINDOW]
        if len(recent) > RESTARTS:
            raise Misuse(f"The {child.name} keeps ending ({ending}), so everything was stopped.")
        pause = FIRST_PAUSE * 2 ** max(0, len(recent) - 1)
        child.start_at = now + pause
        self._say(f"The {child.name} ended ({ending}); it is started again in {pause:g} s.")

    def _start(self, child: Child) -> None:
        child.start(lifeline_end=self._lifeline_end, claim=self._claim.children)

    def _signal(self, number: signal.Signals) -> None:
        for child in self._children:
            child.signal(number)


def _read(descriptor: int) -> str:
    return os.pread(descriptor, 500, 0).decode(errors="replace") or "just starting"
