"""The service's two steps beside the least that a service of the same libraries does for them.

Both have the same web server, worker threads, PostgreSQL and Valkey, and are measured in turn. What the floor lacks is
the product: keys, limits, attempts, digests, leases, fail-over. No change of the product alone can be faster than it.

    python -m benchmarks.floor
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from statistics import median

from benchmarks.common.driver import Driver, Window, percentile
from benchmarks.common.scripts import CHECK, CREATE, Target, recipients
from benchmarks.common.service import Service, machine
from benchmarks.common.tables import spread, table

START_SECONDS = 60.0  # until the worker delivers the first code
WARM_SECONDS = 5.0  # before the first window of each
LEAD_SECONDS = 0.5  # before every later one
PARTS = {"service": ("web", "worker"), "floor": ("floor", "floor worker")}


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
        targets = (Target("service", service.port, service.api_key), Target("floor", service.floor_port))
        addresses = recipients()
        windows: dict[str, list[Window]] = {target.name: [] for target in targets}
        for target in targets:
            driver.run([target.two_steps(next(addresses))], port=target.port, connections=1, seconds=START_SECONDS)
            driver.run(flows(target, addresses), port=target.port, connections=32, seconds=WARM_SECONDS)
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


def flows(target: Target, addresses: Iterator[str]) -> Iterator[object]:
    for to in addresses:
        yield target.two_steps(to)


def describe(windows: dict[str, list[Window]]) -> str:
    """Rates, latencies and CPU of both, and how much of the floor's rate the service reaches, window by window."""
    names = list(windows)
    rows = [("flows/s", *(spread([window.rate for window in windows[name]]) for name in names))]
    for step in (CREATE, CHECK):
        rows.append(
            (f"{step} p50 ms", *(spread([percentile(w.times[step], 0.5) * 1e3 for w in windows[n]], 1) for n in names))
        )
    for label, number in (("web", 0), ("worker", 1)):
        rows.append(
            (
                f"CPU ms a flow: {label}",
                *(spread([cost_ms(w, PARTS[name][number]) for w in windows[name]], 2) for name in names),
            )
        )
    for part in ("postgres", "valkey"):
        rows.append((f"CPU ms a flow: {part}", *(spread([cost_ms(w, part) for w in windows[n]], 2) for n in names)))
    ratios = [ours.rate / floor.rate for ours, floor in zip(windows["service"], windows["floor"], strict=True)]
    errors = [f"{name}: {n} x {text}" for name in names for w in windows[name] for text, n in w.errors.items()]
    return "\n".join(
        [
            f"\n{table(('create, delivered, check', *names), rows)}",
            f"\nthe service reaches {median(ratios):.2f} of the floor's rate [{min(ratios):.2f} to {max(ratios):.2f}]",
            "\n".join(["errors:", *errors]) if errors else "no errors",
        ]
    )


def cost_ms(window: Window, part: str) -> float:
    return window.used[part] / window.scripts * 1e3 if part in window.used and window.scripts else float("nan")


if __name__ == "__main__":
    main()
