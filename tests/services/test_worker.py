"""The worker's pollers: when they look for what is due, and what keeps them from it."""

import threading

import pytest

from verification import worker
from verification.worker import Poller, Upkeep


@pytest.fixture
def poll(monkeypatch):
    """Runs a poller that by itself would look once an hour."""
    monkeypatch.setattr(worker, "ROUND_SECONDS", 3600.0)
    monkeypatch.setattr(worker.sql, "drop_dead_connection", lambda: None)
    monkeypatch.setattr(worker, "close_old_connections", lambda: None)
    stopping, started = threading.Event(), []

    def run(**how):
        started.append(Poller("a poller", stopping, **how))
        started[-1].start()

    yield run
    stopping.set()
    for poller in started:
        poller.join()


def test_a_thread_that_gets_free_is_given_the_next_row_at_once(poll):
    """As of a customer with many callbacks, who is called twice at a time."""
    due, done, at_once = list(range(20)), threading.Event(), []

    def claim(room, at_work):
        rows = [due.pop() for _ in range(min(2 - len(at_work), len(due)))]
        at_once.append(len(at_work) + len(rows))
        return rows

    poll(claim=claim, work=lambda row: row or done.set(), threads=8)
    assert done.wait(10)
    assert max(at_once) == 2


def test_what_fails_beside_the_rows_keeps_nobody_from_them(poll):
    done = threading.Event()
    rows = iter([["row"]])
    poll(claim=lambda room, at_work: next(rows, []), work=lambda row: done.set(), tidy=lambda: 1 / 0, threads=1)
    assert done.wait(10)


def test_a_part_of_the_upkeep_that_fails_keeps_no_other_from_its_turn():
    done = []
    upkeep = Upkeep(
        [(0.0, lambda: 1 / 0), (0.0, lambda: done.append("often")), (3600.0, lambda: done.append("seldom"))]
    )
    for _ in range(2):
        with pytest.raises(ZeroDivisionError):
            upkeep()
    assert done == ["often", "seldom", "often"]
