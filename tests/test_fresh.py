"""Memory between two questions to the database, and how long it lasts."""

import pytest

from verification import fresh


class Clock:
    now = 1000.0

    def monotonic(self):
        return self.now


@pytest.fixture
def clock(monkeypatch):
    monkeypatch.setattr(fresh, "time", Clock())
    return fresh.time


@pytest.fixture
def remembered(clock):
    remembered = fresh.Remembered()
    assert remembered.get("key", lambda: "first") == "first"
    return remembered


def test_a_value_is_remembered(remembered, clock):
    clock.now += 0.79
    assert remembered.get("key", lambda: "second") == "first"
    assert remembered.get("other key", lambda: "another") == "another"


def test_a_value_is_read_anew_within_a_second(remembered, clock):
    clock.now += 0.81
    assert remembered.get("key", lambda: "second") == "second"


@pytest.mark.parametrize(("age", "given"), [(0.81, "first"), (1.01, "second")])
def test_who_comes_while_it_is_renewed_gets_the_old_one_within_its_second(remembered, clock, age, given):
    meanwhile = []

    def load():
        meanwhile.append(remembered.get("key", lambda: "second"))
        return "third"

    clock.now += age
    assert remembered.get("key", load) == "third"
    assert meanwhile == [given]


def test_however_many_renew_it_at_once_nobody_gets_it_beyond_its_second(remembered, clock):
    meanwhile = []

    def load(renewing=1):
        if renewing < 10:
            meanwhile.append(remembered.get("key", lambda: load(renewing + 1)))
        return "second"

    clock.now += 2
    assert remembered.get("key", load) == "second"
    assert meanwhile == ["second"] * 9


def test_what_cannot_be_renewed_is_asked_for_again(remembered, clock):
    clock.now += 0.9
    with pytest.raises(ZeroDivisionError):
        remembered.get("key", lambda: 1 / 0)
    clock.now += 0.2
    assert remembered.get("key", lambda: "second") == "second"


def test_what_was_cleared_is_read_anew(remembered):
    remembered.clear()
    assert remembered.get("key", lambda: "second") == "second"
