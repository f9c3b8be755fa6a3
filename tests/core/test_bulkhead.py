"""A web process while some of its requests wait for others' servers."""

from __future__ import annotations

import contextlib
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import transaction

from verification.core import bulkhead as module
from verification.core.bulkhead import BulkheadFull, Wait, bulkhead, limits

SECONDS = 30  # for a thread; longer fails
THREADS = 16


@pytest.fixture(autouse=True)
def web_process(monkeypatch):
    monkeypatch.setattr(module, "_threads", THREADS)


@contextlib.contextmanager
def waiting(project_id, wait=Wait.TENANTS_SERVER, *, number=1):
    """Requests in other threads that wait until the block ends."""
    door, inside = threading.Event(), threading.Semaphore(0)

    def stay():
        with bulkhead(project_id, wait):
            inside.release()
            assert door.wait(SECONDS)

    with ThreadPoolExecutor(number) as pool:
        try:
            staying = [pool.submit(stay) for _ in range(number)]
            assert all(inside.acquire(timeout=SECONDS) for _ in staying)
            yield
        finally:
            door.set()
    for each in staying:
        each.result(SECONDS)


@pytest.mark.requirement(14, 69)
@pytest.mark.parametrize("wait", Wait)
def test_one_project_has_its_share_and_the_others_theirs(wait):
    of_project, _ = limits(wait, THREADS)
    with waiting(1, wait, number=of_project):
        with pytest.raises(BulkheadFull) as refused, bulkhead(1, wait):
            pass
        assert refused.value.retry_after
        with bulkhead(2, wait):
            pass
    with bulkhead(1, wait):
        pass


@pytest.mark.requirement(14)
def test_all_tenants_together_leave_room_for_the_vendors():
    _, of_tenants = limits(Wait.TENANTS_SERVER, THREADS)
    with contextlib.ExitStack() as stack:
        for project in range(of_tenants):
            stack.enter_context(waiting(project))
        with pytest.raises(BulkheadFull), bulkhead(99):
            pass
        with bulkhead(99, Wait.CHALLENGE_VENDOR):
            pass


@pytest.mark.requirement(14)
@pytest.mark.parametrize("threads", [2, 4, 16, 1000])
def test_some_threads_are_left_whatever_is_waited_for(threads):
    assert all(1 <= of_project <= in_all < threads for of_project, in_all in (limits(wait, threads) for wait in Wait))


def test_a_wait_within_a_wait_counts_once():
    with waiting(1, number=limits(Wait.TENANTS_SERVER, THREADS)[0] - 1), bulkhead(1), bulkhead(None), bulkhead(1):
        pass


def test_a_failure_outside_ends_the_wait():
    for _ in range(THREADS):
        with pytest.raises(TimeoutError), bulkhead(1):
            raise TimeoutError


def test_a_worker_has_no_such_limits(monkeypatch):
    monkeypatch.setattr(module, "_threads", 0)
    with waiting(1, number=THREADS), bulkhead(1):
        pass


@pytest.mark.requirement(14)
@pytest.mark.django_db(transaction=True)
def test_a_wait_in_a_transaction_is_an_error_in_the_log(caplog):
    with transaction.atomic(), bulkhead(1):
        pass
    assert "in the middle of a transaction" in caplog.text
