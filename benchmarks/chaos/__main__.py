"""Chaos: the whole service under load while its parts are killed, frozen, cut off, filled up and upgraded.

Two web servers and two workers, PostgreSQL on a small disk behind PgBouncer, Valkey, two bad gateways and an address of
callbacks, all on loopback. The seed decides which fault comes when, and what callers and gateways do. At the end
everything is mended, what waits is waited for, and ``judge`` holds what the callers saw, the gateways received
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
import sys
import time
from collections import Counter
from collections.abc import Iterator
from typing import Any

from benchmarks.chaos import HOME
from benchmarks.common.service import machine

os.environ.update(
    DJANGO_SETTINGS_MODULE="config.settings",
    WATCHWORD_HOME=str(HOME / "settings"),
    EMBEDDED_DURABLE="false",
)

from benchmarks.chaos.callers import Answer, Callers, Sent  # noqa: E402 - the settings are read below
from benchmarks.chaos.faults import Faults  # noqa: E402
from benchmarks.chaos.gateway import Callbacks, Gateways  # noqa: E402
from benchmarks.chaos.judge import FINAL, Fault, judge, judge_callbacks  # noqa: E402
from benchmarks.chaos.world import World, previous_release  # noqa: E402
from tests.live import wait_until  # noqa: E402
from tests.upgrade import versions  # noqa: E402

CALLERS = 6
SHOWN = 40  # broken promises that are told one by one
CALM_SECONDS = (2.0, 5.0)  # between two faults
LASTS_SECONDS = (3.0, 10.0)  # a fault that has a length
SETTLE_SECONDS = 780.0  # for what waits at the end: receipts (600 s), retries of callbacks, back-offs, leases


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
    callers = Callers(
        ports=ports, previous=world.previous, keys=keys, gateways=gateways, callback_url=url, seed=options.seed
    )
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
    violations = world.check_integrity()
    if violations != "{}":
        broken.append(f"checkintegrity: {violations}")
    print_summary(options, faults, callers, verdict.figures, broken)
    if broken:
        print(f"the parts' logs: {world.keep_logs()}")
    return broken


def strike(
    world: World, gateways: Gateways, chance: random.Random, options: argparse.Namespace, *, is_upgraded: bool
) -> Iterator[Fault]:
    """Let one fault follow the other, all of them in a drawn order before any comes again."""
    words = [word for word in options.only.split(",") if word]
    every = Faults(world, gateways, chance).by_name
    chosen = [name for name in every if not words or any(word in name for word in words)]
    ends_at = time.monotonic() + 60 * options.minutes
    half = time.monotonic() + 30 * options.minutes
    deck: list[str] = []
    while time.monotonic() < ends_at:
        time.sleep(chance.uniform(*CALM_SECONDS))
        if not is_upgraded and time.monotonic() > half:
            is_upgraded, name = True, "rolling upgrade"
            began_at = time.time()
            world.upgrade()
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
    left, looks = list(callers.record.sent), 0
    while left and (looks < 2 or time.monotonic() < give_up_at):  # after an hour, one look at all takes minutes
        left = [
            sent
            for sent in left
            if callers.look_at(sent) not in FINAL or (is_told(sent, callers) and sent.message not in callbacks.told)
        ]
        looks += 1
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


if __name__ == "__main__":
    main()
