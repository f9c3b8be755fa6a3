"""Looking up names: those that nobody answers for do not take the others' turn."""

from __future__ import annotations

import socket
import threading

import pytest

from providers.door import lookups
from providers.door.lookups import LookUps, domain_of
from providers.errors import NotConnected
from tests.live import at_once

ADDRESS = "93.184.216.34"
SOON = 0.05  # seconds that a caller waits for a name that will not be answered
LONG = 20.0  # that a caller would wait for one that will


class Resolver:
    """The system's, with names that are not answered until the end."""

    def __init__(self):
        self.ended = threading.Event()
        self.asked = []

    def __call__(self, host, port, **_):
        self.asked.append(host)
        if "silent" in host:
            self.ended.wait()
        if "unknown" in host:
            raise socket.gaierror
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (ADDRESS, port))]


@pytest.fixture
def system(monkeypatch):
    made = Resolver()
    monkeypatch.setattr(socket, "getaddrinfo", made)
    monkeypatch.setattr(lookups, "PATIENCE_SECONDS", 0.0)
    yield made
    made.ended.set()


def fail(names, host, seconds=SOON):
    with pytest.raises(NotConnected):
        names.resolve(host, 443, seconds)


def test_the_resolver_finds_this_machine_once():
    found = lookups.resolve("localhost", 443, LONG)
    assert "127.0.0.1" in found and len(found) == len(set(found))


def test_a_name_is_looked_up_at_each_connection(system):
    names = LookUps()
    assert [names.resolve("Shop.example", 443, LONG) for _ in range(2)] == [[ADDRESS]] * 2
    assert system.asked == ["shop.example"] * 2


def test_who_asks_for_the_same_name_meanwhile_waits_for_the_same_answer(system):
    names = LookUps()
    waiting = [threading.Thread(target=fail, args=(names, "silent.example")) for _ in range(20)]
    for thread in waiting:
        thread.start()
    for thread in waiting:
        thread.join()
    assert system.asked == ["silent.example"]


def test_names_of_one_domain_that_hang_leave_the_others_their_turn(system):
    names = LookUps()
    for number in range(lookups.MAX_LOOK_UPS):
        fail(names, f"{number}.silent.example", 0.01)
    assert len(system.asked) == lookups.MAX_OF_DOMAIN
    assert names.resolve("shop.test", 443, LONG) == [ADDRESS]


def test_however_many_hang_those_that_were_answered_lately_have_their_turn(system):
    names = LookUps()
    assert names.resolve("shop.example", 443, LONG) == [ADDRESS]
    for number in range(lookups.MAX_LOOK_UPS):
        fail(names, f"silent.{number}.test", 0.01)
    assert len(system.asked) <= 1 + lookups.MAX_OF_UNKNOWN
    assert names.resolve("shop.example", 443, LONG) == [ADDRESS]


def test_a_name_that_was_not_answered_is_not_looked_up_again_for_a_while(system):
    names = LookUps()
    fail(names, "silent.example")
    fail(names, "silent.example", LONG)  # at once
    assert system.asked == ["silent.example"]


def test_a_late_answer_ends_the_silence(system):
    names = LookUps()
    fail(names, "silent.example")
    system.ended.set()
    with names._changed:
        assert names._changed.wait_for(lambda: not names._running, LONG)
    assert names.resolve("silent.example", 443, LONG) == [ADDRESS]


def test_a_caller_with_no_time_left_says_nothing_of_the_name(system, monkeypatch):
    monkeypatch.setattr(lookups, "PATIENCE_SECONDS", LONG)
    names = LookUps()
    fail(names, "silent.example", 0.0)
    system.ended.set()
    assert names.resolve("silent.example", 443, LONG) == [ADDRESS]


def test_a_name_that_does_not_exist_is_told_at_once_and_not_remembered(system):
    names = LookUps()
    for _ in range(2):
        fail(names, "unknown.example", LONG)
    assert system.asked == ["unknown.example"] * 2


def test_many_new_names_of_one_domain_at_once_are_all_answered(system):
    names = LookUps()
    found = at_once(40, lambda number: names.resolve(f"{number}.example", 443, LONG))
    assert found == [[ADDRESS]] * 40


@pytest.mark.parametrize(
    ("host", "domain"),
    [
        ("a.b.example.com", "example.com"),
        ("example.com", "example.com"),
        ("a.example.co.uk", "example.co.uk"),
        ("co.uk", "co.uk"),
        ("gateway", "gateway"),
        ("a.b.uz", "b.uz"),
    ],
)
def test_a_domain_is_what_somebody_registered(host, domain):
    assert domain_of(host) == domain
