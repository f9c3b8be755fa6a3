"""/metrics: for the operator's token alone, and with no person in it."""

import re
from pathlib import Path

import pytest
from django.test import Client
from django.utils import timezone
from prometheus_client.parser import text_string_to_metric_families

from tests.commands.running import run
from tests.fakes.outage import database_away
from verification.core import caching, metrics
from verification.models import DeliveryAttempt, Provider
from verification.services.maintenance import exposition
from verification.services.protection import limits
from verification.services.protection.guard import findings

TOKEN = "a-token-of-the-tests-0123456789abcdef"
PAGE = Path(__file__).resolve().parents[2] / "docs" / "engineering" / "metrics.md"


@pytest.fixture
def counted(settings, tmp_path):
    """Count from here on, in a folder of the test's own."""
    settings.METRICS_TOKEN, settings.METRICS_DIR = TOKEN, tmp_path
    caching.clear_all()
    yield
    caching.clear_all()


def scrape(token=TOKEN):
    return Client(headers={"authorization": f"Bearer {token}", "host": "10.0.0.7:8000"}).get("/metrics")


def samples():
    response = scrape()
    assert response.status_code == 200, response.content
    families = text_string_to_metric_families(response.content.decode())
    return {
        (each.name, tuple(sorted(each.labels.items()))): each.value for family in families for each in family.samples
    }


def value(name, **labels):
    return samples().get((f"watchword_{name}", tuple(sorted(labels.items()))))


@pytest.mark.django_db
def test_without_a_token_in_the_settings_there_are_no_metrics():
    assert scrape().status_code == 404


@pytest.mark.requirement(112)
@pytest.mark.django_db
def test_what_is_used_of_a_limit_is_told(counted, api, project):
    project.channel("sms", daily_budget=4)
    api.manual_send()
    labels = (("channel", "sms"), ("limit", "daily_budget"), ("name", project.row.name), ("project", str(project.id)))
    assert samples()["watchword_limit_used_ratio", labels] == 0.25


@pytest.mark.django_db
@pytest.mark.parametrize("token", ["", "wrong", f"{TOKEN}x", "é"])
def test_another_token_reads_nothing(counted, token):
    response = scrape(token)
    assert (response.status_code, b"watchword_" in response.content) == (401, False)


@pytest.mark.django_db
def test_requests_are_counted_by_endpoint_and_status(counted, api):
    api.create("ann@example.com")
    Client().get("/session/settings")
    assert value("request_seconds_count", endpoint="session/create", status="200") == 1
    assert value("request_seconds_count", endpoint="session/settings", status="401") == 1
    assert value("refusals_total", code="missing_api_key") == 1


@pytest.mark.django_db
def test_keys_that_are_not_valid_are_counted_after_their_address_is_held_off_too(counted):
    for _ in range(limits.UNKNOWN_KEYS.window.amount + 5):
        Client(headers={"x-api-key": "ww_api_unknown"}).get("/session/settings")
    assert value("unknown_keys_total", answer="refused") == limits.UNKNOWN_KEYS.window.amount
    assert value("unknown_keys_total", answer="held_off") == 5


@pytest.mark.django_db
def test_a_provider_s_last_answers_are_counted_back_to_the_first_other_one(counted, project):
    provider = Provider.objects.get(channel="sms")

    def answer(*outcomes):
        for outcome in outcomes:
            DeliveryAttempt.objects.create(message_id=1, provider=provider, outcome=outcome, latency_ms=1)
        caching.clear_all()
        return {
            dict(labels)["outcome"]: number
            for (name, labels), number in samples().items()
            if name == "watchword_provider_answers_in_a_row"
        }

    assert answer() == {}
    assert answer("misconfigured", "accepted", "misconfigured", "misconfigured") == {"misconfigured": 2}
    assert answer(*["misconfigured"] * 6) == {"misconfigured": exposition.MAX_ANSWERS}
    assert answer("accepted") == {"accepted": 1}
    Provider.objects.update(checked_at=timezone.now())
    assert answer() == {}


@pytest.mark.requirement(112)
@pytest.mark.django_db
def test_no_part_of_a_path_becomes_a_label(counted):
    Client().post("/hooks/5f0f6b1c-9c1f-4e39-8f4a-6f5d1d0a1b11/a-secret-of-a-hook", b"", content_type="text/plain")
    Client().get("/session/of-a-caller's-choice")
    text = scrape().content.decode()
    assert "a-secret-of-a-hook" not in text and "choice" not in text
    assert value("request_seconds_count", endpoint="hooks", status="404") == 1
    assert value("request_seconds_count", endpoint="none", status="404") == 1


@pytest.mark.django_db
def test_a_message_is_counted_on_its_way_without_its_recipient_and_its_code(counted, api, outbox):
    api.create("ann.canary@example.com")
    run("sweep")
    found = samples()
    names = {name for (name, _), number in found.items() if number}
    assert {"watchword_claims_total", "watchword_outcomes_total", "watchword_create_to_provider_seconds_count"} <= names
    text = scrape().content.decode()
    assert "canary" not in text
    assert [message.code for message in outbox.messages if f'"{message.code}"' in text] == []


@pytest.mark.django_db
def test_what_waits_is_read_at_the_scrape(counted, api):
    findings.sweep()
    api.create("ann@example.com")
    caching.clear_all()
    assert value("queue_depth", queue="messages") == 1
    assert value("degraded", part="workers") == 1
    assert value("up", part="database") == 1
    assert value("last_run_timestamp_seconds", work="guard")


@pytest.mark.django_db
def test_work_that_never_ended_is_late_from_the_first_project_on(counted, project):
    assert value("last_run_timestamp_seconds", work="purge") == pytest.approx(project.row.created_at.timestamp())
    assert value("last_run_timestamp_seconds", work="guard") == pytest.approx(project.row.created_at.timestamp())


@pytest.mark.django_db
def test_where_there_is_no_project_no_work_is_late(counted):
    assert value("workers", version="none") == 0
    assert value("last_run_timestamp_seconds", work="purge") is None


@pytest.mark.django_db(transaction=True)
def test_while_the_database_is_away_the_counts_and_the_disk_are_there(counted, settings):
    Client().get("/session/settings")
    caching.clear_all()
    with database_away():
        assert value("up", part="database") == 0
        assert value("disk_bytes", folder="WATCHWORD_HOME", state="free") < value(
            "disk_bytes", folder="WATCHWORD_HOME", state="all"
        )  # a full one may be the reason
        assert value("build_info", version=settings.VERSION) == 1
        assert value("request_seconds_count", endpoint="session/settings", status="401") == 1


@pytest.mark.requirement(112)
def test_further_providers_and_countries_are_counted_together(counted, monkeypatch):
    families = metrics._families()
    families.providers, families.places = metrics.Bounded(2), metrics.Bounded(3)
    for number in range(5):
        for country in ("DE", "UZ"):
            metrics.count_call(provider=number, channel="sms", country=country, outcome="accepted", seconds=0.1)
    text = exposition.counted().decode()
    assert len(set(re.findall(r'outcomes_total\{[^}]*provider="(\w+)"', text))) == 3
    assert len(re.findall(r"^watchword_outcomes_total\{", text, re.MULTILINE)) == 5
    assert (
        f'watchword_outcomes_total{{country="{metrics.OTHERS}",outcome="accepted",provider="{metrics.OTHERS}"}} 6.0'
        in text
    )


def test_a_process_goes_on_with_the_counts_of_one_that_ended(counted):
    metrics.count_callback("delivered")
    first = metrics.Slot(metrics.folder())()
    caching.clear_all()  # as a process that starts
    metrics.count_callback("delivered")
    text = exposition.counted().decode()
    assert 'watchword_callback_tries_total{result="delivered"} 2.0' in text
    assert first != metrics.Slot(metrics.folder())()


@pytest.mark.django_db
def test_a_folder_that_cannot_be_written_fails_no_request(counted, settings, tmp_path, api):
    (tmp_path / "file").write_text("")
    settings.METRICS_DIR = tmp_path / "file"
    caching.clear_all()
    api.create("ann@example.com")
    assert scrape().status_code == 200


@pytest.mark.django_db
def test_a_disk_of_the_metrics_own_is_told(counted, settings):
    assert value("disk_bytes", folder="METRICS_DIR", state="free") is None  # the same disk as WATCHWORD_HOME's
    settings.METRICS_DIR = Path("/proc/metrics")  # another file system, in any machine
    assert value("disk_bytes", folder="METRICS_DIR", state="free") is not None


@pytest.mark.django_db
def test_the_page_of_metrics_lists_each_that_there_is_and_no_other(counted):
    families = (*metrics._families()._registry.collect(), *exposition._Gauges().collect())
    names = {f"{each.name}_total" if each.type == "counter" else each.name for each in families}
    assert set(re.findall(r"^\| `(watchword_\w+)`", PAGE.read_text(), re.MULTILINE)) == names
