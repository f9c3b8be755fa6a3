"""Alerts in chats: Telegram, Slack and others by Apprise, all by our door; and quiet hours."""

import json
import logging
import re
from datetime import UTC, datetime, timedelta

import pytest
from django.core import mail
from django.utils import timezone

from tests.admin.rows import an_alert_service
from tests.fakes.http_server import FakeHttpServer, answer
from verification.core.errors import UserError
from verification.models import Alert
from verification.services.notifications import alert_services, alerts
from verification.services.notifications.alerts import raise_alert
from verification.services.notifications.schedule import quiet_until
from verification.services.projects.settings import set_settings

pytestmark = pytest.mark.django_db
TOKEN = "123456789:AAF-hush-hush-hush-hush"


@pytest.fixture
def receiver():
    with FakeHttpServer() as server:
        yield server


def raised(project, kind="daily_budget", key="day"):
    raise_alert(project_id=project.id, kind=kind, key=key, title="SMS: half of the budget", detail="500 of 1,000.")


def run():
    for row in alerts.claim_due(limit=10):
        alerts.deliver(row)


def test_slack_is_written_to_once(project, receiver):
    an_alert_service(project.row, secret=f"{receiver.url}/services/T/B/x")
    raised(project)
    run()
    run()
    (request,) = receiver.requests
    assert request.target == "/services/T/B/x"
    text = json.loads(request.body)["text"]
    assert text.startswith(f"[{project.row.name}] SMS: half of the budget") and "/admin/verification/alert/" in text


def test_telegram_is_written_to_by_its_bot(project, receiver, monkeypatch):
    monkeypatch.setattr(alert_services, "TELEGRAM", receiver.url)
    an_alert_service(project.row, kind="telegram", secret=TOKEN, chat="-100123")
    raised(project)
    run()
    (request,) = receiver.requests
    assert request.target == f"/bot{TOKEN}/sendMessage"
    assert json.loads(request.body)["chat_id"] == "-100123"


def test_a_group_that_became_a_supergroup_keeps_its_alerts(project, receiver, monkeypatch):
    monkeypatch.setattr(alert_services, "TELEGRAM", receiver.url)
    service = an_alert_service(project.row, kind="telegram", secret=TOKEN, chat="-4123")
    moved = {"ok": False, "error_code": 400, "description": "…", "parameters": {"migrate_to_chat_id": -1001234567890}}
    receiver.script(answer(400, json.dumps(moved).encode()))
    for _ in range(2):
        assert alert_services.send(service, title="Test", text="Test") == ""
        service.refresh_from_db()
    chats = [json.loads(request.body)["chat_id"] for request in receiver.requests]
    assert chats == ["-4123", "-1001234567890", "-1001234567890"] and service.chat == "-1001234567890"


@pytest.mark.parametrize(
    "answered", [b'{"parameters": {"migrate_to_chat_id": "x"}}', b'{"parameters": []}', b'{"parameters": null}', b"[]"]
)
def test_an_odd_refusal_of_telegrams_moves_no_chat(project, receiver, monkeypatch, answered):
    monkeypatch.setattr(alert_services, "TELEGRAM", receiver.url)
    service = an_alert_service(project.row, kind="telegram", secret=TOKEN, chat="-4123")
    receiver.script(answer(400, answered))
    assert alert_services.send(service, title="Test", text="Test")
    service.refresh_from_db()
    assert (service.chat, len(receiver.requests)) == ("-4123", 1)


NAMES = "<!channel> <@U1> @everyone (@here) *@channel* <https://evil.example|Shop> R&D ops@example.com"


def test_names_call_nobody_and_hide_no_link_in_slack(project, receiver):
    service = an_alert_service(project.row, secret=f"{receiver.url}/services/T/B/x")
    assert alert_services.send(service, title=NAMES, text="Text") == ""
    text = json.loads(receiver.requests[0].body)["text"]
    assert text.startswith("&lt;!channel&gt; ") and "&lt;https://evil.example|Shop&gt; R&amp;D ops@example.com" in text
    assert not {"@everyone", "@here", "@channel", "<"} & set(re.findall(r"@\w+|<", text))


@pytest.mark.parametrize("end", ["", "/slack"])
def test_names_call_nobody_in_discord_and_a_long_text_is_cut(project, receiver, end):
    service = an_alert_service(project.row, secret=f"{receiver.url}/api/webhooks/1234/a_b-c{end}")
    assert alert_services.send(service, title=NAMES, text="😀" * 3_000) == ""
    (request,) = receiver.requests
    body = json.loads(request.body)
    assert request.target == "/api/webhooks/1234/a_b-c" and body["allowed_mentions"] == {"parse": []}
    assert "@everyone" not in body["content"] and len(body["content"].encode("utf-16-le")) <= 2 * 2_000


@pytest.mark.parametrize("kind", ["telegram", "apprise"])
def test_names_call_nobody_elsewhere(project, receiver, monkeypatch, kind):
    monkeypatch.setattr(alert_services, "TELEGRAM", receiver.url)
    secret = TOKEN if kind == "telegram" else f"json://127.0.0.1:{receiver.port}/ops"
    service = an_alert_service(project.row, kind=kind, secret=secret, chat="-100123")
    assert alert_services.send(service, title=NAMES, text=NAMES + "😀" * 4_000) == ""
    (request,) = receiver.requests
    said = "".join(value for value in json.loads(request.body).values() if isinstance(value, str))
    assert "@everyone" not in said and "<!channel>" not in said and "ops@example.com" in said
    assert len(said.encode("utf-16-le")) < 2 * 4_096


def test_a_text_is_cut_to_what_the_service_behind_apprise_takes(project, receiver):
    service = an_alert_service(project.row, kind="apprise", secret=f"rocket://a/b@127.0.0.1:{receiver.port}/%23ops")
    receiver.default = answer(200, b'{"success": true}')
    assert alert_services.send(service, title="Test", text="x" * 3_000) == ""
    (request,) = receiver.requests
    assert len(json.loads(request.body)["text"]) <= 1_000


def test_another_service_is_written_to_by_apprise_through_the_door(project, receiver):
    an_alert_service(project.row, kind="apprise", secret=f"json://127.0.0.1:{receiver.port}/ops")
    raised(project)
    run()
    (request,) = receiver.requests
    assert json.loads(request.body)["title"].endswith("SMS: half of the budget")


def test_only_the_service_that_failed_is_tried_again(project, receiver):
    an_alert_service(project.row, secret=f"{receiver.url}/first")
    second = an_alert_service(project.row, secret=f"{receiver.url}/second")
    receiver.script(answer(200, b"ok"), answer(500, b""))
    raised(project)
    run()
    second.refresh_from_db()
    assert second.error and second.told_at is None and "Ops chat: " in Alert.objects.get().error
    Alert.objects.update(due_at=timezone.now() - timedelta(seconds=1))
    run()
    second.refresh_from_db()
    assert [request.target for request in receiver.requests] == ["/first", "/second", "/second"]
    assert second.error == "" and second.told_at and Alert.objects.get().due_at is None


def test_an_address_of_ours_is_not_called(project, settings):
    settings.OUTBOUND_ALLOWED_NETWORKS = []
    for kind, secret in (("slack", "https://10.0.0.1/hook"), ("apprise", "json://10.0.0.1/ops")):
        service = an_alert_service(project.row, kind=kind, secret=secret)
        assert alert_services.send(service, title="Test", text="Test") != ""


def test_no_error_and_no_log_line_holds_the_secret(project, receiver, monkeypatch, caplog):
    caplog.set_level(logging.DEBUG)
    monkeypatch.setattr(alert_services, "TELEGRAM", receiver.url)
    receiver.default = answer(401, b'{"ok": false}')
    service = an_alert_service(project.row, kind="telegram", secret=TOKEN, chat="1")
    error = alert_services.send(service, title="Test", text="Test")
    assert error and TOKEN not in error and TOKEN not in caplog.text


@pytest.mark.parametrize(
    ("kind", "secret", "chat", "field"),
    [
        ("telegram", "no token", "1", "secret"),
        ("telegram", TOKEN, "my chat", "chat"),
        ("slack", "http://hooks.slack.example/x", "", "secret"),
        ("slack", "https://10.0.0.1/x", "", "secret"),
        ("apprise", "pigeon://example.com", "", "secret"),
        ("apprise", "tgram://token/chat", "", "secret"),  # its plugin reads files of this machine
        ("apprise", "json://example.com/{to}", "", "secret"),
    ],
)
def test_values_that_cannot_work_are_refused(settings, kind, secret, chat, field):
    settings.OUTBOUND_ALLOWED_NETWORKS = []
    assert list(alert_services.check_service(kind, secret, chat)) == [field]


def test_right_values_are_taken():
    assert alert_services.check_service("telegram", TOKEN, "-100123") == {}
    assert alert_services.check_service("slack", "https://hooks.slack.com/services/T/B/x", "") == {}
    assert alert_services.check_service("apprise", "gotify://push.example.com/AbCdEf", "") == {}


@pytest.mark.parametrize(
    ("hours", "zone", "now", "until"),
    [
        ("22:00-07:00", "UTC", "2030-01-01T23:00", "2030-01-02T07:00"),
        ("22:00-07:00", "UTC", "2030-01-01T06:59", "2030-01-01T07:00"),
        ("22:00-07:00", "UTC", "2030-01-01T07:00", None),
        ("12:00-13:00", "UTC", "2030-01-01T12:30", "2030-01-01T13:00"),
        ("22:00-07:00", "Asia/Tashkent", "2030-01-01T18:00", "2030-01-02T02:00"),  # 23:00 there
        ("22:00-07:00", "Europe/Berlin", "2030-03-30T22:00", "2030-03-31T05:00"),  # the clock moves in that night
        # They end in the hour that this night has twice, at its first time: the clock shows 02:29 and 02:10 again.
        ("22:00-02:30", "Europe/Berlin", "2030-10-27T00:29", "2030-10-27T00:30"),
        ("22:00-02:30", "Europe/Berlin", "2030-10-27T01:10", None),
        ("", "UTC", "2030-01-01T23:00", None),
    ],
)
def test_quiet_hours_are_those_of_the_projects_clock(project, hours, zone, now, until):
    project.set(alert_quiet_hours=hours, alert_time_zone=zone)
    found = quiet_until(project.row, "daily_budget", datetime.fromisoformat(now).replace(tzinfo=UTC))
    assert found == (until and datetime.fromisoformat(until).replace(tzinfo=UTC))


def quiet_now(project, **more):
    now = timezone.now()
    hours = f"{now - timedelta(hours=1):%H:%M}-{now + timedelta(hours=2):%H:%M}"
    project.set(alert_quiet_hours=hours, alert_emails=["ops@example.com"], **more)


def test_people_are_told_when_quiet_hours_end_and_servers_at_once(project, receiver):
    an_alert_service(project.row, secret=f"{receiver.url}/chat")
    quiet_now(project, alert_url=f"{receiver.url}/alerts")
    raised(project)
    run()
    alert = Alert.objects.get()
    assert [request.target for request in receiver.requests] == ["/alerts"] and mail.outbox == []
    assert alert.due_at > timezone.now() + timedelta(minutes=50)
    project.set(alert_quiet_hours="")
    Alert.objects.update(due_at=timezone.now())
    run()
    assert [request.target for request in receiver.requests] == ["/alerts", "/chat"] and len(mail.outbox) == 1


def test_an_outage_is_told_in_quiet_hours_too(project):
    quiet_now(project)
    raised(project, kind="channel_down", key="sms")
    run()
    assert len(mail.outbox) == 1


@pytest.mark.parametrize("given", ["22-7", "24:00-07:00", "07:00-07:00", "late"])
def test_hours_that_are_none_are_refused(project, given):
    with pytest.raises(UserError, match="22:00-07:00"):
        set_settings(project.row, {"alert_quiet_hours": given})


def test_a_time_zone_that_is_none_is_refused(project):
    with pytest.raises(UserError, match="time zone"):
        set_settings(project.row, {"alert_time_zone": "Mars/Olympus"})
