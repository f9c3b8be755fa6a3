"""One worker process against a provider that takes 200 ms: how many messages, how soon, and past which obstacles.

Messages are written straight into the database, in bulk, with a wake-up each; so the figures are the worker's alone.

    python -m benchmarks.delivery
    python -m benchmarks.delivery --part throughput --quick
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from statistics import median
from typing import TYPE_CHECKING, Any

import django

from benchmarks.common.driver import LOOPBACK, percentile
from benchmarks.common.processes import resident_bytes
from benchmarks.common.service import WORKER_THREADS, Service, machine
from benchmarks.common.tables import spread, table
from benchmarks.delivery.gateway import FAULTS, LATENCY, Gateway

if TYPE_CHECKING:
    from benchmarks.delivery.load import Load, Prepared

LEVELS = (8, 32, 64, 128)  # threads
GOAL_SHARES = {8: 0.9, 32: 0.9, 64: 0.9, 128: 0.85}  # of threads / latency
GOAL_CPU_MS = 1.5
GOAL_FRESH_SECONDS = 1.0
GOAL_IDLE_SECONDS = 0.01
GOAL_EXPIRED_RATE = 2_000
GOAL_NEXT_SECONDS = 4.0  # from the row to the next provider, where the first one is dead
TICK_SECONDS = 0.01
FRESH_RATE = 5.0  # a second
MAX_HINTS = 9_900  # of a backlog; the broker drops a queue of more than 10,000
BATCH = 10_000
DUE_SECONDS = 60.0  # how long what is sent may take
DRAIN_SECONDS = 300.0
DEAD_RATE = 2.0
LIVES_SECONDS = 600  # of a message


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.delivery", description=__doc__.partition("\n")[0])
    parser.add_argument("--part", choices=PARTS, help="only this one")
    parser.add_argument("--threads", default=",".join(map(str, LEVELS)), help="levels of the throughput part")
    parser.add_argument("--rounds", type=int, default=3, help="of the throughput part; default 3")
    parser.add_argument("--quick", action="store_true", help="one short round, a tenth of the backlog")
    options = parser.parse_args()
    print(machine(), flush=True)
    with Gateway() as gateway, Service(gateway_port=gateway.port) as service:
        os.environ.update(service.environment, DJANGO_SETTINGS_MODULE="config.settings")
        django.setup()
        from benchmarks.delivery.load import Load  # needs the settings

        bench = Bench(service, gateway, Load(service.servers.database_url, service.project_id), options)
        for name, part in PARTS.items():
            if options.part in (None, name):
                print(f"\n{part(bench)}", flush=True)


@dataclass
class Bench:
    service: Service
    gateway: Gateway
    load: Load
    options: argparse.Namespace

    @contextmanager
    def worker(self, threads: int = WORKER_THREADS) -> Iterator[None]:
        self.service.start_worker(threads)
        try:
            yield
        finally:
            self.service.stop("worker")
            self.load.forget()

    def until(self, is_so: Callable[[], bool], what: str) -> None:
        deadline = time.monotonic() + DUE_SECONDS
        while not is_so():
            if time.monotonic() > deadline:
                raise RuntimeError(f"After {DUE_SECONDS:.0f} s it was still not so that {what}.")
            time.sleep(TICK_SECONDS)

    def until_ready(self) -> None:
        """Wait until the worker delivers."""
        before = self.gateway.count()
        self.load.send(self.load.prepare(1))
        self.until(lambda: self.gateway.count() > before, "the worker delivers")

    def waits(self, messages: list[Prepared], *, rate: float) -> dict[int, float]:
        """Send the messages evenly, and say how long each took from its row to the gateway, by its id."""
        since = self.gateway.count()
        for message in messages:
            self.load.send([message])
            time.sleep(1 / rate)
        wanted = {message[0] for message in messages}
        self.until(lambda: wanted <= dict(self.gateway.arrivals(since)).keys(), "every message arrived")
        arrived_at = dict(self.gateway.arrivals(since))
        rows = self.service.query("SELECT id, extract(epoch FROM created_at)::float8 FROM verification_message")
        created_at: dict[Any, Any] = dict(rows)  # type: ignore[arg-type]
        return {message_id: arrived_at[message_id] - created_at[message_id] for message_id in wanted}


# --- how many -----------------------------------------------------------------------------------------------------


@dataclass
class Stretch:
    """The work of one worker in one stretch of time, in which more messages are due than it has threads."""

    rate: float
    worker_ms: float  # CPU, a message
    postgres_ms: float
    resident: tuple[float, float]  # MB at both ends
    others: float  # cores that neither the worker nor its database used


def throughput(bench: Bench) -> str:
    levels = [int(text) for text in bench.options.threads.split(",")]
    rounds = 1 if bench.options.quick else bench.options.rounds
    stretches = {threads: [run_flat_out(bench, threads) for _ in range(rounds)] for threads in levels}
    rows = []
    for threads, runs in stretches.items():
        ideal = threads / LATENCY
        shares = [100 * run.rate / ideal for run in runs]
        goal = 100 * GOAL_SHARES.get(threads, 0)
        rows.append(
            (
                threads,
                spread([run.rate for run in runs]),
                f"{ideal:.0f}",
                spread(shares),
                f"{'met' if median(shares) >= goal else 'missed'} (>= {goal:.0f})",
                spread([run.worker_ms for run in runs], 2),
                "met" if median(run.worker_ms for run in runs) <= GOAL_CPU_MS else "missed",
                spread([run.postgres_ms for run in runs], 2),
                f"{median(run.resident[0] for run in runs):.0f} > {median(run.resident[1] for run in runs):.0f}",
                spread([run.others for run in runs], 1),
            )
        )
    columns = ("threads", "messages/s", "ideal", "%", "goal", "worker CPU ms", f"<= {GOAL_CPU_MS}")
    return table((*columns, "PostgreSQL CPU ms", "RSS MB", "others' cores"), rows)


def run_flat_out(bench: Bench, threads: int) -> Stretch:
    """Keep as many messages waiting as there are threads, so that no thread is idle and none waits for the sweep."""
    service, gateway = bench.service, bench.gateway
    warmup, seconds = (2.0, 4.0) if bench.options.quick else (4.0, 10.0)
    stock = iter(bench.load.prepare(int((warmup + seconds + 2) * threads / LATENCY) + 2 * threads))
    with bench.worker(threads):
        bench.until_ready()
        sent = gateway.count()

        def feed(for_seconds: float) -> int:
            nonlocal sent
            end = time.monotonic() + for_seconds
            while time.monotonic() < end:
                batch = list(islice(stock, max(0, threads - (sent - gateway.count()))))
                bench.load.send(batch)
                sent += len(batch)
                time.sleep(TICK_SECONDS)
            return gateway.count()

        before = feed(warmup)
        meter, began_at, resident = service.meter(), time.perf_counter(), resident_bytes(service.trees()["worker"])
        number = feed(seconds) - before
        elapsed = time.perf_counter() - began_at
        used = {name: value - meter[name] for name, value in service.meter().items()}
        grown = resident_bytes(service.trees()["worker"])
    return Stretch(
        rate=number / elapsed,
        worker_ms=used["worker"] / number * 1e3,
        postgres_ms=used["postgres"] / number * 1e3,
        resident=(resident / 1e6, grown / 1e6),
        others=(used["machine"] - used["worker"] - used["postgres"]) / elapsed,
    )


# --- how soon -----------------------------------------------------------------------------------------------------


def backlog(bench: Bench) -> str:
    size = 10_000 if bench.options.quick else 100_000
    fresh = 50 if bench.options.quick else 150
    rows = []
    with bench.worker():
        bench.until_ready()
        bench.waits(bench.load.prepare(20), rate=FRESH_RATE)
        rows.append(described("none", bench.waits(bench.load.prepare(fresh), rate=FRESH_RATE), GOAL_IDLE_SECONDS, 0.5))
    pile_up(bench, size, age_seconds=5)
    with bench.worker():
        bench.until_ready()
        waits = bench.waits(bench.load.prepare(fresh), rate=FRESH_RATE)
        rows.append(described(f"{size:,} to send", waits, GOAL_FRESH_SECONDS, 0.95))
    pile_up(bench, size, age_seconds=LIVES_SECONDS + 60)
    with bench.worker(), ThreadPoolExecutor(1) as background:
        draining = background.submit(drain_rate, bench.service)
        bench.until(lambda: bench.load.count("expired") > 0, "the first ones are expired")
        waits = bench.waits(bench.load.prepare(fresh), rate=FRESH_RATE)
        rate = draining.result()
        rows.append(described(f"{size:,} expired", waits, GOAL_FRESH_SECONDS, 0.95))
    verdict = "met" if rate >= GOAL_EXPIRED_RATE else "missed"
    return (
        table(("backlog", "fresh ones", "p50 ms", "p95 ms", "max ms", "goal"), rows)
        + f"\n\nexpired: {rate:,.0f} rows/s, {verdict} (>= {GOAL_EXPIRED_RATE:,})"
    )


def drain_rate(service: Service) -> float:
    """Rows a second, from the first that is expired until none is left that should be."""
    began_at, began_with = 0.0, 0
    deadline = time.monotonic() + DRAIN_SECONDS
    while time.monotonic() < deadline:
        [(left, expired)] = service.query(
            "SELECT count(*) FILTER (WHERE status IN ('queued', 'sending') AND expires_at <= now()),"
            " count(*) FILTER (WHERE status = 'expired') FROM verification_message"
        )
        if expired and not began_at:
            began_at, began_with = time.perf_counter(), int(str(expired))
        if began_at and not left:
            return (int(str(expired)) - began_with) / (time.perf_counter() - began_at)
        time.sleep(0.2)
    raise RuntimeError(f"The backlog was not expired within {DRAIN_SECONDS:.0f} s.")


def described(name: str, waits: dict[int, float], goal: float, share: float) -> tuple[object, ...]:
    figures = [percentile(waits.values(), wanted) for wanted in (0.5, 0.95)]
    is_met = percentile(waits.values(), share) < goal
    verdict = f"{'met' if is_met else 'missed'} (p{share * 100:.0f} < {goal * 1e3:.0f})"
    return (name, len(waits), *(f"{value * 1e3:.1f}" for value in (*figures, max(waits.values(), default=0))), verdict)


def pile_up(bench: Bench, size: int, *, age_seconds: float) -> None:
    """Write a backlog, and as many wake-ups for it as the broker would keep."""
    for start in range(0, size, BATCH):
        messages = bench.load.prepare(min(BATCH, size - start))
        bench.load.write(messages, age_seconds=age_seconds + (size - start) * 0.001)
        if start == 0:
            bench.load.wake(messages[:MAX_HINTS])


# --- past which obstacles -----------------------------------------------------------------------------------------


def dead(bench: Bench) -> str:
    """The provider that is asked first is dead; the one after it works."""
    names = ["none", "refused", *FAULTS, "hang"]
    if bench.options.quick:
        names = ["none", "refused", "500"]
    rows: list[tuple[object, ...]] = []
    usual = 0.0
    for name in names:
        with bench.worker(), dead_provider(bench, name) as provider:
            bench.until_ready()
            time.sleep(1.0)  # until that message is on record
            bench.service.query("DELETE FROM verification_circuitbreaker WHERE provider_id = %s RETURNING 1", provider)
            bench.service.query("DELETE FROM verification_deliveryattempt RETURNING 1")
            time.sleep(1.0)  # until the worker knows
            messages = bench.load.prepare(10 if name == "none" else 24)
            waits = bench.waits(messages, rate=DEAD_RATE)
            opened = bench.service.query(
                "SELECT m.id FROM verification_message AS m JOIN verification_circuitbreaker AS b"
                " ON b.provider_id = %s AND m.created_at > b.opened_at",
                provider,
            )
        if name == "none":
            usual = median(waits.values())
            continue
        later = {int(str(message_id)) for (message_id,) in opened}
        first = [wait - usual for message_id, wait in waits.items() if message_id not in later]
        rest = [wait - usual for message_id, wait in waits.items() if message_id in later]
        p95 = percentile(waits.values(), 0.95)
        verdict = f"{'met' if p95 < GOAL_NEXT_SECONDS else 'missed'} (< {GOAL_NEXT_SECONDS:.0f})"
        rows.append((name, len(first), in_ms(first), len(rest), in_ms(rest), f"{p95:.2f}", verdict))
    columns = ("dead provider", "before it is set aside", "extra ms", "after", "extra ms", "p95 s", "goal")
    return f"usual wait {usual * 1e3:.1f} ms\n\n{table(columns, rows)}"


def in_ms(seconds: list[float]) -> str:
    return spread([value * 1e3 for value in seconds], 1)


@contextmanager
def dead_provider(bench: Bench, manner: str) -> Iterator[int]:
    if manner == "none":
        yield 0
        return
    url = f"http://{LOOPBACK}:9/" if manner == "refused" else f"http://{LOOPBACK}:{bench.gateway.port}/{manner}"
    made = bench.service.add_provider(manner, url, priority=1)
    try:
        yield made
    finally:
        bench.service.query("UPDATE verification_provider SET is_enabled = false WHERE id = %s RETURNING id", made)


PARTS: dict[str, Callable[[Bench], str]] = {"throughput": throughput, "backlog": backlog, "dead": dead}


if __name__ == "__main__":
    main()
