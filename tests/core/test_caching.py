"""Memories keep a value for so long, and one call clears all of them."""

import ast
import gc
import threading
import time
import weakref
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from verification.core import caching
from verification.core.caching import Breaker, Cached, Cooldown, FreshCache


class Clock:
    now = 1000.0

    def monotonic(self):
        return self.now


@pytest.fixture
def clock(monkeypatch):
    monkeypatch.setattr(caching, "time", Clock())
    return caching.time


@pytest.fixture
def remembered(clock):
    remembered = FreshCache()
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
    remembered.forget()
    assert remembered.get("key", lambda: "second") == "second"


def test_a_value_that_was_put_there_counts_from_the_question(clock):
    remembered = FreshCache()
    remembered.put("key", "value", read_at=clock.now - 0.5)
    assert remembered.recent("key") == remembered.last("key") == "value"
    clock.now += 0.4
    assert (remembered.recent("key"), remembered.last("key")) == (None, "value")
    remembered.drop("key")
    assert remembered.last("key") is None


def test_values_that_nobody_asks_for_are_freed(clock):
    class Value:
        pass

    remembered = FreshCache()
    value = weakref.ref(remembered.get("left", Value))
    clock.now += 61
    remembered.get("busy", Value)
    gc.collect()
    assert value() is None


def test_a_value_that_is_kept_for_long_outlives_a_minute_in_which_others_are_read(clock):
    remembered = FreshCache(fresh_seconds=3600)
    remembered.get("kept", lambda: "first")
    clock.now += 61
    remembered.get("busy", lambda: "another")
    assert remembered.get("kept", lambda: "second") == "first"


def test_a_memory_with_a_bound_holds_no_more(clock):
    remembered = FreshCache(max_size=3)
    for number in range(10):
        remembered.get(number, lambda: "value")
    assert len([number for number in range(10) if remembered.last(number)]) <= 3


# --- servers that are away ------------------------------------------------------------------------------------------


@pytest.fixture
def away(clock):
    away = Breaker(seconds=5, failures=2)
    assert away.allow("vendor")
    away.record_failure("vendor")
    return away


def test_a_server_is_left_alone_after_some_failures_in_a_row(away):
    assert away.allow("vendor")
    away.record_failure("vendor")
    assert not away.allow("vendor")
    assert away.allow("other vendor")


def test_an_answer_ends_the_row(away):
    away.record_success("vendor")
    away.record_failure("vendor")
    assert away.allow("vendor")


def test_when_its_time_is_over_one_caller_asks_for_all(away, clock):
    away.record_failure("vendor")
    clock.now += 5
    assert [away.allow("vendor") for _ in range(3)] == [True, False, False]
    away.record_success("vendor")
    assert [away.allow("vendor") for _ in range(3)] == [True, True, True]


def test_one_that_asked_and_never_said_what_came_of_it_bars_nobody(away, clock):
    away.record_failure("vendor")
    for _ in range(2):
        clock.now += 5
        assert away.allow("vendor")


# --- waits ----------------------------------------------------------------------------------------------------------


def test_a_wait_runs_down(clock):
    waits = Cooldown(10)
    assert not waits
    waits.begin("caller", seconds=3)
    clock.now += 2
    assert (waits.left("caller"), waits.left("other caller"), bool(waits)) == (1, 0, True)
    clock.now += 2
    assert waits.left("caller") == 0


def test_waits_beyond_the_bound_take_no_memory(clock):
    waits = Cooldown(3)
    for number in range(10):
        waits.begin(number, seconds=60)
    assert len([number for number in range(10) if waits.left(number)]) <= 3


# --- all of them ----------------------------------------------------------------------------------------------------


def test_everything_is_forgotten_at_once():
    @Cached
    def once():
        return object()

    remembered, away, waits, first = FreshCache(), Breaker(seconds=60), Cooldown(10), once()
    remembered.get("key", lambda: "first")
    away.record_failure("vendor")
    waits.begin("caller", seconds=60)
    assert once() is first
    caching.clear_all()
    assert remembered.get("key", lambda: "second") == "second"
    assert away.allow("vendor")
    assert not waits.left("caller")
    assert once() is not first


def test_a_memory_that_nobody_holds_is_gone():
    held = weakref.ref(FreshCache())
    gc.collect()
    assert held() is None
    caching.clear_all()


# --- nothing else remembers -----------------------------------------------------------------------------------------

STATE = {  # what a process holds rather than remembers: it is opened and closed, or set once
    ("core/bulkhead.py", "_threads"),
    # what the apps of contrib/ add when they are loaded
    ("admin/texts/editor.py", "MORE_LINKS"),
    ("services/analytics/rollups.py", "COUNTERS"),
    ("services/providers/routing.py", "METHODS"),
    ("services/texts/own.py", "REQUIREMENTS"),
    ("services/texts/rendering.py", "ALTERNATIVES"),
    ("services/maintenance/demo.py", "to_everybody"),
    ("services/delivery/connections.py", "_held"),
    ("services/delivery/dispatch.py", "_shares"),
}


def changing_globals(path):
    """The names of a module's own that change while it runs: those declared ``global``, and what starts out empty."""
    tree = ast.parse(path.read_text())
    for node in ast.walk(tree):
        if isinstance(node, ast.Global):
            yield from node.names
    for node in tree.body:
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
            target = node.targets[0] if isinstance(node, ast.Assign) else node.target
            if ast.unparse(node.value) in ("{}", "[]", "set()", "dict()", "deque()"):
                yield target.id


def test_what_a_module_remembers_is_a_memory_that_registers_itself():
    root = Path(caching.__file__).parents[1]
    found = {(str(path.relative_to(root)), name) for path in root.rglob("*.py") for name in changing_globals(path)}
    assert found == STATE


def test_threads_that_call_at_once_compute_a_value_once():
    made, together = [], threading.Barrier(8)

    @Cached
    def once():
        made.append(object())
        time.sleep(0.05)  # the others arrive meanwhile
        return made[-1]

    def call(_):
        together.wait()
        return once()

    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(call, range(8)))
    assert len(made) == 1 and set(found) == set(made)
