"""A web process while some of its requests wait for others' servers."""

import threading

import pytest
from django.db import connection, connections, transaction

from tests.fakes.http_server import FakeHttpServer
from tests.live import wait_until
from verification.outside import Busy, Room, WebThreads, outside
from verification.services.gateways.http_door import http_door

SECONDS = 20  # none of which passes unless something is wrong
PID = "SELECT pg_backend_pid()"


@pytest.fixture
def threads():
    """One at work, and four to spare."""
    made = WebThreads(1, spare=4)
    yield made
    made.submit(connections.close_all).result(SECONDS)


@pytest.fixture
def door():
    """Outside of it requests wait until it is opened."""
    made = threading.Event()
    yield made
    made.set()


def wait_outside(threads, door, project=1, **options):
    """A request that waits there now: the future of its answer."""
    is_there = threading.Event()

    def work():
        with outside(project, **options):
            is_there.set()
            assert door.wait(SECONDS)
        return "back"

    answer = threads.submit(work)
    wait_until(lambda: is_there.is_set() or answer.done(), "it is outside")
    return answer


def backend():
    with connection.cursor() as cursor:
        cursor.execute(PID)
        return cursor.fetchone()[0]


def test_others_are_answered_while_one_waits_outside(threads, door):
    waiting = [wait_outside(threads, door, project) for project in range(4)]
    assert threads.submit(lambda: "answered").result(SECONDS) == "answered"
    assert not any(answer.done() for answer in waiting)
    door.set()
    assert [answer.result(SECONDS) for answer in waiting] == ["back"] * 4


def test_a_caller_whose_requests_all_wait_leaves_a_slot_for_another(door):
    threads, answered = WebThreads(2, spare=0), threading.Semaphore(0)
    threads.start("another", answered.release)
    for _ in range(5):
        threads.start("one", door.wait, SECONDS)
    for _ in range(3):
        threads.start("another", answered.release)
    assert all(answered.acquire(timeout=SECONDS) for _ in range(4))
    assert not door.is_set()


def test_requests_for_one_recipient_go_one_by_one_and_leave_the_slots_to_others(door):
    threads, answered = WebThreads(4, spare=0), threading.Semaphore(0)
    for _ in range(9):
        threads.start("one", door.wait, SECONDS, turn="recipient")
    threads.start("one", answered.release, turn="another recipient")
    for _ in range(3):
        threads.start("another", answered.release)
    assert all(answered.acquire(timeout=SECONDS) for _ in range(4))
    assert not door.is_set()


def test_a_request_that_is_outside_leaves_its_turn_to_the_next(threads, door):
    def work():
        with outside(1):
            door.wait(SECONDS)

    answered = threading.Event()
    threads.start("one", work, turn="recipient")
    threads.start("one", answered.set, turn="recipient")
    assert answered.wait(SECONDS)
    assert not door.is_set()


def test_a_callers_requests_outside_hold_up_none_of_its_others(threads, door):
    waiting = []

    def work():
        with outside(1):
            waiting.append(1)
            door.wait(SECONDS)

    for _ in range(3):
        threads.start("one", work)
    wait_until(lambda: len(waiting) == 3, "three requests of one caller are outside")


def test_who_comes_back_works_when_another_has_ended(threads, door):
    at_work, most = [], []

    def work():
        with outside(1):
            assert door.wait(SECONDS)
        at_work.append(1)
        most.append(len(at_work))
        at_work.pop()

    answers = [threads.submit(work) for _ in range(4)]
    door.set()
    for answer in answers:
        answer.result(SECONDS)
    assert most == [1] * 4


@pytest.mark.django_db(transaction=True)
def test_there_are_no_more_connections_to_the_database_than_slots(threads, door):
    seen = set()

    def work():
        seen.add(backend())
        with outside(1):
            assert door.wait(SECONDS)
        seen.add(backend())

    answers = [threads.submit(work) for _ in range(4)]
    seen.add(threads.submit(backend).result(SECONDS))
    door.set()
    for answer in answers:
        answer.result(SECONDS)
    assert len(seen) == 1


@pytest.mark.django_db(transaction=True)
def test_what_is_asked_of_the_database_outside_leaves_no_connection_behind(threads):
    def work():
        with outside(1):
            other = backend()
        return other, backend()

    other, own = threads.submit(work).result(SECONDS)
    assert other != own
    gone = "SELECT NOT EXISTS (SELECT FROM pg_stat_activity WHERE pid = %s)"

    def is_gone():
        with connection.cursor() as cursor:
            cursor.execute(gone, [other])
            return cursor.fetchone()[0]

    wait_until(is_gone, "the connection is closed")


def test_a_project_has_so_many_outside_and_leaves_room_for_others(threads, door):
    room = Room(of_project=1, in_all=2)
    wait_outside(threads, door, 1, room=room)
    with pytest.raises(Busy):
        wait_outside(threads, door, 1, room=room).result(SECONDS)
    second = wait_outside(threads, door, 2, room=room)
    with pytest.raises(Busy) as busy:
        wait_outside(threads, door, 3, room=room).result(SECONDS)
    assert (busy.value.status, busy.value.retry_after) == (503, 1)
    door.set()
    assert second.result(SECONDS) == "back"
    assert wait_outside(threads, door, 2, room=room).result(SECONDS) == "back"


def test_what_fails_outside_comes_back_too(threads):
    def work():
        with outside(1):
            raise ZeroDivisionError

    for _ in range(6):
        with pytest.raises(ZeroDivisionError):
            threads.submit(work).result(SECONDS)


@pytest.mark.django_db(transaction=True)
def test_a_connection_in_the_middle_of_a_transaction_goes_to_nobody_else(threads, caplog):
    def work():
        with transaction.atomic():
            before = backend()
            with outside(1):
                return before == backend()

    assert threads.submit(work).result(SECONDS)
    assert "in the middle of a transaction" in caplog.text


@pytest.mark.django_db(transaction=True)
def test_whoever_asks_by_http_gives_up_the_place_without_saying_so(threads, door):
    with FakeHttpServer(default=lambda *_: door.wait(SECONDS)) as server:
        asking = threads.submit(http_door().request, "GET", server.url)
        wait_until(lambda: server.requests, "it waits for the answer")
        assert threads.submit(lambda: "answered").result(SECONDS) == "answered"
        assert not asking.done()
        door.set()
        assert asking.exception(SECONDS)  # the server hung up


@pytest.mark.django_db
def test_for_a_thread_of_no_web_process_it_does_nothing(door):
    with transaction.atomic(), outside(1), outside(1):
        assert backend()
