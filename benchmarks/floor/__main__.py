"""The service's two steps beside the least that a service of the same libraries does for them.

Both have the same web server, worker threads, PostgreSQL and Valkey, and are measured in turn. What the floor lacks is
the product: keys, limits, attempts, digests, leases, fail-over. No change of the product alone can be faster than it.

    python -m benchmarks.floor
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from statistics import median

from benchmarks.common.driver import Driver, Script, Window, percentile
from benchmarks.common.scripts import CHECK, CREATE, Target, recipients
from benchmarks.common.service import Service, machine
from benchmarks.common.tables import spread, table

LEAD_SECONDS = 0.5  # of flows before every window
SERVICE, FLOOR = "service", "floor"
PROCESSES = {SERVICE: {"web": "web", "worker": "worker"}, FLOOR: {"web": "floor", "worker": "floor worker"}}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.floor", description=__doc__.partition("\n")[0])
    parser.add_argument("--connections", type=int, default=8, help="default 8")
    parser.add_argument("--rounds", type=int, default=10, help="default 10")
    parser.add_argument("--seconds", type=float, default=2.0, help="of flows a window; default 2")
    options = parser.parse_args()
    print(machine(), flush=True)
    with Driver() as driver, Service(gateway_port=driver.gateway.port) as service:
        service.start_web()
        service.start_worker()
        service.start_floor()
        targets = (Target(SERVICE, service.port, service.api_key), Target(FLOOR, service.floor_port))
        addresses = recipients()
        windows: dict[str, list[Window]] = {target.name: [] for target in targets}
        for target in targets:
            driver.warm_up(flows(target, addresses), port=target.port)
        for _ in range(options.rounds):
            for target in targets:
                window = driver.run(
                    flows(target, addresses),
                    port=target.port,
                    connections=options.connections,
                    warmup=LEAD_SECONDS,
                    seconds=options.seconds,
                    meter=service.meter,
                )
                windows[target.name].append(window)
    print(describe(windows))


def flows(target: Target, addresses: Iterator[str]) -> Iterator[Script]:
    return (target.two_steps(to) for to in addresses)


def describe(windows: dict[str, list[Window]]) -> str:
    """Rates, latencies and CPU of both, and how much of the floor's rate the service reaches, window by window."""

    def row(label: str, figure: Callable[[str, Window], float], digits: int) -> tuple[str, ...]:
        return (label, *(spread([figure(name, window) for window in each], digits) for name, each in windows.items()))

    def latency(step: str) -> tuple[str, ...]:
        return row(f"{step} p50 ms", lambda _, window: percentile(window.times[step], 0.5) * 1e3, 1)

    def cost(part: str) -> tuple[str, ...]:
        return row(f"CPU ms a flow: {part}", lambda name, window: window.cost_ms(PROCESSES[name].get(part, part)), 2)

    rows = [row("flows/s", lambda _, window: window.rate, 0), latency(CREATE), latency(CHECK)]
    rows += [cost(part) for part in ("web", "worker", "postgres", "valkey")]
    ratios = [ours.rate / floor.rate for ours, floor in zip(windows[SERVICE], windows[FLOOR], strict=True)]
    errors = [
        f"{name}: {number} x {text}"
        for name, each in windows.items()
        for window in each
        for text, number in window.errors.items()
    ]
    return "\n".join(
        [
            f"\n{table(('create, delivered, check', *windows), rows)}",
            f"\nthe service reaches {median(ratios):.2f} of the floor's rate [{min(ratios):.2f} to {max(ratios):.2f}]",
            "\n".join(["errors:", *errors]) if errors else "no errors",
        ]
    )


if __name__ == "__main__":
    main()
