"""The line of a web process' requests: whoever asks for much at once, another caller has a place."""

import threading
from queue import SimpleQueue

import pytest

from tests.live import at_once
from verification import fair_line
from verification.fair_line import FairLine

SECONDS = 20  # none of which passes unless something is wrong


@pytest.fixture
def line():
    return FairLine(3)


def take(line, count):
    return [line.get()[1] for _ in range(count)]


def done(line, caller, turn=None):
    line.done((caller, turn))


def is_empty(line):
    return line._line.empty()


def test_a_caller_alone_has_all_places(line):
    for number in range(4):
        line.put("one", number)
    assert take(line, 3) == [0, 1, 2]
    assert is_empty(line)
    done(line, "one")
    assert take(line, 1) == [3]


def test_where_another_asks_as_well_a_place_stays_free(line):
    line.put("two", "first")
    for number in range(9):
        line.put("one", number)
    line.put("two", "second")
    assert take(line, 4) == ["first", 0, 1, "second"]
    done(line, "two")
    assert is_empty(line)
    done(line, "one")
    assert take(line, 1) == [2]


def test_who_had_all_places_gives_one_up_and_goes_on(line):
    for number in range(6):
        line.put("one", number)
    line.put("two", "another's")
    assert take(line, 4) == [0, 1, 2, "another's"]
    done(line, "one")
    assert is_empty(line)
    for number in (3, 4, 5):
        done(line, "one")
        assert take(line, 1) == [number]


def test_long_after_another_asked_a_caller_has_all_places_again(line, monkeypatch):
    line.put("two", "once")
    done(line, "two")
    take(line, 1)
    monkeypatch.setattr(fair_line, "SHARED_SECONDS", 0.0)
    for number in range(3):
        line.put("one", number)
    assert take(line, 3) == [0, 1, 2]


def test_nothing_is_kept_of_who_is_done(line):
    for number in range(5):
        line.put("one", number)
    for _ in range(5):
        line.get()
        done(line, "one")
    assert (line._held, dict(line._in_hand)) == ({}, {})


def test_a_single_place_is_everybodys():
    line = FairLine(1)
    line.put("one", 1)
    line.put("two", 2)
    assert take(line, 2) == [1, 2]


def test_items_of_one_turn_go_one_after_the_other(line):
    for number in range(3):
        line.put("one", number, "turn")
    assert take(line, 1) == [0]
    assert is_empty(line)
    done(line, "one", "turn")
    assert take(line, 1) == [1]


def test_who_waits_for_a_turn_holds_up_no_other_item_of_the_caller(line):
    for number in range(5):
        line.put("one", number, "turn")
    line.put("one", "another turn", "other")
    line.put("one", "no turn")
    assert take(line, 3) == [0, "another turn", "no turn"]


def test_a_turn_of_another_caller_is_another_turn(line):
    line.put("one", 1, "turn")
    line.put("two", 2, "turn")
    assert take(line, 2) == [1, 2]


def test_who_had_to_wait_for_its_turn_waits_for_a_place_as_well(line):
    line.put("two", "first")
    line.put("one", 0, "turn")
    line.put("one", 1, "turn")
    line.put("one", "beside")
    line.put("one", "held")
    assert take(line, 3) == ["first", 0, "beside"]
    done(line, "one", "turn")
    assert take(line, 1) == ["held"]
    done(line, "one")
    assert take(line, 1) == [1]


def test_nothing_is_kept_of_turns_that_are_over(line):
    for number in range(3):
        line.put("one", number, "turn")
    for _ in range(3):
        line.get()
        done(line, "one", "turn")
    assert (line._turns, line._held, line._in_hand) == ({}, {}, {})


def test_nothing_is_lost_or_given_twice_where_many_put_and_get(line):
    taken = SimpleQueue()

    def work():
        while (got := line.get())[1] is not None:
            line.done(got[0])
            taken.put(got[1])

    workers = [threading.Thread(target=work, daemon=True) for _ in range(4)]
    for worker in workers:
        worker.start()
    at_once(6, lambda caller: [line.put(caller, (caller, n), n % 2 or None) for n in range(200)])
    found = [taken.get(timeout=SECONDS) for _ in range(1200)]
    assert sorted(found) == [(caller, n) for caller in range(6) for n in range(200)]
    for _ in workers:
        line.put(None, None)
    for worker in workers:
        worker.join(SECONDS)
    assert (line._turns, line._held, line._in_hand, is_empty(line)) == ({}, {}, {}, True)
