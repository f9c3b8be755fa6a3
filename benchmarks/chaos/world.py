"""The parts of the service under chaos, each of which a fault can take, and how they are brought back."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks.chaos import HOME
from benchmarks.chaos.gateway import Gateways
from benchmarks.chaos.links import Link
from benchmarks.common.service import ROOT
from config.processes.embedded.postgres import NOBODY, not_root
from tests.live import LiveService, free_port
from tests.protocol.nodes import SETTINGS
from tests.servers.pgbouncer import PROGRAM, PgBouncer
from tests.servers.postgres import PostgresServer
from tests.servers.valkey import ValkeyServer
from tests.upgrade import versions

SHARED = ("SECRET_KEY", "ENCRYPTION_KEYS", "BASE_URL")
DISK_MIB = 600  # of PostgreSQL's disk: its data, and room for what an hour writes
COPY, MOUNT, UNMOUNT = "/bin/cp", "/bin/mount", "/bin/umount"
BODY = '{"message_id":"{message_id}","to":"{to}","channel":"{channel}","code":"{code}","hook_url":"{hook_url}"}'
GATEWAY = ("has_receipts=true", "receipt_id_field=id", "receipt_status_field=status", "receipt_success=delivered")
GATEWAY += ("receipt_failed=undelivered", "receipt_sent=sent")


class SmallDisk(PostgresServer):
    """A PostgreSQL whose data are on a disk of their own, in memory, which can be filled."""

    def start(self) -> None:
        disk = self.folder / "disk"
        if not disk.exists():
            disk.mkdir()
            options = f"size={DISK_MIB}m,uid={NOBODY},gid={NOBODY},mode=700"
            subprocess.run([MOUNT, "-t", "tmpfs", "-o", options, "tmpfs", str(disk)], check=True)
            subprocess.run([COPY, "-a", str(self.data), str(disk / "data")], check=True)
            self.data = disk / "data"
            with (self.data / "postgresql.conf").open("a") as configured:
                configured.write("\nmax_wal_size = '96MB'\nmin_wal_size = '32MB'\n")
        super().start()

    def __exit__(self, *_: object) -> None:
        disk = self.folder / "disk"
        self.empty()
        with contextlib.suppress(Exception):
            self.stop(signal.SIGQUIT)
        subprocess.run([UNMOUNT, "-l", str(disk)], check=False)
        shutil.rmtree(self.folder, ignore_errors=True)

    def fill(self) -> None:
        # Closing the file writes once more, which may fail as well.
        with contextlib.suppress(OSError), (self.folder / "disk" / "ballast").open("wb") as ballast:
            while True:
                ballast.write(b"\0" * 65_536)
                ballast.flush()

    def empty(self) -> None:
        (self.folder / "disk" / "ballast").unlink(missing_ok=True)

    def revive(self) -> None:
        """Start it again if it ended."""
        if self.process.poll() is not None:
            self.start()


class Pooler(PgBouncer):
    """A pooler that can be started again."""

    def revive(self) -> None:
        if self.process.poll() is None:
            return
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(
                [*not_root(), str(PROGRAM), self.folder / "pgbouncer.ini"],
                stdout=log,
                stderr=log,
                start_new_session=True,
                cwd="/",
            )


class World:
    """All the parts, each of which a fault can take."""

    def __init__(self, seed: int, stack: contextlib.ExitStack, *, old_code: Path | None) -> None:
        self.seed = seed
        self.home = Path(tempfile.mkdtemp(prefix="chaos-", dir=HOME))
        stack.callback(shutil.rmtree, self.home, ignore_errors=True)
        self.postgres = stack.enter_context(SmallDisk(is_migrated=old_code is None))
        self.pooler = stack.enter_context(Pooler(self.postgres))
        self.valkey = stack.enter_context(ValkeyServer())
        self.links = {
            (node, name): stack.enter_context(Link(target))
            for node in (0, 1)
            for name, target in (("database", self.pooler.port), ("valkey", self.valkey.port))
        }
        self.nodes: list[LiveService] = []
        self.previous: set[int] = set()  # the ports on which the previous release answers
        base_url = f"http://127.0.0.1:{free_port()}"
        for number in (0, 1):
            database = self.pooler.url.replace(str(self.pooler.port), str(self.links[number, "database"].port))
            cache = self.valkey.url.replace(str(self.valkey.port), str(self.links[number, "valkey"].port))
            shared = {name: self.nodes[0].environment[name] for name in SHARED} if self.nodes else {}
            urls = {"DATABASE_URL": database, "REDIS_URL": cache, "DATABASE_POOLER": "transaction"}
            home = self.home / f"node{number}"
            home.mkdir()
            node = LiveService(
                home, is_embedded=False, web_processes=1, **{"BASE_URL": base_url, **shared, **urls, "WEB_THREADS": "8"}
            )
            stack.callback(self._end, node)
            self.nodes.append(node)
            if old_code:
                node.root, node.interpreter = old_code / "code", str(old_code / "venv" / "bin" / "python")
                self.previous.add(node.port)
        self.nodes[0].manage("migrate", "--verbosity", "0")  # where all is there, the functions alone
        for node in self.nodes:
            self.revive_node(node)

    def open_project(self, gateways: Gateways) -> dict[str, str]:
        node = self.nodes[0]
        made = node.json("createproject", "Chaos")
        node.manage("setproject", str(made["project"]), *SETTINGS)
        for priority, (name, server) in enumerate(gateways.servers.items(), start=1):
            given = [f"--set=url={server.url}/{name}", f"--set=body={BODY}", *(f"--set={each}" for each in GATEWAY)]
            options = ["--channel", "sms", "--type", "http", "--name", name, "--priority", str(priority)]
            node.json("addprovider", str(made["project"]), *options, *given)
        self.postgres.execute("UPDATE verification_channel SET daily_budget = 0", database="watchword")
        return {"api": made["api_key"], "secret": made["secret_key"]}

    def revive_node(self, node: LiveService) -> None:
        for name in ("web", "worker0"):
            process = node.processes.get(name)
            if process is None or process.poll() is not None:
                node.processes.pop(name, None)
                self._start(node, name)

    def _start(self, node: LiveService, name: str) -> None:
        """Start a part without waiting for it: what it needs may be away."""
        with _without_waiting():
            node.start_web() if name == "web" else node.start_worker(name)

    def take(self, node: LiveService, name: str, number: int) -> None:
        process = node.processes.get(name)
        if process is None:
            return
        try:
            node.kill(name, number)
        except subprocess.TimeoutExpired:
            if node.root == ROOT:
                raise
            os.killpg(process.pid, signal.SIGKILL)  # the previous release's worker can miss a signal as it starts
            process.wait()

    def signal_tree(self, root: int, number: int) -> None:
        for pid in [root, *_descendants(root)]:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)

    def mend(self) -> None:
        """Bring everything back that was taken."""
        for link in self.links.values():
            link.mend()
        self.postgres.empty()
        for process in (self.postgres.process, self.pooler.process, self.valkey.process):
            self.signal_tree(process.pid, signal.SIGCONT)
        self.postgres.revive()
        self.pooler.revive()
        if self.valkey.process.poll() is not None:
            self.valkey.start()
        for node in self.nodes:
            for process in node.processes.values():
                self.signal_tree(process.pid, signal.SIGCONT)
            self.revive_node(node)

    def upgrade(self) -> None:
        """Migrate, and replace the old release by this checkout, part by part, while callers call."""
        for node in self.nodes:
            node.root, node.interpreter = ROOT, sys.executable
        self.nodes[0].manage("migrate", "--verbosity", "0")
        for node in self.nodes:
            self.previous.discard(node.port)
            for name in ("web", "worker0"):
                self.take(node, name, signal.SIGTERM)
                self.revive_node(node)
                time.sleep(4)

    def keep_logs(self) -> Path:
        """Copy what the parts wrote to a folder that stays, and return it."""
        kept = HOME / f"logs-{self.seed}"
        shutil.rmtree(kept, ignore_errors=True)
        for number, node in enumerate(self.nodes):
            (kept / f"node{number}").mkdir(parents=True)
            for file in node.home.glob("*.out"):
                shutil.copy(file, kept / f"node{number}")
        return kept

    def check_integrity(self) -> str:
        """Return what ``checkintegrity`` of this checkout finds; "{}" is nothing."""
        node = self.nodes[0]
        node.root, node.interpreter = ROOT, sys.executable
        return str(node.json("checkintegrity")["violations"])

    def _end(self, node: LiveService) -> None:
        for name, process in list(node.processes.items()):
            self.signal_tree(process.pid, signal.SIGCONT)
            node.kill(name)


def previous_release() -> Path:
    """Return a folder with the previous release and the packages that it asks for, made once."""
    commit = versions.previous_commit()
    folder = HOME / f"release-{commit[:12]}"
    if not (folder / "made").exists():
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        versions.interpreter_of(versions.unpack(commit, folder / "code"), folder / "venv")
        (folder / "made").touch()
    return folder


@contextlib.contextmanager
def _without_waiting() -> Iterator[None]:
    """Have LiveService start a process and go on."""
    import tests.live

    wait, tests.live.wait_until = tests.live.wait_until, lambda *_, **__: None
    try:
        yield
    finally:
        tests.live.wait_until = wait


def _descendants(root: int) -> list[int]:
    found, ahead = [], [root]
    while ahead:
        pid = ahead.pop()
        with contextlib.suppress(OSError):
            children = [int(each) for each in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
            found += children
            ahead += children
    return found
