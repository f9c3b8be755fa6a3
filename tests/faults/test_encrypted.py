"""The whole service with its database and broker reached by TLS alone, with certificates of an authority of our own."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.core.test_valkey import REDIS, VALKEY
from tests.fakes.certificates import make_certificate
from tests.faults.shop import recipient
from tests.live import LiveService
from tests.servers.postgres import PostgresServer
from tests.servers.valkey import ValkeyServer

# Debian's; the wheel's PostgreSQL and Valkey were built without TLS.
POSTGRES = sorted(Path("/usr/lib/postgresql").glob("*/bin/postgres"))

pytestmark = [
    pytest.mark.live,
    pytest.mark.long,
    pytest.mark.xdist_group("encrypted"),
    pytest.mark.timeout(300),  # seconds: all migrations are made
    pytest.mark.skipif(not POSTGRES, reason="Debian's package postgresql is not installed."),
    pytest.mark.skipif(not (VALKEY or REDIS), reason="Neither valkey-server nor redis-server of Debian is installed."),
]


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    return make_certificate(tmp_path_factory.mktemp("certificate"), "localhost")


@pytest.fixture(scope="module")
def stranger(tmp_path_factory):
    return make_certificate(tmp_path_factory.mktemp("stranger"), "localhost")


@pytest.fixture(scope="module")
def servers(certificate):
    with (
        PostgresServer(programs=POSTGRES[-1].parent, tls=certificate) as database,
        ValkeyServer(program=VALKEY or REDIS, tls=certificate) as broker,
    ):
        yield database, broker


@pytest.fixture(scope="module")
def service(servers, certificate, tmp_path_factory):
    database, broker = servers
    trusted = {"DATABASE_URL": database.url, "REDIS_URL": broker.url, "SSL_CERT_FILE": str(certificate.certificate)}
    live = LiveService(tmp_path_factory.mktemp("encrypted"), is_embedded=False, **trusted)
    try:
        live.servers.start()
        live.manage("migrate")
        yield live.start()
    finally:
        live.stop()


def test_a_user_is_verified_over_tls_alone(service, shop, servers):
    to = recipient()
    assert shop.verify(shop.token_for(to))[:2] == (200, {"phone": to})
    database, broker = servers
    ours = "FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) WHERE usename = 'watchword'"
    assert database.execute(f"SELECT DISTINCT ssl {ours}") == [(True,)]
    with broker.client() as client:
        assert client.info("commandstats")["cmdstat_rpush"]["calls"] > 0
    assert "broker" not in service.json("status")["degraded"]


def test_a_server_with_another_authority_s_certificate_is_not_talked_to(service, stranger):
    url = service.environment["DATABASE_URL"]
    other = url.rpartition("sslrootcert=")[0] + f"sslrootcert={stranger.certificate}"
    done = service.run("status", DATABASE_URL=other)
    assert done.returncode != 0
    assert "certificate" in done.stderr and "Traceback" not in done.stderr
