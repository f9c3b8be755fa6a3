"""Chaos: the whole service under load while its parts are killed, frozen, cut off, filled up and upgraded.

Two web servers and two workers, PostgreSQL on a small disk behind PgBouncer, Valkey, two bad gateways and an address of
callbacks, all on loopback. The seed decides which fault comes when, and what callers and gateways do. At the end
everything is mended, what waits is waited for, and ``chaos_judge`` holds what the callers saw, the gateways received
and the callbacks told against the promises. Only processes that it started are touched. It needs root, for the small
disk, and Debian's pgbouncer; for clocks that are wrong, Debian's libfaketime.

    python -m benchmarks.chaos --minutes 60 --seed 1
    python -m benchmarks.chaos --minutes 4 --only disk,cut
"""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
HOME = ROOT / "var" / "benchmarks" / "chaos"
os.environ.update(
    DJANGO_SETTINGS_MODULE="config.settings",
    WATCHWORD_HOME=str(HOME / "settings"),
    EMBEDDED_DURABLE="false",
)

from benchmarks.chaos_callers import Answer, Callers, Sent  # noqa: E402 - the settings are read below
from benchmarks.chaos_gateway import MOODS, Callbacks, Gateways  # noqa: E402
from benchmarks.chaos_judge import FINAL, Fault, judge, judge_callbacks  # noqa: E402
from benchmarks.chaos_links import Link  # noqa: E402
from benchmarks.service import machine  # noqa: E402
from tests.live import LiveService, free_port, wait_until  # noqa: E402
from tests.servers.pgbouncer import PROGRAM, PgBouncer  # noqa: E402
from tests.servers.postgres import PostgresServer  # noqa: E402
from tests.servers.valkey import ValkeyServer  # noqa: E402
from tests.upgrade import versions  # noqa: E402

SHARED = ("SECRET_KEY", "ENCRYPTION_KEYS", "BASE_URL")
CALLERS = 6
SHOWN = 40  # broken promises that are told one by one
DISK_MIB = 600  # of PostgreSQL's disk: its data, and room for what an hour writes
CALM_SECONDS = (2.0, 5.0)  # between two faults
LASTS_SECONDS = (3.0, 10.0)  # a fault that has a length
CLOCK_SECONDS = 300  # by which a machine's clock is wrong
SETTLE_SECONDS = 420.0  # for what waits at the end: retries of callbacks, back-offs, leases
COPY, MOUNT, UNMOUNT = "/bin/cp", "/bin/mount", "/bin/umount"
FAKETIME = Path("/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1")
SETTINGS = ("requests_per_second=0", "traffic_guard=off", "guess_wrong_checks=0", "guess_network_recipients=0")
SETTINGS += ("guess_same_value_sessions=0",)
BODY = '{"message_id":"{message_id}","to":"{to}","channel":"{channel}","code":"{code}","hook_url":"{hook_url}"}'
GATEWAY = ("has_receipts=true", "receipt_id_field=id", "receipt_status_field=status", "receipt_success=delivered")
GATEWAY += ("receipt_failed=undelivered", "receipt_sent=sent")


class SmallDisk(PostgresServer):
    """A PostgreSQL whose data are on a disk of their own, in memory, which can be filled."""

    def start(self) -> None:
        disk = self.folder / "disk"
        if not disk.exists():
            disk.mkdir()
            options = f"size={DISK_MIB}m,uid={self.account.uid},gid={self.account.gid},mode=700"
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
        with (self.folder / "disk" / "ballast").open("wb") as ballast, contextlib.suppress(OSError):
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
    def revive(self) -> None:
        if self.process.poll() is None:
            return
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(
                [str(PROGRAM), self.folder / "pgbouncer.ini"],
                stdout=log,
                stderr=log,
                start_new_session=True,
                **self.server._as_owner(),
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
        if name in node.processes:
            node.kill(name, number)

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

    def _end(self, node: LiveService) -> None:
        for name, process in list(node.processes.items()):
            self.signal_tree(process.pid, signal.SIGCONT)
            node.kill(name)


# --- faults ------------------------------------------------------------------------------------------------------


def faults_of(world: World, gateways: Gateways, chance: random.Random) -> dict[str, Callable[[float], None]]:
    """Return every fault by its name. Each gets how long it lasts, in seconds; what it took is mended afterwards."""

    def node() -> LiveService:
        return chance.choice(world.nodes)

    def kill(name: str, number: int) -> Callable[[float], None]:
        def strike(seconds: float) -> None:
            world.take(node(), name, number)
            time.sleep(min(seconds, 4))

        return strike

    def freeze(find: Callable[[], int]) -> Callable[[float], None]:
        def strike(seconds: float) -> None:
            root = find()
            world.signal_tree(root, signal.SIGSTOP)
            time.sleep(seconds)
            world.signal_tree(root, signal.SIGCONT)

        return strike

    def freeze_worker_beyond_its_lease(_: float) -> None:
        freeze(lambda: node().processes["worker0"].pid)(35.0)

    def stop(server: Any, number: int) -> Callable[[float], None]:
        def strike(seconds: float) -> None:
            server.process.send_signal(number)
            with contextlib.suppress(subprocess.TimeoutExpired):
                server.process.wait(timeout=10)
            time.sleep(min(seconds, 5))

        return strike

    def flush(_: float) -> None:
        with world.valkey.client() as client:
            client.flushall()

    def cut(name: str) -> Callable[[float], None]:
        def strike(seconds: float) -> None:
            world.links[chance.randrange(2), name].cut()
            time.sleep(seconds)

        return strike

    def slow(name: str) -> Callable[[float], None]:
        def strike(seconds: float) -> None:
            world.links[chance.randrange(2), name].delay = chance.choice((0.05, 0.2, 0.5))
            time.sleep(seconds)

        return strike

    def fill_the_disk(seconds: float) -> None:
        world.postgres.fill()
        time.sleep(seconds)

    def set_clock(seconds: float) -> None:
        found = node()
        by = chance.choice((CLOCK_SECONDS, -CLOCK_SECONDS))
        before = found.environment
        found.environment = {
            **before,
            "LD_PRELOAD": str(FAKETIME),
            "FAKETIME": f"{by:+d}s",
            "FAKETIME_DONT_FAKE_MONOTONIC": "1",
            "DONT_FAKE_MONOTONIC": "1",
        }
        try:
            for name in ("web", "worker0"):
                world.take(found, name, signal.SIGTERM)
            world.revive_node(found)
            time.sleep(10 + seconds)
        finally:
            found.environment = before
            for name in ("web", "worker0"):
                world.take(found, name, signal.SIGTERM)

    def mood(name: str) -> Callable[[float], None]:
        def strike(seconds: float) -> None:
            provider = chance.choice(list(gateways.moods))
            gateways.moods[provider] = name
            time.sleep(5 + seconds)
            gateways.moods[provider] = "well"

        return strike

    found: dict[str, Callable[[float], None]] = {
        "kill web": kill("web", signal.SIGKILL),
        "restart web": kill("web", signal.SIGTERM),
        "kill worker": kill("worker0", signal.SIGKILL),
        "restart worker": kill("worker0", signal.SIGTERM),
        "freeze web": freeze(lambda: node().processes["web"].pid),
        "freeze worker": freeze(lambda: node().processes["worker0"].pid),
        "freeze worker beyond its lease": freeze_worker_beyond_its_lease,
        "crash postgres": stop(world.postgres, signal.SIGQUIT),
        "restart postgres": stop(world.postgres, signal.SIGINT),
        "freeze postgres": freeze(lambda: world.postgres.process.pid),
        "kill valkey": stop(world.valkey, signal.SIGKILL),
        "freeze valkey": freeze(lambda: world.valkey.process.pid),
        "flush valkey": flush,
        "kill pgbouncer": stop(world.pooler, signal.SIGKILL),
        "freeze pgbouncer": freeze(lambda: world.pooler.process.pid),
        "cut database": cut("database"),
        "cut valkey": cut("valkey"),
        "slow database": slow("database"),
        "slow valkey": slow("valkey"),
        "full disk": fill_the_disk,
        **{f"provider {name}": mood(name) for name in MOODS if name != "well"},
    }
    if FAKETIME.exists():
        found["wrong clock"] = set_clock
    return found


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


def upgrade(world: World) -> None:
    """Migrate, and replace the old release by this checkout, part by part, while callers call."""
    for node in world.nodes:
        node.root, node.interpreter = ROOT, sys.executable
    world.nodes[0].manage("migrate", "--verbosity", "0")
    for node in world.nodes:
        for name in ("web", "worker0"):
            world.take(node, name, signal.SIGTERM)
            world.revive_node(node)
            time.sleep(4)


# --- the run -----------------------------------------------------------------------------------------------------


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.chaos", description=__doc__.partition("\n")[0])
    parser.add_argument("--minutes", type=float, default=60.0, help="of faults; default 60")
    parser.add_argument("--seed", type=int, default=random.randrange(10**6), help="default: drawn")  # noqa: S311
    parser.add_argument("--only", default="", help="words of the faults' names, separated by commas")
    parser.add_argument("--no-upgrade", action="store_true", help="run this checkout from the start")
    options = parser.parse_args()
    HOME.mkdir(parents=True, exist_ok=True)
    print(machine())
    print(f"seed {options.seed}, {options.minutes:g} minutes", flush=True)
    with contextlib.ExitStack() as stack:
        broken = run(stack, options)
    sys.exit(1 if broken else 0)


def run(stack: contextlib.ExitStack, options: argparse.Namespace) -> list[str]:
    old_code = None
    if not options.no_upgrade and versions.has_commit(versions.previous_commit()):
        old_code = previous_release()
    chance = random.Random(f"{options.seed}/faults")  # noqa: S311
    world = World(options.seed, stack, old_code=old_code)
    callers: Callers | None = None

    def report(path: str, body: dict[str, Any]) -> bool:
        return callers is not None and callers.call("POST", path, body).status == 200

    gateways = Gateways(random.Random(f"{options.seed}/gateways"), report)  # noqa: S311
    callbacks = Callbacks(random.Random(f"{options.seed}/callbacks"))  # noqa: S311
    for server in (*gateways.servers.values(), callbacks.server):
        stack.enter_context(server)
    stack.callback(gateways.stopping.set)
    keys = world.open_project(gateways)
    for node in world.nodes:
        try:
            wait_until(node.answers, "a web server answers")
        except AssertionError as error:
            raise AssertionError(node.output("web") + node.output("worker0")) from error
    url = f"{callbacks.server.url}/done"
    ports = [node.port for node in world.nodes]
    callers = Callers(ports=ports, keys=keys, gateways=gateways, callback_url=url, seed=options.seed)
    callers.start(CALLERS)
    faults = list(strike(world, gateways, chance, options, is_upgraded=old_code is None))
    callers.stop()
    settle(world, callers, callbacks)
    told = [each.message for each in callers.record.sent if is_told(each, callers)]
    verdict = judge(
        callers.record,
        gateways.arrivals,
        callbacks,
        faults,
        callers.read_session,
    )
    broken = verdict.broken + judge_callbacks(callers.record, callbacks, told)
    violations = check_integrity(world)
    if violations != "{}":
        broken.append(f"checkintegrity: {violations}")
    print_summary(options, faults, callers, verdict.figures, broken)
    return broken


def strike(
    world: World, gateways: Gateways, chance: random.Random, options: argparse.Namespace, *, is_upgraded: bool
) -> Iterator[Fault]:
    """Let one fault follow the other, all of them in a drawn order before any comes again."""
    words = [word for word in options.only.split(",") if word]
    every = faults_of(world, gateways, chance)
    chosen = [name for name in every if not words or any(word in name for word in words)]
    ends_at = time.monotonic() + 60 * options.minutes
    half = time.monotonic() + 30 * options.minutes
    deck: list[str] = []
    while time.monotonic() < ends_at:
        time.sleep(chance.uniform(*CALM_SECONDS))
        if not is_upgraded and time.monotonic() > half:
            is_upgraded, name = True, "rolling upgrade"
            began_at = time.time()
            upgrade(world)
        else:
            if not deck:
                deck = chance.sample(chosen, len(chosen))
            name, seconds = deck.pop(), chance.uniform(*LASTS_SECONDS)
            began_at = time.time()
            every[name](seconds)
            world.mend()
        print(f"{time.strftime('%H:%M:%S')} {name}: {time.time() - began_at:.1f} s", flush=True)
        yield Fault(name, began_at, time.time())


def settle(world: World, callers: Callers, callbacks: Callbacks) -> None:
    """Mend everything, and wait until every accepted message is final and told, or the time for that is over."""
    world.mend()
    give_up_at = time.monotonic() + SETTLE_SECONDS
    left = list(callers.record.sent)
    while left and time.monotonic() < give_up_at:
        left = [
            sent
            for sent in left
            if callers.look_at(sent) not in FINAL or (is_told(sent, callers) and sent.message not in callbacks.told)
        ]
        time.sleep(1)
    unsent = [each for each in callers.record.created if not callers.gateways.to(each.to)]
    while unsent and time.monotonic() < give_up_at:  # those that were locked first, or that an outage outlived
        unsent = [each for each in unsent if not is_over(callers.read_session(each.session))]
        time.sleep(1)


def is_over(read: Answer) -> bool:
    statuses = [each["status"] for each in read.body.get("messages", ())]
    return read.status == 200 and set(statuses) <= FINAL


def is_told(sent: Sent, callers: Callers) -> bool:
    return sent.to not in {to for to, _, _ in callers.record.bursts}


def check_integrity(world: World) -> str:
    node = world.nodes[0]
    node.root, node.interpreter = ROOT, sys.executable
    return str(node.json("checkintegrity")["violations"])


def print_summary(
    options: argparse.Namespace, faults: list[Fault], callers: Callers, figures: dict[str, int], broken: list[str]
) -> None:
    names = sorted({fault.name for fault in faults})
    print(f"\nseed {options.seed}: {options.minutes:g} minutes, {len(faults)} faults of {len(names)} kinds")
    print("calls       ", sum(callers.record.answers.values()))
    for name, count in sorted(callers.record.answers.items()):
        print(f"  {count:7} {name}")
    for name, value in figures.items():
        print(f"{name:32} {value}")
    print(f"{'broken promises':32} {len(broken)}")
    for kind, count in Counter(re.sub(r"\S*\d\S*", "…", each) for each in broken).items():
        print(f"  {count:7} {kind}")
    for each in broken[:SHOWN]:
        print(f"  {each}")


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


if __name__ == "__main__":
    main()
