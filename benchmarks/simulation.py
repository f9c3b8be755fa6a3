"""The machines that a rate of verifications takes: measured here at the rate that this machine holds, then calculated.

Whole verifications (create, the code arrives, check, verify) run over a few connections. The cost of each is measured:
CPU by part, rows, bytes, log and commits. The second half multiplies that by rates of up to 1,000 a second. It holds as
far as costs grow with the rate alone, so it tells how many cores to have, and nothing of waiting times.

    python -m benchmarks.simulation
    python -m benchmarks.simulation --rates 20,1000 --provider-ms 500 --cores 8
"""

from __future__ import annotations

import argparse
import math
import os
import time
from dataclasses import dataclass
from statistics import median

from django.conf import settings

from benchmarks.common.driver import Driver, Window, percentile
from benchmarks.common.scripts import ENDPOINTS, Target, recipients
from benchmarks.common.service import Service, machine
from benchmarks.common.tables import spread, table
from benchmarks.fill import TABLES

RATES = "1,10,100,300,1000"
PARTS = ("web", "worker", "postgres", "valkey")
WARM_SECONDS = 5.0
SETTLE_SECONDS = 3.0  # for what the worker still writes after the last answer
BUSY = 0.6  # of its cores, the most that a part should use on average: the rest is for the peaks of a minute
THREADS_A_WORKER = 64  # more threads in one process hold each other up
DAY = 86_400
GB = 10**9


@dataclass(frozen=True, slots=True)
class Stored:
    """The sums of all that the database has written so far."""

    rows: dict[str, int]  # by table
    sizes: dict[str, int]  # bytes of the table, with its indexes
    log_bytes: int
    commits: int


@dataclass(frozen=True, slots=True)
class Cost:
    """The cost of one verification: milliseconds of CPU by part, rows and bytes by table, bytes of log, commits."""

    cpu_ms: dict[str, float]
    rows: dict[str, float]
    sizes: dict[str, float]
    log_bytes: float
    commits: float


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.simulation", description=__doc__.partition("\n")[0])
    parser.add_argument(
        "--rates", default="1,10,100,300,1000", help="verifications a second; default 1,10,100,300,1000"
    )
    parser.add_argument("--provider-ms", type=float, default=200.0, help="that a provider takes; default 200")
    parser.add_argument("--cores", type=int, default=4, help="of a machine; default 4")
    parser.add_argument("--connections", type=int, default=8, help="of the callers; default 8")
    parser.add_argument("--rounds", type=int, default=3, help="default 3")
    parser.add_argument("--seconds", type=float, default=10.0, help="of a round; default 10")
    options = parser.parse_args()
    print(machine(), flush=True)
    windows, cost = measure(options.connections, options.rounds, options.seconds)
    print(describe_measured(windows, cost))
    rates = [float(rate) for rate in options.rates.split(",")]
    print(describe_rates(cost, rates, provider_seconds=options.provider_ms / 1e3, cores=options.cores))


def measure(connections: int, rounds: int, seconds: float) -> tuple[list[Window], Cost]:
    with Driver() as driver, Service(gateway_port=driver.gateway.port) as service:
        service.start_web()
        service.start_worker()
        target = Target("web", service.port, service.api_key, service.secret_key)
        addresses = recipients()

        def run(length: float) -> Window:
            flows = (target.flow(next(addresses)) for _ in iter(int, 1))
            return driver.run(flows, port=target.port, connections=connections, seconds=length, meter=service.meter)

        run(WARM_SECONDS)
        before = settled(driver, service)
        windows = [run(seconds) for _ in range(rounds)]
        after = settled(driver, service)
    return windows, cost_of(windows, before, after)


def settled(driver: Driver, service: Service) -> Stored:
    """Return what is stored once nothing is under way."""
    driver.poll_until(lambda: False, seconds=SETTLE_SECONDS)
    rows = {name: int(str(service.query(f"SELECT count(*) FROM {name}")[0][0])) for name in TABLES}  # noqa: S608
    sizes = {name: int(str(service.query("SELECT pg_total_relation_size(%s)", name)[0][0])) for name in TABLES}
    [(log_bytes, commits)] = service.query(
        "SELECT pg_current_wal_lsn() - '0/0', xact_commit FROM pg_stat_database WHERE datname = current_database()"
    )
    return Stored(rows, sizes, int(str(log_bytes)), int(str(commits)))


def cost_of(windows: list[Window], before: Stored, after: Stored) -> Cost:
    """The flows are counted by their sessions: the windows leave out those that ended after them."""
    flows = after.rows["verification_session"] - before.rows["verification_session"]
    return Cost(
        cpu_ms={part: median(window.cost_ms(part) for window in windows) for part in PARTS},
        rows={name: (after.rows[name] - before.rows[name]) / flows for name in TABLES},
        sizes={name: (after.sizes[name] - before.sizes[name]) / flows for name in TABLES},
        log_bytes=(after.log_bytes - before.log_bytes) / flows,
        commits=(after.commits - before.commits) / flows,
    )


def describe_measured(windows: list[Window], cost: Cost) -> str:
    cpu = [("verifications a second", spread([window.rate for window in windows]))]
    for part in PARTS:
        cpu.append((f"CPU ms: {part}", spread([w.used[part] / w.scripts * 1e3 for w in windows], 2)))
    for step in ENDPOINTS:
        cpu.append((f"p99 ms: {step}", spread([percentile(w.times[step], 0.99) * 1e3 for w in windows], 1)))
    cpu.append(("commits", f"{cost.commits:.1f}"))
    cpu.append(("bytes of write-ahead log", f"{cost.log_bytes:,.0f}"))
    stored = [
        (name.removeprefix("verification_"), f"{cost.rows[name]:.2f}", f"{cost.sizes[name]:,.0f}")
        for name in TABLES
        if cost.rows[name] > 0
    ]
    stored.append(("together", f"{sum(cost.rows.values()):.2f}", f"{sum(cost.sizes.values()):,.0f}"))
    failed = sum(window.errors.total() for window in windows)
    return (
        f"\n{table(('a verification, measured', ''), cpu)}\n\n"
        f"{table(('a verification writes', 'rows', 'bytes with indexes'), stored)}\n\nfailed: {failed}"
    )


def describe_rates(cost: Cost, rates: list[float], *, provider_seconds: float, cores: int) -> str:
    lines: dict[str, list[str]] = {}

    def add(name: str, value: str) -> None:
        lines.setdefault(name, []).append(value)

    for rate in rates:
        busy = {part: rate * cost.cpu_ms[part] / 1e3 for part in PARTS}
        needed = {part: math.ceil(busy[part] / BUSY) for part in PARTS}
        threads = max(1, math.ceil(rate * provider_seconds / BUSY))
        workers = max(needed["worker"], math.ceil(threads / THREADS_A_WORKER))
        for part in PARTS:
            add(f"cores busy: {part}", f"{busy[part]:.2f}")
        add("web processes", str(needed["web"]))
        add("worker processes", str(workers))
        add("worker threads in all", str(threads))
        add("connections of their threads", str(needed["web"] * settings.WEB_THREADS + threads))
        add(f"machines of {cores} cores for both", str(math.ceil((needed["web"] + needed["worker"]) / cores)))
        add("cores of PostgreSQL's machine", str(needed["postgres"]))
        add("commits a second", f"{rate * cost.commits:,.0f}")
        add("million rows a day", f"{rate * DAY * sum(cost.rows.values()) / 1e6:,.1f}")
        add("GB a day", f"{rate * DAY * sum(cost.sizes.values()) / GB:,.1f}")
        add("GB of write-ahead log a day", f"{rate * DAY * cost.log_bytes / GB:,.1f}")
    header = ("verifications a second, calculated", *(f"{rate:g}" for rate in rates))
    return f"\n{table(header, [(name, *values) for name, values in lines.items()])}"


if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")  # for the threads of a web process
    began_at = time.monotonic()
    main()
    print(f"\n{time.monotonic() - began_at:.0f} s")
