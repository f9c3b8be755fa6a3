"""The worker's pollers: when they look for what is due, and what keeps them from it."""

import threading
from types import SimpleNamespace

import pytest

from verification.worker import poller
from verification.worker.poller import Every, PeriodicRunner, Poller


@pytest.fixture
def poll(monkeypatch):
    """Runs a poller that by itself would look once an hour."""
    monkeypatch.setattr(poller, "POLL_SECONDS", 3600.0)
    monkeypatch.setattr(poller, "close_old_connections", lambda: None)
    stopping, started = threading.Event(), []

    def run(**how):
        started.append(Poller("a poller", stopping, **how))
        started[-1].start()
        return started[-1]

    yield run
    stopping.set()
    for one in started:
        one.wake.set()
        one.join()


def test_a_thread_that_gets_free_is_given_the_next_row_at_once(poll):
    """A customer with many callbacks is called twice at a time."""
    due, done, at_once = list(range(20)), threading.Event(), []

    def claim(free, in_progress):
        rows = [due.pop() for _ in range(min(2 - len(in_progress), len(due)))]
        at_once.append(len(in_progress) + len(rows))
        return rows

    poll(claim=claim, work=lambda row: row or done.set(), threads=8)
    assert done.wait(10)
    assert max(at_once) == 2


def test_what_fails_beside_the_rows_keeps_nobody_from_them(poll):
    done = threading.Event()
    rows = iter([["row"]])
    poll(
        claim=lambda free, in_progress: next(rows, []),
        work=lambda row: done.set(),
        before_round=lambda: 1 / 0,
        threads=1,
    )
    assert done.wait(10)


def test_what_fails_again_and_again_is_told_once_until_its_reason_changes_and_when_it_works(poll, monkeypatch, caplog):
    monkeypatch.setattr(poller, "POLL_SECONDS", 0.0)  # of a pause, too
    caplog.set_level("INFO", logger=poller.__name__)
    fails, works = iter([ValueError, ValueError, ValueError, KeyError, KeyError, OSError]), threading.Event()

    def before_round():
        if works.is_set():
            works.wait(0.01)
        elif error := next(fails, None):
            raise error
        else:
            works.set()

    started = poll(before_round=before_round)
    assert works.wait(10)
    started.stopping.set()
    started.join(10)
    again = "Watchword retries at least every 5 s; the log says when it works again."
    assert [record.getMessage() for record in caplog.records] == [
        *(f"a poller failed: {name}. {again}" for name in ("ValueError", "KeyError", "OSError")),
        "a poller: works again.",
    ]


def test_what_goes_on_failing_is_told_again_now_and_then(poll, monkeypatch, caplog):
    monkeypatch.setattr(poller, "POLL_SECONDS", 0.0)
    monkeypatch.setattr(poller, "TELL_AGAIN_SECONDS", 0.0)
    tries, done = iter(range(3)), threading.Event()

    def before_round():
        if next(tries, None) is not None:
            raise ValueError
        done.set()

    poll(before_round=before_round)
    assert done.wait(10)
    assert len([record for record in caplog.records if "failed" in record.getMessage()]) == 3


def test_a_run_that_could_not_be_claimed_is_asked_for_again_at_once():
    """Else its poller would tell that it works again, after a round in which it did not ask."""
    answers = iter([ZeroDivisionError, [("purge",)]])

    def claim():
        if (answer := next(answers)) is ZeroDivisionError:
            raise answer
        return answer

    asking = Every(3600.0, claim)
    with pytest.raises(ZeroDivisionError):
        asking(1, [])
    assert [asking(1, []), asking(1, [])] == [[("purge",)], None]


def test_a_slow_turn_puts_the_next_one_off_so_that_the_work_takes_its_share_at_most(monkeypatch):
    now, turns = [1_000.0], []
    monkeypatch.setattr(poller, "time", SimpleNamespace(monotonic=lambda: now[0]))

    def work():
        turns.append(now[0])
        now[0] += 2.0

    sweep = Every(5.0, work, share=0.05)
    for later in (0.0, 39.9, 40.0):
        now[0] = 1_000.0 + later
        sweep()
    assert turns == [1_000.0, 1_040.0]


def test_a_part_of_the_upkeep_that_fails_keeps_no_other_from_its_turn():
    done = []
    upkeep = PeriodicRunner(
        [(0.0, lambda: 1 / 0), (0.0, lambda: done.append("often")), (3600.0, lambda: done.append("seldom"))]
    )
    for _ in range(2):
        with pytest.raises(ZeroDivisionError):
            upkeep()
    assert done == ["often", "seldom", "often"]


def test_a_part_of_the_upkeep_that_failed_is_tried_again_before_its_turn(monkeypatch):
    """Else codes would be wiped five minutes late for a moment's failure of the database."""
    now, tries = [1_000.0], []
    monkeypatch.setattr(poller, "time", SimpleNamespace(monotonic=lambda: now[0]))

    def fail_once():
        tries.append(now[0])
        if len(tries) == 1:
            raise ZeroDivisionError

    upkeep = PeriodicRunner([(3600.0, fail_once)])
    with pytest.raises(ZeroDivisionError):
        upkeep()
    for later in (1.0, poller.RETRY_SECONDS, 3600.0):
        now[0] = 1_000.0 + later
        upkeep()
    assert tries == [1_000.0, 1_000.0 + poller.RETRY_SECONDS]


def test_a_bell_is_heard_while_another_row_is_being_worked_on(poll):
    """Else a user's tap in a bot would wait while another's messenger does not answer."""
    rows, let_go, done = [["slow"]], threading.Event(), threading.Event()

    def claim(free, in_progress):
        return [rows.pop()] if rows else []

    def work(row):
        if row == ["slow"]:
            assert let_go.wait(10)
        else:
            done.set()

    started = poll(claim=claim, work=work, threads=2)
    while not started.in_progress:
        started.wake.set()
    rows.append(["quick"])
    started.wake.set()
    assert done.wait(10)
    let_go.set()
