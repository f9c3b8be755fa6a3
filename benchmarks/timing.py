"""A test for leaks by time: checks of a wrong code, and of sessions that are over, foreign or unknown.

python -m benchmarks.timing
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterator
from itertools import cycle

from benchmarks.driver import Driver, Failed, Request, Script, percentile
from benchmarks.scripts import Target, recipients
from benchmarks.service import Service, machine
from benchmarks.tables import table
from verification.core.ids import generate_session_id

GOAL_MS = 2.0  # between the medians of any two kinds
WRONG_PER_SESSION = 4  # one fewer than locks it
STATUSES = {"wrong": 400, "expired": 410, "foreign": 404, "unknown": 404}
KINDS = tuple(STATUSES)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.timing", description=__doc__.partition("\n")[0])
    parser.add_argument("--checks", type=int, default=500, help="of each kind; default 500")
    options = parser.parse_args()
    print(machine(), flush=True)
    with Driver() as driver, Service(gateway_port=driver.gateway.port) as service:
        other_key = service.add_project("Other")
        service.start_web()
        target = Target("web", service.port, service.api_key)
        open_ones = create(driver, target, options.checks // WRONG_PER_SESSION + 1)
        foreign = create(driver, Target("web", service.port, other_key), 50)
        expired = create(driver, target, 50)
        service.query(
            "UPDATE verification_session SET created_at = created_at - interval '1 hour',"
            " expires_at = expires_at - interval '1 hour' WHERE id = ANY (%s) RETURNING id",
            expired,
        )
        sessions = {
            "wrong": iter(open_ones * WRONG_PER_SESSION),
            "expired": cycle(expired),
            "foreign": cycle(foreign),
            "unknown": iter(generate_session_id, ""),
        }
        times = measure(driver, target, sessions, options.checks)
    show(times)


def create(driver: Driver, target: Target, number: int) -> list[str]:
    sessions: dict[str, str] = {}
    addresses = recipients()
    driver.run((target.create_only(next(addresses), sessions) for _ in range(number)), port=target.port, connections=1)
    return list(sessions.values())


def measure(driver: Driver, target: Target, sessions: dict[str, Iterator[str]], checks: int) -> dict[str, list[float]]:
    """Milliseconds by kind. The first tenth warms up and is not among them."""
    scripts: Iterator[Script] = (ask(target, kind, next(sessions[kind])) for _ in range(checks) for kind in KINDS)
    window = driver.run(scripts, port=target.port, connections=1)
    answers = Counter(" ".join(error.split()[:2]) for error in window.errors.elements())
    if answers != {f"{kind}: {status}": checks for kind, status in STATUSES.items()}:
        raise RuntimeError(f"The checks were not answered as they should be: {dict(answers)}")
    return {kind: [seconds * 1e3 for seconds in window.times[kind][checks // 10 :]] for kind in KINDS}


def ask(target: Target, kind: str, session_id: str) -> Script:
    """Every answer is a refusal, which the driver counts as an error and times all the same."""
    yield Request(kind, target.check(session_id, "nope").data)
    raise Failed(f"{kind}: a check that should have been refused passed")


def show(times: dict[str, list[float]]) -> None:
    medians = {kind: percentile(values, 0.5) for kind, values in times.items()}
    rows = [
        (
            kind,
            len(values),
            f"{percentile(values, 0.25):.2f}",
            f"{medians[kind]:.2f}",
            f"{percentile(values, 0.75):.2f}",
        )
        for kind, values in times.items()
    ]
    print(f"\n{table(('check of', 'number', 'p25, ms', 'p50, ms', 'p75, ms'), rows)}")
    apart = max(medians.values()) - min(medians.values())
    print(f"\nfarthest apart: {apart:.2f} ms, {'met' if apart < GOAL_MS else 'missed'} (< {GOAL_MS:.0f} ms)")


if __name__ == "__main__":
    main()
