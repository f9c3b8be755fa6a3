"""Keeps the processes of one ``up`` running: starts them, restarts the one that dies, stops them all.

Two facts are flocks, kept by the kernel, so that no process id has to be believed:

- ``up.lock``: a supervisor lives here. It also says who and where, for the one that comes second.
- ``up.children``: inherited by the children, so it stays locked until the last of them is gone. Whoever starts after a
  killed supervisor waits for that.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import signal
import subprocess
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from config.processes import lifeline
from verification.errors import Misuse

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
STOP_SECONDS = 10.0  # from SIGTERM to SIGKILL
LEFT_SECONDS = lifeline.GRACE_SECONDS + 5  # what children may need to notice that their parent was killed
TICK_SECONDS = 0.1
RESTARTS = 5  # at most so many within RESTART_WINDOW
RESTART_WINDOW = 60.0
FIRST_PAUSE = 0.5  # before a restart; doubles with every further one


class Claim:
    """The right to be the one supervisor of this home, for the life of the process."""

    def __init__(self, home: Path, url: str) -> None:
        try:
            home.mkdir(parents=True, exist_ok=True)
            self._lock = _open(home / "up.lock")
            self.children = _open(home / "up.children")
        except OSError as error:
            raise Misuse(
                f"Cannot write in {home}: {error.strerror}. Set WATCHWORD_HOME to a folder of your own."
            ) from None
        if not _try_lock(self._lock):
            raise Misuse(f"Watchword already runs here ({_read(self._lock)}).")
        os.ftruncate(self._lock, 0)
        os.pwrite(self._lock, f"pid {os.getpid()}, {url}".encode(), 0)
        deadline = time.monotonic() + LEFT_SECONDS
        while not _try_lock(self.children):
            if time.monotonic() > deadline:
                raise Misuse("Processes of an earlier start do not end. Stop them and start again.")
            time.sleep(TICK_SECONDS)


class Child:
    """One process that is to run. It leads a group of its own, so that Ctrl-C reaches only the supervisor."""

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

    def bury(self) -> str:
        """End what is left of the group, then reap its leader: until then the number of the group is surely ours.
        Returns how it ended."""
        assert self._process is not None
        with contextlib.suppress(ProcessLookupError, PermissionError):  # macOS: a group of zombies is not permitted
            os.killpg(self._process.pid, signal.SIGKILL)
        status = self._process.wait()
        self._process = None
        return f"killed by {signal.Signals(-status).name}" if status < 0 else f"exit code {status}"

    @property
    def is_buried(self) -> bool:
        return self._process is None

    def _has_ended(self) -> bool:
        assert self._process is not None
        options = os.WEXITED | os.WNOHANG | os.WNOWAIT
        return os.waitid(os.P_PID, self._process.pid, options) is not None


class Supervisor:
    """Use as a context: leaving it, however, stops the children."""

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
        """SIGTERM, some patience, SIGKILL. A second signal to us ends the patience."""
        for number in SIGNALS:
            signal.signal(number, lambda *_: self._signal(signal.SIGKILL))
        self._signal(signal.SIGTERM)
        deadline = time.monotonic() + STOP_SECONDS
        while any(child.is_running() for child in self._children) and time.monotonic() < deadline:
            time.sleep(TICK_SECONDS / 2)
        for child in self._children:
            if not child.is_buried:
                child.bury()

    def wait_until(self, is_ready: Callable[[], bool], *, seconds: float) -> None:
        """Raises :class:`Misuse` when a child ends before that, or the time does."""
        deadline = time.monotonic() + seconds
        while not is_ready():
            for child in self._children:
                if not child.is_running():
                    raise Misuse(f"The {child.name} did not start ({child.bury()}).")
            if time.monotonic() > deadline:
                raise Misuse(f"The service does not answer after {seconds:.0f} s.")
            time.sleep(TICK_SECONDS / 2)

    def tend(self) -> None:
        """One look at the children; the dead are started again after a pause. Raises :class:`Misuse` for one that
        keeps dying."""
        now = time.monotonic()
        for child in self._children:
            if child.is_buried and now >= child.start_at:
                self._start(child)
            elif not child.is_buried and not child.is_running():
                self._mourn(child, child.bury())

    def _mourn(self, child: Child, ending: str) -> None:
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


def _open(path: Path) -> int:
    return os.open(path, os.O_RDWR | os.O_CREAT, 0o600)


def _try_lock(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _read(descriptor: int) -> str:
    return os.pread(descriptor, 500, 0).decode(errors="replace") or "just starting"
