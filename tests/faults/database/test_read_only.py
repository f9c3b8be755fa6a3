"""The database takes no writes, as a standby does, or a managed one that is full: it counts as away, and is told so."""

from __future__ import annotations

import json
import urllib.request

import psycopg
import pytest

from tests.faults.conftest import METRICS_TOKEN
from tests.live import at_once, wait_until

pytestmark = [pytest.mark.live, pytest.mark.long, pytest.mark.xdist_group("read_only")]


@pytest.fixture(scope="module")
def service(own_service):
    return own_service


def set_read_only(service, value):
    """Set it for every session that begins from now on; those that there are keep what they have."""
    with psycopg.connect(service.servers.database_url, autocommit=True) as connection:
        connection.execute("SET default_transaction_read_only = off")  # or this one could not write either
        setting = psycopg.sql.SQL("ALTER DATABASE {} SET default_transaction_read_only = {}")
        connection.execute(setting.format(psycopg.sql.Identifier(connection.info.dbname), value))


@pytest.fixture
def only_reads(service, shop):
    set_read_only(service, "on")
    service.query("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()")
    yield
    set_read_only(service, "off")
    wait_until(lambda: serves(shop), "codes are created again")


def serves(shop):
    """Return whether every process does: so many calls, each on a connection of its own, reach them all."""
    return {status for status, *_ in at_once(12, lambda _: shop.create())} == {200}


def metric(service, name):
    request = urllib.request.Request(
        f"http://127.0.0.1:{service.port}/metrics", headers={"Authorization": f"Bearer {METRICS_TOKEN}"}
    )
    with urllib.request.urlopen(request) as response:
        lines = response.read().decode().splitlines()
    return float(next(line.rpartition(" ")[2] for line in lines if line.startswith(name)))


def test_it_is_away_for_callers_and_told_to_operators(service, shop, only_reads):
    # PostgreSQL ends the sessions after it was asked to, and until then they write.
    status, problem, headers = wait_until(lambda: (got := shop.create())[0] == 503 and got, "it is away")
    assert (status, problem["code"], headers["Retry-After"]) == (503, "service_unavailable", "1")
    status, problem, _ = wait_until(
        lambda: (got := service.call("GET", "/readyz"))[0] == 503 and got, "it is not ready"
    )
    assert "is read-only" in problem["detail"]
    assert service.call("GET", "/livez")[0] == 200
    wait_until(lambda: metric(service, 'watchword_up{part="database"}') == 0, "the metrics tell it")
    for command in (["status"], ["health"]):
        done = service.run(*command)
        assert (done.returncode, "only reads" in done.stderr) == (1, True), done
    doctor = service.run("doctor", "--json", "--only", "database", "--only", "providers")
    found = json.loads(doctor.stdout)["findings"]
    assert [each["name"] for each in found if each["severity"] == "critical"] == ["database-read-only"]
    assert doctor.returncode == 2


def test_processes_leave_a_server_that_only_reads_and_serve_by_the_next_connection(service, shop, only_reads):
    """Their sessions there would stay read-only for good: nobody ends them here."""
    wait_until(lambda: shop.create()[0] == 503, "it only reads")
    wait_until(lambda: "the server only reads" in service.output("worker0"), "the worker notices")
    set_read_only(service, "off")
    wait_until(lambda: serves(shop), "codes are created again")
    to = "+4915112345678"
    shop.open_session(to)
    wait_until(lambda: shop.messages_to(to) == ["success"], "the worker delivers again")
    assert service.call("GET", "/readyz")[0] == 200
