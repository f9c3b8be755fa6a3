"""The time that a code takes from its row to the provider under light load.

The moment of the row is its ``created_at``, which PostgreSQL takes inside the transaction, so the commit is in the
figure; the arrival is when the gateway has read the request. Both are the machine's one clock.

A create that is refused or not answered in time ends the run, so a run takes about its messages divided by the rate.

    python -m benchmarks.wakeup
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections.abc import Iterator

from benchmarks.common.driver import Client, Driver, Script, Window, percentile, recorded
from benchmarks.common.scripts import Target, recipients
from benchmarks.common.service import Service, machine
from benchmarks.common.tables import table

GOALS_MS = {0.5: 10.0, 0.99: 50.0}
ARRIVAL_SECONDS = 20.0  # how long the last code may take


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.wakeup", description=__doc__.partition("\n")[0])
    parser.add_argument("--rate", type=float, default=4.0, help="messages a second, at random moments; default 4")
    parser.add_argument("--messages", type=int, default=150, help="that are measured; default 150")
    parser.add_argument("--warmup", type=int, default=40, help="messages before them; default 40")
    options = parser.parse_args()
    print(machine(), flush=True)
    with Driver() as driver, Service(gateway_port=driver.gateway.port) as service:
        service.start_web()
        service.start_worker()
        print("The servers are up.", file=sys.stderr, flush=True)
        target = Target("web", service.port, service.api_key, service.secret_key)
        measure(driver, service, target, options.warmup, options.rate)
        before, began_at = service.meter(), time.perf_counter()
        delays = [delay * 1e3 for delay in measure(driver, service, target, options.messages, options.rate)]
        seconds = time.perf_counter() - began_at
        used = {name: (value - before[name]) / seconds for name, value in service.meter().items()}
    rows = [
        (f"p{share * 100:.0f}", f"{percentile(delays, share):.1f}", goal_of(share, percentile(delays, share)))
        for share in (0.5, 0.9, 0.99)
    ]
    rows.append(("max", f"{max(delays):.1f}", ""))
    print(f"\n{table((f'row to provider, {len(delays)} messages', 'ms', 'goal'), rows)}")
    ours = sum(share for name, share in used.items() if name != "machine")
    print(f"\ncores used: worker {used['worker']:.3f}, others on this machine {max(0.0, used['machine'] - ours):.2f}")


def measure(driver: Driver, service: Service, target: Target, number: int, rate: float) -> list[float]:
    """Seconds from the row to the gateway, of so many messages."""
    with recorded(driver.gateway) as arrivals:
        drip(driver, target, number=number, rate=rate)
        if not driver.poll_until(lambda: len(arrivals) >= number, seconds=ARRIVAL_SECONDS):
            raise RuntimeError(f"Only {len(arrivals)} of {number} codes arrived.")
    rows = service.query("SELECT id, extract(epoch FROM created_at)::float8 FROM verification_message")
    created_at: dict[object, object] = dict(rows)  # type: ignore[arg-type]
    return [arrival.wall_at - float(str(created_at[arrival.message_id])) for arrival in arrivals]


def drip(driver: Driver, target: Target, *, number: int, rate: float) -> None:
    """Create so many sessions at the moments of a Poisson process, over one connection that stays open."""
    addresses = recipients()
    sessions: dict[str, str] = {}
    scripts: Iterator[Script] = (target.create_only(next(addresses), sessions) for _ in range(number))
    client = Client(driver, target.port)
    window = driver.window = Window()
    try:
        for script in scripts:
            driver.poll_until(lambda: False, seconds=random.expovariate(rate))
            finished = len(sessions)
            client.begin(script)
            if not driver.poll_until(lambda: len(sessions) > finished or bool(window.errors), seconds=ARRIVAL_SECONDS):  # noqa: B023
                raise RuntimeError(f"A create was not answered within {ARRIVAL_SECONDS:.0f} s.")
            if window.errors:
                raise RuntimeError(f"A create was refused: {dict(window.errors)}.")
    finally:
        client.close()


def goal_of(share: float, value: float) -> str:
    if share not in GOALS_MS:
        return ""
    return f"{'met' if value < GOALS_MS[share] else 'missed'} (< {GOALS_MS[share]:.0f})"


if __name__ == "__main__":
    main()
