"""Real web processes and workers tell what they use and how busy their threads are, until they have ended."""

from __future__ import annotations

import threading
import time
import urllib.request

import psycopg
import pytest
from django.conf import settings
from prometheus_client.parser import text_string_to_metric_families

from tests.faults.conftest import METRICS_TOKEN
from tests.faults.shop import open_shop, recipient
from tests.live import at_once, wait_until

pytestmark = [pytest.mark.live, pytest.mark.long, pytest.mark.xdist_group("process figures"), pytest.mark.timeout(300)]

WORKER_THREADS = 8  # of LiveService


@pytest.fixture(scope="module")
def service(own_service):
    return own_service


@pytest.fixture(scope="module")
def shop(service, gateway):
    return open_shop(service, gateway)


@pytest.fixture(scope="module")
def told(service):
    """Ask for a metric by its name and role: the values of its series."""

    def values(name, role):
        asked = urllib.request.Request(
            f"http://127.0.0.1:{service.port}/metrics", headers={"Authorization": f"Bearer {METRICS_TOKEN}"}
        )
        with urllib.request.urlopen(asked) as response:
            families = text_string_to_metric_families(response.read().decode())
        samples = [each for family in families for each in family.samples]
        return [each.value for each in samples if each.name == f"watchword_{name}" and each.labels["role"] == role]

    return values


def test_every_process_tells_what_it_uses(service, told):
    web, worker = service.web_processes, 1
    wait_until(lambda: len(told("process_start_time_seconds", "web")) == web, "all web processes report")
    wait_until(lambda: len(told("process_start_time_seconds", "worker")) == worker, "the worker reports")
    assert (told("threads", "web"), told("threads", "worker")) == ([web * settings.WEB_THREADS], [WORKER_THREADS])
    for role in ("web", "worker"):
        assert all(each > 10_000_000 for each in told("process_resident_memory_bytes", role))  # bytes: a Python is more
        assert all(0 < each <= time.time() for each in told("process_start_time_seconds", role))
        files = told("process_open_fds", role), told("process_max_fds", role)
        assert all(0 < opened < most for opened, most in zip(*files, strict=True))


def test_cpu_waits_and_busy_threads_move_with_the_work(service, shop, told):
    names = ("process_cpu_seconds_total", "thread_busy_seconds_total", "thread_wait_seconds_count")
    before = {(name, role): sum(told(name, role)) for name in names for role in ("web", "worker")}
    for _ in range(5):
        at_once(5, lambda _: shop.token_for(recipient()))
    service.call("GET", "/session/settings", headers={"x-request-start": f"t={time.time():.3f}"})
    for (name, role), value in before.items():
        wait_until(lambda name=name, role=role, value=value: sum(told(name, role)) > value, f"{name} of {role} rises")
    assert sum(told("thread_wait_seconds_count", "web")) == before["thread_wait_seconds_count", "web"] + 1


def test_threads_that_wait_are_busy_until_they_have_answered(service, shop, told):
    to = recipient()
    shop.open_session(to)
    with psycopg.connect(service.servers.database_url) as holding:
        holding.execute("SELECT 1 FROM verification_recipient WHERE address = %s FOR UPDATE", [to])
        is_over = threading.Event()

        def call(_):
            while not is_over.is_set():
                shop.create(to)

        calling = threading.Thread(target=at_once, args=(4, call))
        calling.start()
        try:
            wait_until(lambda: sum(told("threads_busy", "web")) >= 3, "they are told as busy")
        finally:
            is_over.set()
            holding.rollback()
            calling.join()
    wait_until(lambda: sum(told("threads_busy", "web")) <= 1, "they are free again")  # but for that of a scrape


def test_a_process_that_has_ended_is_told_no_more_and_its_successor_is(service, told):
    (started,) = told("process_start_time_seconds", "worker")
    used = sum(told("process_cpu_seconds_total", "worker"))
    service.kill("worker0")
    assert (told("process_start_time_seconds", "worker"), told("threads", "worker")) == ([], [])
    assert sum(told("process_cpu_seconds_total", "worker")) >= used
    service.start_worker()
    (again,) = wait_until(lambda: told("process_start_time_seconds", "worker"), "the new one reports")
    assert again > started and told("threads", "worker") == [WORKER_THREADS]
