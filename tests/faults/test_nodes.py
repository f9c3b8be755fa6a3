"""Two web nodes and two workers behind nginx, on one PostgreSQL through PgBouncer, and one Valkey."""

from __future__ import annotations

import contextlib
import copy
import json
import socket
import time

import pytest

from tests.faults.callers import Callers, assert_nothing_is_lost
from tests.live import LiveService, free_port, wait_until
from tests.servers import nginx, pgbouncer
from tests.servers.nginx import Nginx
from tests.servers.pgbouncer import PgBouncer
from tests.servers.postgres import PostgresServer

pytestmark = [
    pytest.mark.live,
    pytest.mark.long,
    pytest.mark.xdist_group("nodes"),
    pytest.mark.timeout(400),  # of the first test, which may wait for all migrations
    pytest.mark.skipif(
        not (nginx.PROGRAM and pgbouncer.PROGRAM),
        reason="Debian's packages nginx-light and pgbouncer are not installed.",
    ),
]

SHARED = (
    "REDIS_URL",
    "SECRET_KEY",
    "ENCRYPTION_KEYS",
    "BASE_URL",
    "DATABASE_URL",
    "DATABASE_POOLER",
    "TRUSTED_PROXIES",
)
BEFORE, AFTER = 40, 80  # verifications before a node dies, and after it
CALLERS = 4
WORKER_THREADS = 8


@pytest.fixture(scope="module")
def nodes(tmp_path_factory):
    """Two machines, each with a web server and a worker. Valkey runs on the first, and outlives its processes."""
    with PostgresServer(is_migrated=True) as server, PgBouncer(server) as pooler:
        first = LiveService(
            tmp_path_factory.mktemp("first"),
            is_embedded=False,
            BASE_URL=f"http://127.0.0.1:{free_port()}",
            DATABASE_URL=pooler.url,
            DATABASE_POOLER="transaction",
            TRUSTED_PROXIES="1",
        )
        shared = {name: first.environment[name] for name in SHARED}
        second = LiveService(tmp_path_factory.mktemp("second"), is_embedded=False, **shared)
        try:
            first.servers.start()
            for node in (first, second):
                node.start_web()
                node.start_worker(threads=WORKER_THREADS)
            yield first, second
        finally:
            second.stop()
            first.stop()


@pytest.fixture(scope="module")
def proxy(nodes):
    with Nginx([node.port for node in nodes]) as running:
        yield running


@pytest.fixture(scope="module")
def service(nodes, proxy):
    """The service as its callers see it: the first node under nginx's port."""
    seen = copy.copy(nodes[0])
    seen.port = proxy.port
    wait_until(seen.answers, "nginx answers")
    return seen


@pytest.fixture(autouse=True)
def all_run(nodes, proxy, service):
    """Start what an earlier test has killed. nginx starts anew, too, as it remembers for a second who failed."""
    for node in nodes:
        if "web" not in node.processes:
            node.start_web()
        if "worker0" not in node.processes:
            node.start_worker(threads=WORKER_THREADS)
    proxy.stop()
    proxy.start()
    wait_until(service.answers, "nginx answers")


def listens(port):
    with contextlib.suppress(ConnectionError):
        socket.create_connection(("127.0.0.1", port)).close()
        return True
    return False


def test_a_verification_may_meet_another_node_at_each_step(shop, proxy):
    with Callers(shop, CALLERS) as callers:
        callers.verify(BEFORE)
    assert callers.failures == []
    assert_nothing_is_lost(callers, most_twice=0)
    assert "POST /session/create" in proxy.log()


def outside_findings(service, url):
    done = service.run("doctor", "--only", "outside", "--json", "--url", url)
    return [each["name"] for each in json.loads(done.stdout)["findings"]]


def test_the_doctor_finds_a_web_server_whose_callers_choose_their_address(nodes, proxy):
    node, _ = nodes
    assert outside_findings(node, f"http://127.0.0.1:{proxy.port}") == ["probe-kept-back"]
    assert outside_findings(node, f"http://127.0.0.1:{node.port}") == ["client-addresses-forged"]


def test_a_node_dies_and_only_what_it_had_in_hand_fails(shop, nodes):
    _, second = nodes
    with Callers(shop, CALLERS) as callers:
        callers.verify(BEFORE)
        second.kill("web")
        second.kill("worker0")
        wait_until(lambda: not listens(second.port), "the node is gone")
        gone_at = time.monotonic()
        callers.verify(AFTER)
    assert [failure for failure in callers.failures if failure.began_at > gone_at] == []
    assert len(callers.failures) <= CALLERS
    assert_nothing_is_lost(callers, most_twice=WORKER_THREADS)


def test_a_node_that_is_back_is_asked_again(shop, nodes):
    first, second = nodes
    second.kill("web")
    wait_until(shop.service.answers, "nginx has found the first node")
    second.start_web()
    first.kill("web")
    wait_until(shop.service.answers, "nginx has found the second node")
    with Callers(shop, CALLERS) as callers:
        callers.verify(BEFORE)
    assert callers.failures == []
