"""What can happen to the parts. A fault is told how long it lasts, in seconds; what it took is mended after it."""

from __future__ import annotations

import random
import signal
import subprocess
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.chaos.gateway import MOODS, Gateways
from benchmarks.chaos.world import World
from tests.live import LiveService

CLOCK_SECONDS = 300  # by which a machine's clock is wrong
BEYOND_A_LEASE_SECONDS = 35.0
DELAYS_SECONDS = (0.05, 0.2, 0.5)  # of a slow link
STARTS_SECONDS = 10.0  # until a restarted part works
MOOD_SECONDS = 5.0  # the least that a gateway is in one
FAKETIME = Path("/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1")

Fault = Callable[[float], None]


class Faults:
    """Every fault by its name, on parts that ``chance`` chooses."""

    def __init__(self, world: World, gateways: Gateways, chance: random.Random) -> None:
        self.world, self.gateways, self.chance = world, gateways, chance
        self.by_name: dict[str, Fault] = {
            "kill web": partial(self.end, "web", signal.SIGKILL),
            "restart web": partial(self.end, "web", signal.SIGTERM),
            "kill worker": partial(self.end, "worker0", signal.SIGKILL),
            "restart worker": partial(self.end, "worker0", signal.SIGTERM),
            "freeze web": partial(self.freeze_node, "web"),
            "freeze worker": partial(self.freeze_node, "worker0"),
            "freeze worker beyond its lease": lambda _: self.freeze_node("worker0", BEYOND_A_LEASE_SECONDS),
            "crash postgres": partial(self.end_server, world.postgres, signal.SIGQUIT),
            "restart postgres": partial(self.end_server, world.postgres, signal.SIGINT),
            "freeze postgres": lambda seconds: self.freeze(world.postgres.process.pid, seconds),
            "kill valkey": partial(self.end_server, world.valkey, signal.SIGKILL),
            "freeze valkey": lambda seconds: self.freeze(world.valkey.process.pid, seconds),
            "flush valkey": self.flush_valkey,
            "kill pgbouncer": partial(self.end_server, world.pooler, signal.SIGKILL),
            "freeze pgbouncer": lambda seconds: self.freeze(world.pooler.process.pid, seconds),
            "cut database": partial(self.cut, "database"),
            "cut valkey": partial(self.cut, "valkey"),
            "slow database": partial(self.slow, "database"),
            "slow valkey": partial(self.slow, "valkey"),
            "full disk": self.fill_disk,
            **{f"provider {name}": partial(self.set_mood, name) for name in MOODS if name != "well"},
        }
        if FAKETIME.exists():
            self.by_name["wrong clock"] = self.set_clock

    def node(self) -> LiveService:
        return self.chance.choice(self.world.nodes)

    def end(self, name: str, number: int, seconds: float) -> None:
        self.world.take(self.node(), name, number)
        time.sleep(min(seconds, 4))

    def end_server(self, server: Any, number: int, seconds: float) -> None:
        server.process.send_signal(number)
        with suppress(subprocess.TimeoutExpired):
            server.process.wait(timeout=10)
        time.sleep(min(seconds, 5))

    def freeze_node(self, name: str, seconds: float) -> None:
        self.freeze(self.node().processes[name].pid, seconds)

    def freeze(self, root: int, seconds: float) -> None:
        """Stop a process and those that it started, and let them go on."""
        self.world.signal_tree(root, signal.SIGSTOP)
        time.sleep(seconds)
        self.world.signal_tree(root, signal.SIGCONT)

    def flush_valkey(self, _: float) -> None:
        with self.world.valkey.client() as client:
            client.flushall()

    def cut(self, name: str, seconds: float) -> None:
        self.world.links[self.chance.randrange(2), name].cut()
        time.sleep(seconds)

    def slow(self, name: str, seconds: float) -> None:
        self.world.links[self.chance.randrange(2), name].delay = self.chance.choice(DELAYS_SECONDS)
        time.sleep(seconds)

    def fill_disk(self, seconds: float) -> None:
        self.world.postgres.fill()
        time.sleep(seconds)

    def set_clock(self, seconds: float) -> None:
        """Run a node's web server and worker by a clock that is wrong, and then by the right one again."""
        node = self.node()
        by = self.chance.choice((CLOCK_SECONDS, -CLOCK_SECONDS))
        right = node.environment
        node.environment = {
            **right,
            "LD_PRELOAD": str(FAKETIME),
            "FAKETIME": f"{by:+d}s",
            "FAKETIME_DONT_FAKE_MONOTONIC": "1",
            "DONT_FAKE_MONOTONIC": "1",
        }
        try:
            for name in ("web", "worker0"):
                self.world.take(node, name, signal.SIGTERM)
            self.world.revive_node(node)
            time.sleep(STARTS_SECONDS + seconds)
        finally:
            node.environment = right
            for name in ("web", "worker0"):
                self.world.take(node, name, signal.SIGTERM)

    def set_mood(self, name: str, seconds: float) -> None:
        provider = self.chance.choice(list(self.gateways.moods))
        self.gateways.moods[provider] = name
        time.sleep(MOOD_SECONDS + seconds)
        self.gateways.moods[provider] = "well"
