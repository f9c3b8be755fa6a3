"""The whole service under load: whole flows (create, the code arrives, check, verify), and each endpoint alone.

`benchmarks.floor` measures it beside the least that the same libraries do.

    python -m benchmarks.flow
    python -m benchmarks.flow --rounds 1 --seconds 2 --batch 400
"""

from __future__ import annotations

import argparse
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator

from benchmarks.common.driver import Driver, Script, Window, percentile, recorded
from benchmarks.common.scripts import CHECK, CREATE, ENDPOINTS, VERIFY, Target, recipients
from benchmarks.common.service import Service, machine
from benchmarks.common.tables import spread, table
from benchmarks.inside import Inside, describe_round_trips, round_trips

LEAD_SECONDS = 0.5  # of flows before every window
DELIVERY_SECONDS = 60.0  # how long a batch's codes may take: less than the sessions live

Windows = dict[tuple[str, int], list[Window]]  # by what was run, and connections


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.flow", description=__doc__.partition("\n")[0])
    parser.add_argument("--connections", default="8,32", help="levels of load; default 8,32")
    parser.add_argument("--rounds", type=int, default=3, help="default 3")
    parser.add_argument("--seconds", type=float, default=4.0, help="of flows a window; default 4")
    parser.add_argument("--batch", type=int, default=1_000, help="requests of each endpoint a round; default 1,000")
    options = parser.parse_args()
    levels = [int(text) for text in options.connections.split(",")]

    print(machine(), flush=True)
    with Driver() as driver, Service(gateway_port=driver.gateway.port) as service:
        service.start_web()
        service.start_worker()
        load = Load(driver, service)
        load.warm_up()
        for connections in levels:
            for _ in range(options.rounds):
                load.run_flows(connections, options.seconds)
        print(describe_flows(load.windows, levels), flush=True)
        for connections in levels:
            for _ in range(options.rounds):
                load.run_endpoints(connections, options.batch)
        print(describe_endpoints(load.windows, levels), flush=True)
        for name in ("web", "worker"):
            service.stop(name)
        print(f"\n{describe_round_trips(round_trips(Inside(service)))}")
        from django.db import connections as database  # Django is set up only now, by Inside

        database.close_all()
    print(describe_errors(load.windows))


class Load:
    """Runs the windows and keeps them."""

    def __init__(self, driver: Driver, service: Service) -> None:
        self.driver = driver
        self.service = service
        self.recipients = recipients()
        self.target = Target("web", service.port, service.api_key, service.secret_key)
        self.windows: Windows = defaultdict(list)

    def warm_up(self) -> None:
        self.driver.warm_up(self._flows(), port=self.target.port)

    def run_flows(self, connections: int, seconds: float) -> None:
        started_at: dict[str, float] = {}
        with recorded(self.driver.gateway) as arrivals:
            window = self.driver.run(
                self._flows(started_at),
                port=self.target.port,
                connections=connections,
                warmup=LEAD_SECONDS,
                seconds=seconds,
                meter=self.service.meter,
            )
        window.times["delivered"] = [arrival.at - started_at[arrival.to] for arrival in arrivals]
        self.windows["flow", connections].append(window)

    def run_endpoints(self, connections: int, batch: int) -> None:
        """A batch of creates while the worker is paused, then, with the worker idle, their checks and verifies."""
        sessions: dict[str, str] = {}
        tokens: list[str] = []
        gateway = self.driver.gateway
        self.service.pause("worker")
        self._run(CREATE, connections, (self.target.create_only(self._next(), sessions) for _ in range(batch)))
        self.service.resume("worker")
        if not self.driver.poll_until(lambda: len(gateway.codes) >= len(sessions), seconds=DELIVERY_SECONDS):
            raise RuntimeError(f"Only {len(gateway.codes)} of {len(sessions)} codes arrived.")
        codes = {to: gateway.codes.pop(to) for to in sessions}
        checks = (self.target.check_only(session_id, codes[to], tokens) for to, session_id in sessions.items())
        self._run(CHECK, connections, checks)
        self._run(VERIFY, connections, (self.target.verify_only(token) for token in tokens))

    def _run(self, endpoint: str, connections: int, scripts: Iterable[Script]) -> None:
        window = self.driver.run(scripts, port=self.target.port, connections=connections, meter=self.service.meter)
        self.windows[endpoint, connections].append(window)

    def _flows(self, started_at: dict[str, float] | None = None) -> Iterator[Script]:
        while True:
            to = self._next()
            if started_at is not None:
                started_at[to] = time.perf_counter()
            yield self.target.flow(to)

    def _next(self) -> str:
        return next(self.recipients)


def describe_flows(windows: Windows, levels: list[int]) -> str:
    """Rates, latencies and CPU of the service's flows."""
    taken = [windows["flow", n] for n in levels]
    rows = [("flows/s", *(spread([window.rate for window in each]) for each in taken))]
    for name in (*ENDPOINTS, "delivered"):
        for share in (0.5, 0.99):
            rows.append(
                (
                    f"{name} p{share * 100:.0f} ms",
                    *(spread([percentile(w.times[name], share) * 1e3 for w in each], 1) for each in taken),
                )
            )
    for part in ("web", "worker", "postgres", "valkey", "driver"):
        rows.append((f"CPU ms a flow: {part}", *(spread([w.cost_ms(part) for w in each], 2) for each in taken)))
    rows.append(("others' cores", *(spread([_others(w) for w in each], 2) for each in taken)))
    return f"\n{table(('whole flows', *(f'{n} connections' for n in levels)), rows)}"


def describe_endpoints(windows: Windows, levels: list[int]) -> str:
    rows = []
    for endpoint in ENDPOINTS:
        for n in levels:
            taken = windows[endpoint, n]
            rows.append(
                (
                    f"{endpoint}, {n} connections",
                    spread([w.rate for w in taken]),
                    spread([percentile(w.times[endpoint], 0.5) * 1e3 for w in taken], 1),
                    spread([percentile(w.times[endpoint], 0.99) * 1e3 for w in taken], 1),
                    spread([w.cost_ms("web") for w in taken], 2),
                    spread([w.cost_ms("postgres") for w in taken], 2),
                )
            )
    header = ("each endpoint alone, worker idle", "a second", "p50 ms", "p99 ms", "web CPU ms", "PostgreSQL CPU ms")
    return f"\n{table(header, rows)}"


def describe_errors(windows: Windows) -> str:
    lines = [
        f"{what}, {n} connections: {number} x {text}"
        for (what, n), each in windows.items()
        for window in each
        for text, number in window.errors.items()
    ]
    return "\n".join(["", "errors:", *lines] if lines else ["", "no errors"])


def _others(window: Window) -> float:
    """Return the number of cores that were busy with neither the driver nor the service."""
    ours = sum(seconds for part, seconds in window.used.items() if part != "machine")
    return max(0.0, window.used["machine"] - ours) / window.seconds


if __name__ == "__main__":
    main()
