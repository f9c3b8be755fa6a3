"""The whole service under load, beside bare Django views that call the same SQL functions.

The same web server serves both with the same options. They are measured in turn, in rounds, so that whatever else the
machine does meets both. Two parts: whole flows (create, the code arrives, check, verify), and each endpoint alone.

    python -m benchmarks.flow
    python -m benchmarks.flow --rounds 1 --seconds 2 --batch 400
"""

from __future__ import annotations

import argparse
import json
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.bare.views import CODE
from benchmarks.common.driver import Driver, Script, Window, percentile, recorded
from benchmarks.common.scripts import CHECK, CREATE, ENDPOINTS, VERIFY, Target, recipients
from benchmarks.common.service import Service, machine
from benchmarks.common.tables import spread, table
from benchmarks.inside import Inside, describe_round_trips, round_trips

LEAD_SECONDS = 0.5  # of flows before every window
DELIVERY_SECONDS = 60.0  # how long a batch's codes may take: less than the sessions live
GOAL_SHARE = 0.7  # of what the bare view does

Windows = dict[tuple[str, str, int], list[Window]]  # by what was run, server, and connections


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.flow", description=__doc__.partition("\n")[0])
    parser.add_argument("--connections", default="8,32", help="levels of load; default 8,32")
    parser.add_argument("--rounds", type=int, default=3, help="default 3")
    parser.add_argument("--seconds", type=float, default=4.0, help="of flows a window; default 4")
    parser.add_argument("--batch", type=int, default=1_000, help="requests of each endpoint a round; default 1,000")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write every window to this file")
    options = parser.parse_args()
    levels = [int(text) for text in options.connections.split(",")]

    print(machine(), flush=True)
    with Driver() as driver, Service(gateway_port=driver.gateway.port) as service:
        service.start_bare()
        service.start_web()
        service.start_worker()
        load = Load(driver, service)
        load.warm_up()
        for connections in levels:
            for _ in range(options.rounds):
                for target in load.targets:
                    load.run_flows(target, connections, options.seconds)
        print(describe_flows(load.windows, levels), flush=True)
        for connections in levels:
            for _ in range(options.rounds):
                for target in load.targets:
                    load.run_endpoints(target, connections, options.batch)
        print(describe_endpoints(load.windows, levels), flush=True)
        for name in ("web", "bare", "worker"):
            service.stop(name)
        print(f"\n{describe_round_trips(round_trips(Inside(service)))}")
        from django.db import connections as database  # Django is set up only now, by Inside

        database.close_all()
    print(describe_errors(load.windows))
    if options.json:
        options.json.write_text(json.dumps(as_data(load.windows)))


class Load:
    """Runs the windows and keeps them. ``targets`` are the service and the bare views."""

    def __init__(self, driver: Driver, service: Service) -> None:
        self.driver = driver
        self.service = service
        self.recipients = recipients()
        self.targets = (
            Target("web", service.port, service.api_key, service.secret_key),
            Target("bare", service.bare_port, fixed_code=CODE),
        )
        self.windows: Windows = defaultdict(list)

    def warm_up(self) -> None:
        for target in self.targets:
            self.driver.warm_up(self._flows(target), port=target.port)

    def run_flows(self, target: Target, connections: int, seconds: float) -> None:
        started_at: dict[str, float] = {}
        with recorded(self.driver.gateway) as arrivals:
            window = self.driver.run(
                self._flows(target, started_at),
                port=target.port,
                connections=connections,
                warmup=LEAD_SECONDS,
                seconds=seconds,
                meter=self.service.meter,
            )
        window.times["delivered"] = [arrival.at - started_at[arrival.to] for arrival in arrivals]
        self.windows["flow", target.name, connections].append(window)

    def run_endpoints(self, target: Target, connections: int, batch: int) -> None:
        """A batch of creates while the worker is paused, then, with the worker idle, their checks and verifies."""
        sessions: dict[str, str] = {}
        tokens: list[str] = []
        gateway = self.driver.gateway
        self.service.pause("worker")
        self._run(CREATE, target, connections, (target.create_only(self._next(), sessions) for _ in range(batch)))
        self.service.resume("worker")
        codes = dict.fromkeys(sessions, target.fixed_code)
        if not target.fixed_code:
            if not self.driver.poll_until(lambda: len(gateway.codes) >= len(sessions), seconds=DELIVERY_SECONDS):
                raise RuntimeError(f"Only {len(gateway.codes)} of {len(sessions)} codes arrived.")
            codes = {to: gateway.codes.pop(to) for to in sessions}
        checks = (target.check_only(session_id, codes[to], tokens) for to, session_id in sessions.items())
        self._run(CHECK, target, connections, checks)
        self._run(VERIFY, target, connections, (target.verify_only(token) for token in tokens))

    def _run(self, endpoint: str, target: Target, connections: int, scripts: Iterable[Script]) -> None:
        window = self.driver.run(scripts, port=target.port, connections=connections, meter=self.service.meter)
        self.windows[endpoint, target.name, connections].append(window)

    def _flows(self, target: Target, started_at: dict[str, float] | None = None) -> Iterator[Script]:
        while True:
            to = self._next()
            if started_at is not None:
                started_at[to] = time.perf_counter()
            yield target.flow(to)

    def _next(self) -> str:
        return next(self.recipients)


def describe_flows(windows: Windows, levels: list[int]) -> str:
    """Rates, latencies and CPU of the service's flows, and the bare views' beside them."""
    columns = [("web", n) for n in levels] + [("bare", n) for n in levels]
    taken = [windows["flow", name, n] for name, n in columns]
    rows = [("flows/s", *(spread([window.rate for window in each]) for each in taken))]
    for name in (*ENDPOINTS, "delivered"):
        for share in (0.5, 0.99):
            rows.append(
                (
                    f"{name} p{share * 100:.0f} ms",
                    *(spread([percentile(w.times[name], share) * 1e3 for w in each], 1) for each in taken),
                )
            )
    for part in ("web", "bare", "worker", "postgres", "valkey", "driver"):
        rows.append((f"CPU ms a flow: {part}", *(spread([w.cost_ms(part) for w in each], 2) for each in taken)))
    rows.append(("others' cores", *(spread([_others(w) for w in each], 2) for each in taken)))
    header = ("whole flows", *(f"{'service' if name == 'web' else name}, {n} connections" for name, n in columns))
    return f"\n{table(header, rows)}"


def describe_endpoints(windows: Windows, levels: list[int]) -> str:
    """Each endpoint alone: the service against the bare view. Ratios are of neighbours in time, round by round."""
    rows = []
    for endpoint in ENDPOINTS:
        for n in levels:
            service, bare = windows[endpoint, "web", n], windows[endpoint, "bare", n]
            pairs = list(zip(service, bare, strict=True))
            ratios = [ours.rate / floor.rate for ours, floor in pairs]
            rows.append(
                (
                    f"{endpoint}, {n} connections",
                    spread([w.rate for w in service]),
                    spread([w.rate for w in bare]),
                    spread([ratio * 100 for ratio in ratios]),
                    spread([percentile(w.times[endpoint], 0.5) * 1e3 for w in service], 1),
                    spread([percentile(w.times[endpoint], 0.99) * 1e3 for w in service], 1),
                    spread([w.cost_ms("web") for w in service], 2),
                    spread([w.cost_ms("bare") for w in bare], 2),
                    spread([w.cost_ms("postgres") for w in service], 2),
                    ("met" if median(ratios) >= GOAL_SHARE else "missed") if endpoint != VERIFY else "",
                )
            )
    header = (
        "each endpoint alone, worker idle",
        "service/s",
        "bare/s",
        "% of bare",
        "p50 ms",
        "p99 ms",
        "web CPU ms",
        "bare CPU ms",
        "PostgreSQL CPU ms",
        f"goal {GOAL_SHARE:.0%}",
    )
    return f"\n{table(header, rows)}"


def describe_errors(windows: Windows) -> str:
    lines = [
        f"{what}, {name}, {n} connections: {number} x {text}"
        for (what, name, n), each in windows.items()
        for window in each
        for text, number in window.errors.items()
    ]
    return "\n".join(["", "errors:", *lines] if lines else ["", "no errors"])


def as_data(windows: Windows) -> list[dict[str, Any]]:
    return [
        {
            "run": what,
            "server": name,
            "connections": n,
            "seconds": window.seconds,
            "rate": window.rate,
            "errors": window.errors,
            "cpu_ms": {part: window.cost_ms(part) for part in window.used},
            "ms": {
                step: {f"p{share * 100:.0f}": percentile(times, share) * 1e3 for share in (0.5, 0.9, 0.99)}
                for step, times in window.times.items()
                if times
            },
        }
        for (what, name, n), each in windows.items()
        for window in each
    ]


def _others(window: Window) -> float:
    """Return the number of cores that were busy with neither the driver nor the service."""
    ours = sum(seconds for part, seconds in window.used.items() if part != "machine")
    return max(0.0, window.used["machine"] - ours) / window.seconds


if __name__ == "__main__":
    main()
