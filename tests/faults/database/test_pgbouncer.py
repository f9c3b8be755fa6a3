"""The whole service behind a real PgBouncer in transaction mode: nothing is lost on the way, and every limit holds."""

from __future__ import annotations

import base64
import json
import secrets

import pytest

from tests.faults.shop import recipient, statuses
from tests.live import LiveService, at_once, wait_until
from tests.servers import pgbouncer
from tests.servers.pgbouncer import PgBouncer
from tests.servers.postgres import PostgresServer
from tests.snippets import block

pytestmark = [
    pytest.mark.live,
    pytest.mark.long,
    pytest.mark.xdist_group("pgbouncer"),
    pytest.mark.timeout(300),  # of the first test, which waits for all migrations
    pytest.mark.skipif(pgbouncer.PROGRAM is None, reason="Debian's package pgbouncer is not installed."),
]

SESSIONS = 4  # of the pooler: far fewer than there are threads, so that each request gets another one
AT_ONCE = 24
KNOWS_PREPARED = (1, 22)
ENCRYPTION_KEY = base64.b64encode(secrets.token_bytes(32)).decode()  # both services share a database
LIMITS = {"lock_timeout": "3s", "statement_timeout": "10s", "idle_in_transaction_session_timeout": "30s"}


@pytest.fixture(scope="module")
def server():
    """With the limits that docs/engineering/scale.md gives to the role."""
    with PostgresServer() as running:
        running.execute(*filter(None, block("docs/engineering/scale.md", "sql", "ALTER ROLE").split("\n")))
        yield running


@pytest.fixture(scope="module")
def pooler(server):
    with PgBouncer(server, pool_size=SESSIONS) as running:
        yield running


@pytest.fixture(scope="module", params=["", "?prepare_threshold=1"], ids=["plain", "kept"])
def service(request, tmp_path_factory, pooler):
    """Migrated by way of the pooler as well."""
    if request.param and pgbouncer.version() < KNOWS_PREPARED:
        pytest.skip("This version of PgBouncer knows no prepared statements.")
    live = LiveService(
        tmp_path_factory.mktemp("pooled"),
        is_embedded=False,
        DATABASE_URL=pooler.url + request.param,
        DATABASE_POOLER="transaction",
        ENCRYPTION_KEYS=ENCRYPTION_KEY,
    )
    try:
        live.servers.start()
        live.manage("migrate")
        yield live.start()
    finally:
        live.stop()


def verify_somebody(shop):
    to = recipient()
    return shop.verify(shop.token_for(to))


def test_verifications_at_once_share_a_few_sessions(shop, service, pooler):
    answers = at_once(AT_ONCE, lambda _: verify_somebody(shop))
    assert statuses(answers) == {200: AT_ONCE}
    answers = at_once(AT_ONCE, lambda _: shop.send(recipient()))
    assert statuses(answers) == {200: AT_ONCE}
    wait_until(lambda: unfinished(service) == 0, "every message is delivered")
    assert [row for row in service.query("SELECT lost_leases FROM verification_message") if row != (0,)] == []
    assert "ERROR" not in service.output("web") + service.output("worker0")
    sessions = service.query("SELECT count(*) FROM pg_stat_activity WHERE usename = current_user")
    assert sessions[0][0] <= SESSIONS


def unfinished(service):
    [(count,)] = service.query("SELECT count(*) FROM verification_message WHERE finished_at IS NULL")
    return count


def test_a_repeated_request_waits_for_the_first_ones_answer(shop):
    to = recipient()
    answers = at_once(8, lambda _: shop.send(to, headers={"idempotency-key": "once"}))
    assert statuses(answers) == {200: 8}
    assert len({body["message_id"] for _, body, _ in answers}) == 1


@pytest.mark.parametrize(("name", "value"), LIMITS.items())
def test_every_session_of_the_pooler_has_its_limits(service, name, value):
    seen = at_once(SESSIONS * 2, lambda _: service.query(f"SHOW {name}"))
    assert seen == [[(value,)]] * SESSIONS * 2


def test_the_check_and_the_doctor_find_nothing_wrong_with_such_a_pooler(service):
    assert "watchword.W010" not in service.run("check", "--database", "default").stderr
    assert pooler_findings(service) == {}


def test_the_check_tells_what_to_run_where_the_role_lacks_a_limit(service):
    done = service.run("check", "--database", "default", DATABASE_STATEMENT_TIMEOUT="20000")
    assert "ALTER ROLE CURRENT_USER SET statement_timeout = 20000;" in done.stderr


@pytest.mark.parametrize("command", [("sweep",), ("purge",), ("stats",), ("health",), ("reencrypt",), ("migrate",)])
def test_a_command_runs_behind_the_pooler(service, command):
    done = service.run(*command)
    assert (done.returncode, done.stderr) == (0, "")


def test_the_panels_pages_are_served_behind_the_pooler(service):
    assert service.call("GET", "/readyz")[0] == 200


def test_a_pooler_that_is_not_announced_and_refuses_the_limits_is_told_in_one_line(service, server):
    with PgBouncer(server) as unknown:
        done = service.run("stats", DATABASE_URL=unknown.url, DATABASE_POOLER="none")
    assert done.returncode == 1
    assert "DATABASE_POOLER=transaction" in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_pooler_that_is_not_announced_and_drops_the_limits_stops_migrate(service, server):
    with PgBouncer(server, more="ignore_startup_parameters = options") as unknown:
        done = service.run("migrate", DATABASE_URL=unknown.url, DATABASE_POOLER="none")
    assert done.returncode == 1
    assert "watchword.E005" in done.stderr


def pooler_findings(service, **environment):
    done = service.run("doctor", "--only", "database", "--only", "pooler", "--json", **environment)
    return {each["name"]: each["what"] for each in json.loads(done.stdout)["findings"] if each["subject"] == "pooler"}


@pytest.mark.parametrize(("mode", "finding"), [("session", "pooler-by-session"), ("statement", "pooler-by-statement")])
def test_the_doctor_finds_a_pooler_in_another_mode(service, server, mode, finding):
    with PgBouncer(server, more=f"pool_mode = {mode}") as other:
        assert finding in pooler_findings(service, DATABASE_URL=other.url)


def test_the_doctor_repeats_what_an_unknown_pooler_needs(service, server):
    with PgBouncer(server) as unknown:
        done = service.run("doctor", "--only", "database", DATABASE_URL=unknown.url, DATABASE_POOLER="none")
    assert (done.returncode, "DATABASE_POOLER=transaction" in done.stdout) == (2, True)
