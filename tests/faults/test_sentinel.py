"""The primary of two Valkey servers dies under load, and its sentinels make the replica the primary."""

from __future__ import annotations

import contextlib
import signal
from urllib.parse import quote

import pytest
import redis

from tests.faults.callers import Callers, assert_nothing_is_lost
from tests.live import LiveService, wait_until
from tests.servers.valkey import (
    NAME,
    PASSWORD,
    SENTINEL_PASSWORD,
    SENTINELS,
    ValkeyServer,
    knows_all,
    watch,
)
from verification.core import valkey

pytestmark = [pytest.mark.live, pytest.mark.long, pytest.mark.xdist_group("sentinel"), pytest.mark.timeout(300)]

BEFORE, AFTER = 30, 40  # verifications before the primary dies, and after it
CALLERS = 4
WORKER_THREADS = 8


@pytest.fixture(scope="module")
def servers():
    """The primary, its replica, and the sentinels."""
    with contextlib.ExitStack() as stack:
        primary = stack.enter_context(ValkeyServer())
        replica = stack.enter_context(ValkeyServer(replica_of=primary))
        wait_until(lambda: primary.replicas() == 1, "the replica follows")
        sentinels = [stack.enter_context(ValkeyServer(sentinel=watch(primary))) for _ in range(SENTINELS)]
        wait_until(lambda: all(map(knows_all, sentinels)), "the sentinels know each other")
        yield primary, replica, sentinels


@pytest.fixture(scope="module")
def url(servers):
    *_, sentinels = servers
    hosts = ",".join(f"127.0.0.1:{sentinel.port}" for sentinel in sentinels)
    return f"redis+sentinel://:{quote(PASSWORD)}@{hosts}/{NAME}/1?sentinel_password={quote(SENTINEL_PASSWORD)}"


@pytest.fixture(scope="module")
def service(tmp_path_factory, url):
    live = LiveService(tmp_path_factory.mktemp("watched"), is_embedded=False, REDIS_URL=url)
    try:
        live.servers.start()
        live.start_web()
        live.start_worker(threads=WORKER_THREADS)
        yield live
    finally:
        live.stop()


@pytest.fixture
def roles(servers):
    """The primary and the replica of this moment, and the sentinels; both run."""
    first, second, sentinels = servers
    for server in (first, second):
        if server.process.poll() is not None:
            server.start()
    wait_until(lambda: {first.role(), second.role()} == {"master", "slave"}, "there is a primary and a replica")
    primary, replica = (first, second) if first.role() == "master" else (second, first)
    wait_until(lambda: primary.replicas() == 1, "the replica follows")
    return primary, replica, sentinels


def test_whoever_is_primary_is_found_in_the_database_that_the_address_names(url, roles):
    primary, _, _ = roles
    with redis.Redis(connection_pool=valkey.pool(url, socket_connect_timeout=1, socket_timeout=1)) as client:
        client.set("seen", "yes", ex=60)
    with primary.client() as client:
        client.select(1)
        assert client.get("seen") == "yes"


def test_the_check_of_its_version_asks_the_primary(service, roles):
    done = service.run("check", "--database", "default")
    assert done.returncode == 0
    assert "watchword.W004" not in done.stderr


def test_no_password_is_told_where_no_sentinel_answers(service, url):
    nobody = url.replace("127.0.0.1:", "127.0.0.2:")
    done = service.run("check", "--database", "default", REDIS_URL=nobody)
    assert "watchword.W004" in done.stderr
    assert not [word for word in (PASSWORD, SENTINEL_PASSWORD, quote(PASSWORD)) if word in done.stdout + done.stderr]


def test_nothing_is_lost_and_nothing_fails_when_the_primary_dies(shop, service, roles):
    primary, replica, _ = roles
    with Callers(shop, CALLERS) as callers:
        callers.verify(BEFORE)
        primary.stop(signal.SIGKILL)
        callers.verify(AFTER)
        wait_until(lambda: replica.role() == "master", "the replica is the primary")
        callers.verify(AFTER)
    assert callers.failures == []
    assert_nothing_is_lost(callers, most_twice=0)
    wait_until(lambda: wakes(replica) > 0, "the web processes push to the new primary")


def wakes(server):
    with server.client() as client:
        return client.info("commandstats").get("cmdstat_rpush", {"calls": 0})["calls"]


def test_a_sentinel_that_dies_is_passed_over(shop, service, roles):
    *_, sentinels = roles
    sentinels[0].stop(signal.SIGKILL)
    try:
        with Callers(shop, CALLERS) as callers:
            callers.verify(BEFORE)
        assert callers.failures == []
    finally:
        sentinels[0].start()
