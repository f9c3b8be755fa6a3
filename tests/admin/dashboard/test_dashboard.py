"""The overview: its state line, and figures that lead to the very rows they count."""

from datetime import timedelta

import pytest
from django.urls import reverse
from django.utils import timezone

from tests.factories import a_message, a_session
from verification.admin.dashboard.day import RefusedByRule
from verification.core import client_address
from verification.management.commands.stats import collect
from verification.models import HourlyFigures, HourlyRefusals, KeyKind, Message
from verification.services.analytics import ranges, rollups
from verification.services.maintenance import demo
from verification.services.records import workers

pytestmark = pytest.mark.django_db

LIST = reverse("admin:verification_message_changelist")


@pytest.fixture(autouse=True)
def worker(panel):
    row = workers.introduce(threads=1, holds_connections=False)
    workers.beat(row)
    return row


def overview(panel, who="owner"):
    rollups.count_due()
    return panel.as_(who).get(reverse("admin:index"))


def recipient_of(panel):
    return panel.rows[Message].recipient


def sent(panel, number=1, *, ago=timedelta(0), **fields):
    at = timezone.now() - ago
    for _ in range(number):
        message = a_message(
            recipient_of(panel),
            **{"status": "success", "error": None, "sent_at": at, "finished_at": at, "created_at": at, **fields},
        )
    return message


def lost(panel, number=1, **fields):
    for _ in range(number):
        a_message(recipient_of(panel), **fields)


def test_failed_and_expired_messages_are_those_behind_the_link(panel):
    a_message(recipient_of(panel), status="expired", error="It could not be sent in time.")
    sent(panel)
    response = overview(panel)
    tiles = {tile.title: tile.value for tile in response.context["figures"].tiles}
    assert tiles["Failed or expired messages"] == "2"
    address = f"{LIST}?since=day&status=lost"
    assert address.replace("&", "&amp;") in response.content.decode()
    found = panel.as_("owner").get(address).context["cl"].queryset
    assert {message.status for message in found} == {"failed", "expired"}
    assert found.count() == 2


def test_the_latest_failures_hold_the_expired_and_group_what_is_alike(panel):
    for _ in range(3):
        a_message(recipient_of(panel), status="expired", error="It could not be sent in time.")
    failures = overview(panel).context["figures"].failures
    assert [(each.message.status, each.number) for each in failures] == [("expired", 3), ("failed", 1)]


def test_test_logins_count_neither_on_the_overview_nor_in_stats(panel):
    sent(panel, session=a_session(recipient_of(panel), is_open=False, is_test=True), is_test=True)
    shown = overview(panel).context["figures"]
    sessions, (channel,) = sum(hour["counts"][0] for hour in shown.table), shown.rows
    (told,) = (row for row in collect(ranges.last_hours(timezone.now(), 24)) if row["project"] == panel.project.pk)
    assert (sessions, channel.total) == (told["sessions"], told["messages"]["all"]) == (1, 1)


def test_the_state_is_green_while_codes_are_accepted(panel):
    sent(panel, 19)
    lost(panel)
    assert overview(panel).context["state"].level == "good"
    assert "95\u00a0% of 20\u00a0messages accepted" in overview(panel).content.decode()


def test_the_state_is_red_where_nothing_gets_out(panel):
    lost(panel)
    state = overview(panel).context["state"]
    assert (state.level, state.lines[0].text) == (
        "bad",
        "SMS: the only message of the last 15 minutes was not accepted.",
    )
    lost(panel)
    assert overview(panel).context["state"].lines[0].text.startswith("SMS: none of 2 messages were accepted")


def test_the_state_stays_red_without_a_worker(panel):
    sent(panel, 50)
    hours_ago = timezone.now() - timedelta(hours=2)
    sent(
        panel, 40, status="queued", sent_at=None, finished_at=None, created_at=hours_ago,
        expires_at=hours_ago + timedelta(minutes=3),
    )  # fmt: skip
    state = overview(panel).context["state"]
    assert (state.level, state.lines[0].detail) == ("bad", "No worker has picked them up. Is a worker running?")
    assert panel.as_("owner").get(state.lines[0].link).context["cl"].result_count == 40


def test_the_state_is_red_once_no_worker_runs(panel, worker):
    sent(panel)
    workers.leave(worker)
    state = overview(panel).context["state"]
    assert (state.level, state.lines[0].text) == ("bad", "No worker is running.")


@pytest.mark.requirement(105)
def test_the_operator_is_told_of_a_proxy_that_is_not_trusted(panel, rf, settings):
    client_address.client_address(rf.get("/", headers={"x-forwarded-for": "81.2.69.9"}, REMOTE_ADDR="172.18.0.1"))
    state = overview(panel, "root").context["state"]
    assert (state.level, "Requests from 172.18.0.1 have X-Forwarded-For" in state.lines[0].text) == ("fair", True)
    assert "X-Forwarded-For" not in overview(panel, "owner").content.decode()
    settings.TRUSTED_PROXIES = 1
    assert "X-Forwarded-For" not in overview(panel, "root").content.decode()


def test_the_state_is_amber_where_a_part_is_lost_or_nobody_asks(panel):
    sent(panel, 3)
    lost(panel)
    assert overview(panel).context["state"].level == "fair"
    Message.objects.all().delete()
    sent(panel, ago=timedelta(hours=23))
    state = overview(panel).context["state"]
    assert (state.level, state.lines[0].text) == ("fair", "No codes requested in the last 15 minutes.")


def test_a_project_without_a_session_has_no_state_yet(panel):
    assert overview(panel, "stranger").context["state"] is None


def test_the_demo_of_the_first_start_does_none_of_the_steps(panel, settings, monkeypatch):
    steps = overview(panel, "stranger").context["steps"]
    assert [step.title for step in steps if step.is_done]
    settings.IS_EMBEDDED = True
    made = demo.Demo(panel.other.pk, "", "", "", "", "")
    monkeypatch.setattr("verification.admin.dashboard.page.read_demo", lambda path: made)
    steps = overview(panel, "stranger").context["steps"]
    assert not [step.title for step in steps if step.is_done]


def has_issued_a_key(panel):
    steps = overview(panel, "stranger").context["steps"]
    return next(step for step in steps if step.title == "Create an API key").is_done


@pytest.mark.parametrize(
    "fields",
    [{"kind": KeyKind.SECRET}, {"revoked_at": timezone.now()}, {"expires_at": timezone.now()}],
)
def test_the_step_of_the_api_key_is_done_by_one_that_opens_something(panel, fields):
    assert has_issued_a_key(panel)
    panel.other.keys.filter(kind=KeyKind.API).update(created_at=timezone.now() - timedelta(days=1), **fields)
    assert not has_issued_a_key(panel)


def test_the_overviews_tables_are_of_the_same_figures_and_large_numbers_read_well(panel):
    hour = timezone.now().replace(minute=0, second=0, microsecond=0) - timedelta(hours=2)
    key = {"project": panel.project, "hour": hour, "country": "DE"}
    HourlyFigures.objects.create(
        **key, channel="voice", language="en", provider_id=0, is_manual=True, messages=12_345,
        messages_delivered=11_000, messages_failed=1_000, sessions=4_321,
    )  # fmt: skip
    HourlyRefusals.objects.create(**key, rule="daily_budget", refused=6_789)
    response = panel.as_("owner").get(reverse("admin:index"))
    figures = response.context["figures"]
    assert [(row.label, row.total, row.under_way) for row in figures.rows] == [("Voice call", 12_345, 345)]
    assert figures.refusals == [RefusedByRule("daily_budget", "Channel limit", 6_789)]
    text = response.content.decode()
    assert all(f"<td>{number}</td>" in text for number in ("12,345", "6,789", "4,321"))
    assert "<summary>Show as a table</summary>" in text
