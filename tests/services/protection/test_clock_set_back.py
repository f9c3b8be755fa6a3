"""A clock that is set back: the database's blocks nobody for as long, and those of processes decide nothing."""

import time
from datetime import UTC, datetime, timedelta

import pytest
from django.utils import timezone

from tests import clock
from tests.api.calls import WRONG
from tests.fakes.http_server import FakeHttpServer
from verification import sql
from verification.models import GuardBlock
from verification.services.notifications import alerts, events, schedule
from verification.services.projects.snapshot import load_project
from verification.services.protection.guard import guessing

pytestmark = pytest.mark.django_db

TO = "+4915112345678"


def set_back():
    """Let the database's clock jump an hour into the past: all that was written is then in its future."""
    clock.forward(-clock.HOUR)


def test_a_channel_is_not_blocked(api):
    api.create(TO)
    set_back()
    assert not any(channel["timeout"] for channel in api.create(TO, send=False).data["channels"])


def test_sends_of_the_hours_to_come_count_in_no_limit(api, project):
    project.set(sends_per_10_minutes=1)
    api.manual_send(TO)
    set_back()
    assert api.manual_send(TO).status_code == 200


def test_wrong_codes_of_the_hours_to_come_lock_nobody_out(api, project, outbox):
    project.set(wrong_codes_per_15_minutes=1)
    session_id = api.create(TO).data["session_id"]
    code = outbox.code
    api.check(session_id, WRONG)
    set_back()
    assert api.check(session_id, code).status_code == 200


def test_a_success_of_the_hours_to_come_takes_no_wrong_code_back(api, project, outbox):
    api.check(api.create(TO).data["session_id"], outbox.code)
    set_back()
    project.set(wrong_codes_per_15_minutes=1)
    session_id = api.create(TO).data["session_id"]
    api.check(session_id, WRONG)
    assert api.check(session_id, WRONG).status_code == 429


def test_a_block_of_the_traffic_guard_is_over(api, project):
    project.set(guard_prefix_numbers=1)
    answers = [api.create(f"+49151123456{n:02d}", type="sms").status_code for n in range(3)]
    set_back()
    assert [*answers, api.create("+4915112345699", type="sms").status_code] == [200, 403, 403, 200]


def test_an_alarm_is_over(project):
    now = sql.now()
    GuardBlock.objects.create(
        project=project.row, rule="network_refused", subject="81.2.69.9", level=1, figures={},
        since=now + timedelta(hours=1), until=now + timedelta(hours=2),
    )  # fmt: skip
    guessing.require_no_guesser(load_project(project.id), "81.2.69.9")


def test_a_key_is_kept_by_the_databases_clock(api, monkeypatch):
    headers = {"idempotency-key": "order-1"}
    first = api.manual_send(TO, headers=headers)
    real = timezone.now
    monkeypatch.setattr(timezone, "now", lambda: real() + timedelta(days=2))
    assert api.manual_send(TO, headers=headers).data == first.data


@pytest.fixture
def a_wrong_clock(monkeypatch):
    """This process is an hour behind the database."""
    behind = timedelta(hours=1)
    real = time.time
    monkeypatch.setattr(timezone, "now", lambda: datetime.now(UTC) - behind)
    monkeypatch.setattr(time, "time", lambda: real() - behind.total_seconds())


def test_an_alarm_ends_by_the_databases_clock(project, a_wrong_clock):
    now = sql.now()
    GuardBlock.objects.create(
        project=project.row, rule="network_refused", subject="81.2.69.9", level=1, figures={},
        since=now, until=now + timedelta(minutes=30),
    )  # fmt: skip
    with pytest.raises(Exception, match="Too many") as refused:
        guessing.require_no_guesser(load_project(project.id), "81.2.69.9")
    assert 29 * 60 < refused.value.retry_after <= 30 * 60


def test_the_next_call_is_due_by_the_databases_clock(a_wrong_clock):
    assert schedule.next_try(1) > sql.now()


def test_an_event_is_stamped_by_the_databases_clock(project, a_wrong_clock):
    with FakeHttpServer() as server:
        events.call(project=project.row, url=server.url, event_id="one", body={})
    (request,) = server.requests
    assert abs(int(request.headers["webhook-timestamp"]) - sql.now().timestamp()) < 5 * clock.MINUTE


def test_an_alert_is_due_by_the_databases_clock(project, a_wrong_clock):
    alerts.raise_alert(project_id=project.id, kind="guard", key="1", title="Look", detail="Here.")
    assert len(alerts.claim_due(limit=10)) == 1
    assert alerts.claim_due(limit=10) == []
