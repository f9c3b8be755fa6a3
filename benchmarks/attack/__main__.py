"""The cost of one attacker to the others: a neighbour's verifications with and without an attack, in turn.

The attacker has a public address and the API key of a project of its own; the neighbour is another project. In the last
two attacks all other tenants' servers hang at once, and the service is made to wait for them. Bodies that never end go
to nginx with the configuration that is shipped, as does what the neighbour sends then. Each attack is measured between
two quiet windows of the same run.

    python -m benchmarks.attack
"""

from __future__ import annotations

import argparse
import contextlib
import json
import random
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass, replace

from benchmarks.attack import attacker
from benchmarks.attack.tenants import HangingTenants
from benchmarks.common.driver import Client, Driver, Window, percentile
from benchmarks.common.scripts import ENDPOINTS, Target, recipients
from benchmarks.common.service import LIMITS_OFF, ROOT, Service, machine, wait_until_answering
from benchmarks.common.tables import spread, table
from tests.servers.nginx import Nginx

GOAL = 2.0  # times the quiet p95: the most that a neighbour may notice
SETTLE_SECONDS = 2.0  # from an attack's start to its window, and from its end to the next quiet window.
FLOW_SECONDS = 20.0  # The most that one verification may take.
SHARE = 0.95


@dataclass(frozen=True, slots=True)
class Options:
    rate: float
    attack_rate: float
    seconds: float
    rounds: int


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.attack", description=__doc__.partition("\n")[0])
    parser.add_argument("--rate", type=float, default=5.0, help="the neighbour's verifications a second; default 5")
    parser.add_argument(
        "--attack-rate", type=float, default=200.0, help="the attacker's requests a second; default 200"
    )
    parser.add_argument("--seconds", type=float, default=15.0, help="of a window; default 15")
    parser.add_argument("--rounds", type=int, default=2, help="default 2")
    parser.add_argument("--kind", choices=attacker.KINDS, action="append", help="this attack only; may be repeated")
    given = vars(parser.parse_args())
    kinds = given.pop("kind") or attacker.KINDS
    options = Options(**given)
    print(machine(), flush=True)
    with Driver() as driver, Service(gateway_port=driver.gateway.port, trusted_proxies=1) as service:
        keys = dict.fromkeys(attacker.KINDS, service.add_project("Attacked"))
        # With its limits nearly all of these creates would be refused, and none would wait for another.
        keys[attacker.ONE_RECIPIENT] = service.add_project("Without limits", *LIMITS_OFF)
        service.start_web()
        service.start_worker()
        target = Target("neighbour", service.port, service.api_key, service.secret_key)
        with HangingTenants(service) as hanging:
            keys |= dict.fromkeys(attacker.HANGING, str(hanging.file))
            measure(driver, target, options)  # warms everything up
            for kind in kinds:
                with Nginx([service.port]) if kind == attacker.SLOW else contextlib.nullcontext() as proxy:
                    seen = replace(target, port=proxy.port) if proxy else target
                    wait_until_answering(seen.port)
                    show(kind, *compare(driver, seen, kind, keys[kind], options))


def compare(
    driver: Driver, target: Target, kind: str, key: str, options: Options
) -> tuple[list[Window], list[Window], dict[str, int]]:
    """The quiet windows, those under the attack, and how the attacker was answered."""
    quiet, attacked, answers = [measure(driver, target, options)], [], {}
    for _ in range(options.rounds):
        seconds = options.seconds + 2 * SETTLE_SECONDS
        command = [kind, str(target.port), key, str(options.attack_rate), str(seconds)]
        with subprocess.Popen(
            [sys.executable, "-m", "benchmarks.attack.attacker", *command], cwd=ROOT, stdout=subprocess.PIPE, text=True
        ) as process:
            driver.poll_until(lambda: False, seconds=SETTLE_SECONDS)
            attacked.append(measure(driver, target, options))
            answers = json.loads(process.communicate()[0])
        driver.poll_until(lambda: False, seconds=SETTLE_SECONDS)
        quiet.append(measure(driver, target, options))
    return quiet, attacked, answers


def measure(driver: Driver, target: Target, options: Options) -> Window:
    """Verifications at the moments of a Poisson process, over one connection."""
    addresses = recipients()
    window = driver.window = Window()
    with contextlib.closing(Client(driver, target.port)) as client:
        for _ in range(round(options.rate * options.seconds)):
            driver.poll_until(lambda: False, seconds=random.expovariate(options.rate))
            finished = ended(window)
            client.begin(target.flow(next(addresses)))
            driver.poll_until(lambda: ended(window) > finished, seconds=FLOW_SECONDS)  # noqa: B023
    return window


def ended(window: Window) -> int:
    """The verifications that are over, well or badly."""
    return window.scripts + window.errors.total()


def show(kind: str, quiet: list[Window], attacked: list[Window], answers: dict[str, int]) -> None:
    rows = []
    for step in ENDPOINTS:
        before = [percentile(window.times[step], SHARE) * 1e3 for window in quiet]
        during = [percentile(window.times[step], SHARE) * 1e3 for window in attacked]
        ratio = sorted(during)[len(during) // 2] / sorted(before)[len(before) // 2]
        verdict = "met" if ratio < GOAL else "missed"
        rows.append((step, spread(before, 1), spread(during, 1), f"{ratio:.2f}", f"{verdict} (< {GOAL:.0f})"))
    print(f"\n{kind}: answered {', '.join(f'{number} x {status}' for status, number in sorted(answers.items()))}")
    print(table(("neighbour's p95", "quiet, ms", "attacked, ms", "ratio", "goal"), rows), flush=True)
    failed = sum((window.errors for window in (*quiet, *attacked)), start=Counter())
    if failed:
        print(f"the neighbour's failures: {dict(failed)}")


if __name__ == "__main__":
    main()
