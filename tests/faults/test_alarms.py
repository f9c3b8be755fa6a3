"""A Prometheus scrapes a live service under load: no alarm fires while it is sound, those of its faults do, and every
dashboard shows something. That each alarm fires on its series is for promtool (deploy/prometheus/rules.test.yml).

The expressions are those of deploy/prometheus, over windows that are cut short (tests/servers/prometheus.py). All tests
share one service, and each leaves it sound.
"""

from __future__ import annotations

import contextlib
import copy
import json
import signal
import time
import urllib.parse

import pytest

from tests.fakes.http_server import FakeHttpServer, answer
from tests.faults.conftest import METRICS_TOKEN
from tests.faults.shop import Shop, open_shop, recipient
from tests.live import at_once, wait_until
from tests.servers.prometheus import DASHBOARDS, PROGRAM, SCRAPE_SECONDS, Prometheus, faster, queries

pytestmark = [
    pytest.mark.long,
    pytest.mark.live,
    pytest.mark.xdist_group("alarms"),
    pytest.mark.timeout(300),  # seconds: each waits for scrapes, and the first one for all that starts
    pytest.mark.skipif(not PROGRAM, reason="Prometheus is not installed"),
]

FIRES_SECONDS = 90  # for a machine that is busy with other tests
RECEIPT_SECRET = "a-receipt-secret"
OPEN_REPORTING_SHOP = """
import json, sys
from verification.services.providers import accounts as providers
from verification.services.projects import projects
new = projects.create_project(name="Reporting shop")
values = {"url": sys.argv[1] + "/sms", "has_receipts": True, "receipt_id_field": "id", "receipt_status_field": "status",
          "receipt_success": "delivered", "receipt_secret": sys.argv[2],
          "body": '{"to":"{to}","code":"{code}","id":"{message_id}","hook":"{hook_url}"}'}
made = providers.add_provider(
    project=new.project, channel="sms", provider_type="http", name="Reports", values=values, priority=1
)
print(json.dumps({"id": new.project.pk, "api_key": new.api_key, "secret_key": new.secret_key}))
print(made.pk)
"""
# What an exporter outside tells: the proxy answers, and its certificate ends in the year 2096.
SOUND = answer(
    200, b"probe_ssl_earliest_cert_expiry 4e9\nprobe_success 1\n", {"Content-Type": "text/plain; version=0.0.4"}
)


@pytest.fixture(scope="module")
def service(own_service):
    return own_service


@pytest.fixture(scope="module")
def shop(service, gateway):
    opened = open_shop(service, gateway)
    opened.set(traffic_guard="off")  # many of its sessions are verified by nobody, as if somebody pumped
    unlimited = "UPDATE verification_channel SET daily_budget = 0 WHERE project_id = %s RETURNING 1"
    assert service.query(unlimited, opened.id)
    return opened


@pytest.fixture(scope="module")
def reporting(service, gateway):
    """A shop whose gateway reports what became of a message, and its provider."""
    made, provider = service.python(OPEN_REPORTING_SHOP, gateway.url, RECEIPT_SECRET).splitlines()
    return Shop(service, gateway, **json.loads(made)), int(provider)


@pytest.fixture(scope="module")
def customer():
    """A customer's server, for callbacks."""
    with FakeHttpServer() as server:
        yield server


@pytest.fixture(scope="module")
def other_exporters():
    with FakeHttpServer(default=SOUND) as server:
        yield server


@pytest.fixture(autouse=True)
def everything_is_back_afterwards(service, customer):
    yield
    service.servers.start()
    if "web" not in service.processes:
        service.start_web()
    if "worker0" not in service.processes:
        service.start_worker()
    customer.default = answer()


@pytest.fixture(scope="module")
def prometheus(service, other_exporters, tmp_path_factory):
    jobs = {"watchword": service.port, "watchword_outside": other_exporters.port}
    with Prometheus(tmp_path_factory.mktemp("prometheus"), METRICS_TOKEN, **jobs) as started:
        yield started


@pytest.fixture
def provoke(prometheus):
    """Do something, once or again and again, until these alarms fire, which they must not have done before."""

    def until_they_fire(*alarms, once=lambda: None, by=lambda: None):
        wait_until(lambda: not prometheus.firing() & set(alarms), f"{alarms} are silent", FIRES_SECONDS)
        once()

        def fire():
            by()
            prometheus.wait_for_judgement()
            return set(alarms) <= prometheus.firing()

        wait_until(fire, f"{alarms} fire", FIRES_SECONDS)

    return until_they_fire


@contextlib.contextmanager
def shop_whose_gateway(service, behaviour):
    """A shop and its gateway, which no message goes to any more in the end."""
    with FakeHttpServer(default=behaviour) as gateway:
        shop = open_shop(service, gateway)
        yield shop, gateway
        service.query(
            "UPDATE verification_provider SET is_enabled = false WHERE project_id = %s RETURNING 1",
            shop.id,
        )
        service.query("DELETE FROM verification_circuitbreaker WHERE true RETURNING 1")


def several(act, count=10):
    """Return an action that runs many at once, and returns what each of them did."""

    def run():
        results = at_once(count, lambda _: act())
        for result in results:
            if isinstance(result, Exception):
                raise result
        return results

    return run


def verified(shop):
    to = recipient()
    status, body, _ = shop.verify(shop.token_for(to))
    assert status == 200, body


def taken(shop):
    """A message that the gateway took a minute ago, as the gateway was given it."""
    to = recipient()
    assert shop.send(to)[0] == 200
    sent = wait_until(lambda: shop.sent_to(to), "the gateway is asked")[-1]
    wait_until(lambda: shop.messages_to(to) == ["sent"], "the answer is recorded")
    shop.service.query(
        "UPDATE verification_message SET sent_at = sent_at - interval '1 minute' WHERE id = %s RETURNING 1", sent["id"]
    )
    return sent


def report(shop, sent):
    path, body = urllib.parse.urlsplit(sent["hook"]).path, {"id": sent["id"], "status": "delivered"}
    assert shop.service.call("POST", path, body, headers={"x-receipt-secret": RECEIPT_SECRET})[0] == 200


# --- all is well, and then providers, customers and callers --------------------------------------------------------


class Watched:
    """A shop whose callers note how long they waited, by their own clock: for an answer, and for a code."""

    def __init__(self, shop):
        self.answer_seconds, self.code_seconds = [0.0], [0.0]
        self.service = copy.copy(shop.service)
        self.service.call = self._timed(shop.service.call, self.answer_seconds)
        self.shop = copy.copy(shop)
        self.shop.service = self.service
        self.shop.code_for = self._timed(shop.code_for, self.code_seconds)

    def _timed(self, ask, seconds):
        def call(*arguments, **options):
            began = time.monotonic()
            try:
                return ask(*arguments, **options)
            finally:
                seconds.append(time.monotonic() - began)

        return call


def what_is_so(watched, prometheus):
    """Return the alarms whose words are true all the same: of a machine that is busy with other work.

    A code is waited for from the answer on, and the answer may have taken its time.
    """
    answer, code = max(watched.answer_seconds), max(watched.code_seconds) + max(watched.answer_seconds)
    scrape = prometheus.value('max(max_over_time(scrape_duration_seconds{job="watchword"}[2m]))') or 0.0
    found = {
        "WatchwordSlow": answer > 1,
        "WatchwordCodesLate": code > 10,
        "WatchwordSendBudgetBurns": code > 10,
        "WatchwordQueueGrows": code > 30,
        "WatchwordDown": scrape > 0.9 * SCRAPE_SECONDS,  # it was given up: an answer in time takes less
    }
    return {name for name, is_so in found.items() if is_so}


def verify_sixty(shop, prometheus):
    """Verify sixty users, and wait until Prometheus has what all processes counted."""
    seen = 'sum(watchword_request_seconds_count{endpoint="session/verify",status="200"})'
    before = prometheus.value(seen) or 0
    for _ in range(6):
        several(lambda: verified(shop))()
    wait_until(lambda: (prometheus.value(seen) or 0) >= before + 60, "Prometheus has what all processes counted")


def test_no_alarm_fires_on_a_sound_service_under_load(prometheus, shop):
    """On a quiet machine none does at all. On a busy one an alarm on slowness may, if callers saw the same."""
    wait_until(lambda: prometheus.firing() == set(), "what other tests did is over", FIRES_SECONDS)
    watched = Watched(shop)
    verify_sixty(watched.shop, prometheus)
    rules = prometheus.wait_for_judgement()
    assert [rule for rule in rules if rule["health"] != "ok"] == []
    assert prometheus.firing() - what_is_so(watched, prometheus) == set()


def test_a_provider_that_fails_and_then_refuses_our_credentials(service, provoke, prometheus):
    with shop_whose_gateway(service, answer(500)) as (failing, gateway):
        provoke("WatchwordProviderDown", "WatchwordChannelDown", by=lambda: failing.send(recipient()))
        gateway.default = answer(401)  # while it is set aside, and asked by single probes alone

        def probe():
            service.query(
                "UPDATE verification_circuitbreaker SET open_until = now() WHERE open_until > now() RETURNING 1"
            )
            failing.send(recipient())

        misconfigured = "WatchwordProviderMisconfigured"
        provoke(misconfigured, by=probe)
        gateway.default = answer()
        wait_until(lambda: probe() or misconfigured not in prometheus.firing(), "it is over", FIRES_SECONDS)


def of_one_prefix():
    return f"+7999123{recipient()[-4:]}"


# --- every dashboard, where all that it shows has happened ------------------------------------------------------------


@pytest.fixture(scope="module")
def traffic(service, shop, reporting, customer, gateway):
    """Some of everything that is counted."""
    verified(shop)
    report(reporting[0], taken(reporting[0]))
    shop.send(recipient(), callback_url=f"{customer.url}/done")
    service.call("GET", "/session/settings", key="revoked", headers={"x-request-start": f"t={time.time():.3f}"})
    pumped = open_shop(service, gateway)
    for _ in range(3):  # of those at once none may have seen the others
        several(lambda: pumped.create(of_one_prefix()), 15)()


@pytest.mark.parametrize("path", DASHBOARDS, ids=lambda path: path.stem)
def test_every_query_of_a_dashboard_finds_a_series(path, prometheus, reporting, traffic):
    asked = [faster(query) for query in queries(path, provider=reporting[1])]
    empty = lambda: [query for query in asked if not prometheus.series(query)]  # noqa: E731
    with contextlib.suppress(AssertionError):  # those that are left tell more than that they are
        wait_until(lambda: not empty(), "every query finds one", FIRES_SECONDS)
    assert empty() == []


# --- workers, the broker, the database, the service ----------------------------------------------------------------


LATER = (  # what time alone would bring about while no worker runs
    "UPDATE verification_message SET due_at = now() - interval '1 minute' WHERE status = 'queued' RETURNING 1",
    "UPDATE verification_webhookevent SET due_at = now() - interval '10 minutes', delivered_at = NULL"
    " WHERE id = (SELECT max(id) FROM verification_webhookevent) RETURNING 1",
    "UPDATE verification_upkeep SET finished_at = now() - interval '13 hours'"
    " WHERE name IN ('purge', 'guard') RETURNING 1",
)


def test_without_a_worker_everything_waits(service, shop, customer, provoke):
    told = len(customer.requests)
    shop.send(recipient(), callback_url=f"{customer.url}/done")
    wait_until(lambda: len(customer.requests) > told, "there is an event")

    def stop_and_wait():
        service.kill("worker0", signal.SIGTERM)
        several(shop.open_session)()
        assert all(service.query(statement) for statement in LATER)

    late = ("WatchwordQueueGrows", "WatchwordCallbacksLate", "WatchwordPurgeLate", "WatchwordGuardLate")
    provoke("WatchwordNoWorkers", *late, once=stop_and_wait)
    service.query("UPDATE verification_upkeep SET finished_at = now() RETURNING 1")


def test_a_database_that_is_away(service, shop, provoke):
    away = ("WatchwordDatabaseAway", "WatchwordErrors", "WatchwordErrorBudgetBurns")
    provoke(*away, once=lambda: service.stop_server("postgres"), by=several(shop.create))


def test_a_service_that_does_not_answer(service, provoke):
    provoke("WatchwordDown", once=lambda: service.kill("web"))
