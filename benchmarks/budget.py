"""The CPU that one verification costs PostgreSQL, the web process and the worker, beside the goal of each.

One process does it all, one request after the other: it calls the WSGI application, delivers each message to a stub
over HTTP, and reads what its connection's PostgreSQL process has used, from the kernel. So a busy machine disturbs the
figures little. What sockets, event loops and threads cost stands in ``benchmarks.flow``.

    python -m benchmarks.budget
    python -m benchmarks.budget --postgres /usr/lib/postgresql/15/bin --guard
"""

from __future__ import annotations

import argparse
import re
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any
from unittest.mock import patch

from benchmarks.common.gateway import Gateway
from benchmarks.common.scripts import CHECK, CREATE, VERIFY
from benchmarks.common.service import Service, machine
from benchmarks.common.tables import table
from benchmarks.inside import Inside, code_of

BATCH = 50  # flows that one figure is the mean of
WARM_FLOWS = 50  # statements and plans are prepared, and caches filled, by then
DELIVER = "deliver"
DATABASE_GOAL_MS = 2.0  # of PostgreSQL for a flow of three steps with its delivery
REQUEST_GOAL_MS = 0.8  # of the web process for a request, on average of the three
DELIVERY_GOAL_MS = 1.0  # of the worker for a message

_FUNCTION = re.compile(r"\bFROM (\w+)\(")


class Budget:
    """Runs flows in this process. ``python`` and ``database`` are milliseconds a flow by part, one figure a batch."""

    def __init__(self, inside: Inside) -> None:
        self.inside = inside
        self.python: dict[str, list[float]] = defaultdict(list)
        self.database: list[dict[str, float]] = []  # of each batch; what is called once a second is not in every one

    def run_flows(self, number: int) -> dict[str, float]:
        """Run so many flows, and return the CPU seconds of this thread by step."""
        used: dict[str, float] = defaultdict(float)
        with _noted_messages() as messages:
            for _ in range(number):
                [body] = self.inside.prepare(CREATE, 1)
                created = _timed(used, CREATE, lambda body=body: self.inside.call(CREATE, body))
                _timed(used, DELIVER, lambda: _deliver(messages.pop()))
                check = {"session_id": created["session_id"], "code": code_of(created["session_id"])}
                checked = _timed(used, CHECK, lambda check=check: self.inside.call(CHECK, check))
                verify = {"verify_token": checked["verify_token"]}
                _timed(used, VERIFY, lambda verify=verify: self.inside.call(VERIFY, verify))
        return used

    def measure(self, batches: int) -> None:
        """Take this thread's figures and PostgreSQL's in turn, as reading the latter costs the former time."""
        self.run_flows(WARM_FLOWS)
        for _ in range(batches):
            for step, seconds in self.run_flows(BATCH).items():
                self.python[step].append(seconds / BATCH * 1e3)
            with _metered_database() as used:
                self.run_flows(BATCH)
            self.database.append({function: seconds / BATCH * 1e3 for function, seconds in used.items()})

    def report(self) -> str:
        # Codes are read by a statement of ours, and what a project is costs by the second and not by the flow.
        called = {function for batch in self.database for function in batch} - set(APART)
        database = {name: [batch.get(name, 0.0) for batch in self.database] for name in called}
        requests = [self.python[step] for step in (CREATE, CHECK, VERIFY)]
        lines = [
            ("PostgreSQL, a flow", _median_of_sums(database.values()), DATABASE_GOAL_MS),
            ("web process, a request", _median_of_sums(requests) / len(requests), REQUEST_GOAL_MS),
            ("worker, a message", median(self.python[DELIVER]), DELIVERY_GOAL_MS),
        ]
        goals = table(
            ("CPU ms", "measured", "goal", ""),
            [(name, f"{value:.2f}", f"{goal:.1f}", "met" if value <= goal else "over") for name, value, goal in lines],
        )
        parts = table(
            ("CPU ms a flow", "median", "lowest", "highest"),
            [
                (name, *(f"{figure:.3f}" for figure in (median(values), min(values), max(values))))
                for name, values in [*sorted(database.items()), *sorted(self.python.items())]
            ],
        )
        return f"{goals}\n\n{parts}"


APART = ("other", "load_caller")


def _timed(used: dict[str, float], step: str, act: Callable[[], Any]) -> Any:
    began_at = time.thread_time()
    result = act()
    used[step] += time.thread_time() - began_at
    return result


def _median_of_sums(parts: Any) -> float:
    return median(map(sum, zip(*parts, strict=True)))


def _deliver(message_id: int) -> None:
    from verification.services.delivery import dispatch

    if not dispatch.deliver(message_id):
        raise RuntimeError("A message was not due when its worker was woken.")


@contextmanager
def _noted_messages() -> Iterator[list[int]]:
    """Keep the wake-ups, so that each message is delivered here, and no worker's queue grows."""
    from verification.worker.broker import broker

    noted: list[int] = []
    wake = broker.wake

    def note(queue: str, message_id: int) -> None:
        noted.append(message_id)
        wake(queue, message_id)

    with patch.object(broker, "wake", note):
        yield noted


@contextmanager
def _metered_database() -> Iterator[dict[str, float]]:
    """The CPU seconds of PostgreSQL by function. What its process does after an answer is the function's, too."""
    import psycopg
    from django.db import connection

    connection.ensure_connection()
    pid = connection.connection.info.backend_pid
    used: dict[str, float] = defaultdict(float)
    execute: Any = psycopg.Cursor.execute
    current, before = "other", _cpu_seconds(pid)

    def turn_to(function: str) -> None:
        nonlocal current, before
        now = _cpu_seconds(pid)
        used[current] += now - before
        current, before = function, now

    def metered(cursor: Any, query: Any, *arguments: Any, **options: Any) -> Any:
        found = _FUNCTION.search(str(query))
        turn_to(found[1] if found else "other")
        return execute(cursor, query, *arguments, **options)

    with patch.object(psycopg.Cursor, "execute", metered):
        yield used
    turn_to("other")


def _cpu_seconds(pid: int) -> float:
    """The CPU seconds that a process has used, to the nanosecond. Only Linux tells."""
    return int(Path(f"/proc/{pid}/schedstat").read_text().split()[0]) / 1e9


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.budget", description=__doc__.partition("\n")[0])
    parser.add_argument("--batches", type=int, default=6, help=f"of {BATCH} flows each; default 6")
    parser.add_argument("--guard", action="store_true", help="with the traffic guard on, as it is by default")
    options = parser.parse_args()
    print(machine())
    with Gateway() as gateway, Service(gateway_port=gateway.port) as service:
        if options.guard:
            service.manage("setproject", "Benchmark", "traffic_guard=enforce")
        budget = Budget(Inside(service))
        budget.measure(options.batches)
        print(budget.report())
        from django.db import connections

        connections.close_all()


if __name__ == "__main__":
    main()
