"""The primary of two PostgreSQL servers dies under load, and Patroni makes its synchronous standby the primary."""

from __future__ import annotations

import re
import time

import pytest

from tests.faults.callers import Callers, assert_nothing_is_lost
from tests.faults.shop import open_shop
from tests.live import ROOT, LiveService
from tests.servers import patroni
from tests.servers.patroni import USER, Etcd, PatroniNode

pytestmark = [
    pytest.mark.live,
    pytest.mark.long,
    pytest.mark.xdist_group("database_failover"),
    pytest.mark.timeout(500),  # with two new servers and all migrations
    pytest.mark.skipif(
        not (patroni.ETCD and patroni.PATRONI),
        reason="Debian's packages patroni and etcd-server are not installed.",
    ),
]

BEFORE, AFTER = 30, 30  # verifications before the primary dies, and after it
TAKEOVER_SECONDS = 120  # the wait for the first verification after it; on a busy machine all takes longer
CALLERS = 4
WORKER_THREADS = 8


@pytest.fixture
def primary():
    with Etcd() as etcd, PatroniNode(etcd, "one") as running:
        running.wait_until(running.is_primary, "it is the primary")
        running.execute(f"CREATE ROLE {USER} LOGIN", f"CREATE DATABASE {USER} OWNER {USER}")
        yield running


@pytest.fixture
def standby(primary):
    with PatroniNode(primary.etcd, "two") as running:
        running.wait_until(running.is_synchronous_standby, "it is the synchronous standby")
        yield running


def documented_options() -> str:
    """Return what the guide has behind the address of several servers."""
    return re.search(
        r"DATABASE_URL=postgres://\S+,\S+/watchword\?(\S+)", (ROOT / "docs" / "engineering" / "scale.md").read_text()
    )[1]


@pytest.fixture
def service(tmp_path, primary, standby):
    """Told of both servers, and that it wants the one that can be written to."""
    hosts = f"127.0.0.1:{primary.port},127.0.0.1:{standby.port}"
    live = LiveService(
        tmp_path, is_embedded=False, DATABASE_URL=f"postgres://{USER}@{hosts}/{USER}?{documented_options()}"
    )
    try:
        live.servers.start()
        live.manage("migrate")
        live.start_web()
        live.start_worker(threads=WORKER_THREADS)
        yield live
    finally:
        live.stop()


@pytest.fixture
def shop(service, gateway):
    return open_shop(service, gateway)


def test_nothing_that_was_accepted_is_lost_with_the_primary(shop, primary, standby):
    with Callers(shop, CALLERS) as callers:
        callers.verify(BEFORE)
        assert callers.failures == []
        primary.die()
        died_at = time.monotonic()
        callers.verify(1, seconds=TAKEOVER_SECONDS)
        print(f"The first verification was done {time.monotonic() - died_at:.1f} s after the end of the primary.")
        callers.verify(AFTER)
    assert standby.is_primary()
    assert {failure.what[0] for failure in callers.failures} == {503}
    assert_nothing_is_lost(callers, most_twice=WORKER_THREADS)
    assert shop.service.json("checkintegrity")["violations"] == {}
