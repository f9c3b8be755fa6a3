"""Telling owners of events: once each, by mail and by a signed call, with retries."""

from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.core import mail
from django.utils import timezone
from standardwebhooks import Webhook

from tests.fakes.http_server import FakeHttpServer, answer
from verification.core.errors import UserError
from verification.models import Alert, AlertOutcome, Membership, Project
from verification.services.notifications import alerts
from verification.services.notifications.alerts import raise_alert
from verification.services.projects import projects, webhook_secrets

pytestmark = pytest.mark.django_db


@pytest.fixture
def receiver():
    with FakeHttpServer() as server:
        yield server


@pytest.fixture
def owner(project):
    user = User.objects.create_user("owner", email="owner@example.com")
    Membership.objects.create(project=project.row, user=user)
    return user


def raised(project, key="2030-01-01", **values):
    raise_alert(
        project_id=project.id,
        kind="daily_budget",
        key=key,
        **{"title": "SMS: half of the budget", "detail": "500 of 1,000 today.", **values},
    )


def run():
    """One round of the worker's poller."""
    for row in alerts.claim_due(limit=10):
        alerts.deliver(row)


def test_members_are_mailed_once(project, owner):
    raised(project)
    raised(project)
    run()
    run()
    (letter,) = mail.outbox
    assert letter.to == ["owner@example.com"]
    assert letter.subject == f"[{project.row.name}] SMS: half of the budget"
    assert "500 of 1,000 today." in letter.body
    assert f"/admin/verification/alert/{Alert.objects.get().pk}/" in letter.body
    assert letter.from_email == "watchword@testserver"


def test_the_addresses_of_the_project_go_before_the_members(project, owner):
    project.set(alert_emails=["ops@example.com", "money@example.com"])
    raised(project)
    run()
    assert mail.outbox[0].to == ["ops@example.com", "money@example.com"]


def test_another_event_alerts_anew(project, owner):
    raised(project)
    raised(project, key="2030-01-02")
    run()
    assert len(mail.outbox) == 2


@pytest.mark.requirement(63)
def test_a_title_cannot_add_a_header(project, owner):
    raised(project, title="Half\r\nBcc: everybody@example.com")
    run()
    assert mail.outbox[0].subject.endswith("Half Bcc: everybody@example.com")


def test_the_alert_address_is_called_signed(project, receiver):
    project.set(alert_url=f"{receiver.url}/alerts")
    raised(project)
    run()
    (request,) = receiver.requests
    ((secret, _),) = webhook_secrets.live_webhook_secrets(project.row)
    told = Webhook(secret).verify(request.body, request.headers)
    assert {name: told[name] for name in ("type", "kind", "title", "project")} == {
        "type": "alert",
        "kind": "daily_budget",
        "title": "SMS: half of the budget",
        "project": project.row.name,
    }
    assert Alert.objects.get().posted_at


def test_only_what_failed_is_tried_again(project, owner, receiver):
    project.set(alert_url=f"{receiver.url}/alerts")
    receiver.script(answer(503, b""))
    raised(project)
    run()
    alert = Alert.objects.get()
    assert alert.mailed_at and not alert.posted_at
    assert alert.error == "webhook: HTTP 503"
    assert alert.due_at > timezone.now()
    Alert.objects.update(due_at=timezone.now() - timedelta(seconds=1))
    run()
    alert.refresh_from_db()
    assert (alert.due_at, alert.error, len(mail.outbox)) == (None, "", 1)


def test_a_fault_of_one_way_is_tried_again_and_repeats_no_other(project, owner, monkeypatch):
    def break_off(*_, **__):
        raise RuntimeError("https://hooks.slack.example/secret")

    monkeypatch.setattr(alerts.alert_services, "send_to_all", break_off)
    raised(project)
    run()
    alert = Alert.objects.get()
    assert (alert.error, len(mail.outbox), alert.mailed_at is None) == ("RuntimeError", 1, False)
    assert alert.due_at == pytest.approx(timezone.now() + timedelta(seconds=5), abs=timedelta(seconds=30))
    Alert.objects.update(due_at=timezone.now() - timedelta(seconds=1))
    run()
    assert len(mail.outbox) == 1


def test_a_worker_that_dies_after_the_mail_leaves_none_to_be_sent_again(project, owner, monkeypatch):
    def die(*_, **__):
        raise SystemExit

    monkeypatch.setattr(alerts.alert_services, "send_to_all", die)
    raised(project)
    with pytest.raises(SystemExit):
        run()
    Alert.objects.update(due_at=timezone.now() - timedelta(seconds=1))
    monkeypatch.undo()
    run()
    assert len(mail.outbox) == 1


def test_a_mail_server_that_is_away_is_tried_again(project, owner, settings):
    settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
    settings.EMAIL_HOST, settings.EMAIL_PORT = "127.0.0.1", 9
    raised(project)
    run()
    alert = Alert.objects.get()
    assert alert.error == "e-mail: The mail server cannot be reached"
    assert alert.due_at > timezone.now() and not alert.mailed_at


def test_it_is_given_up_at_the_end_of_the_schedule(project, receiver):
    project.set(alert_url=receiver.url)
    receiver.script(answer(500, b""))
    raised(project)
    Alert.objects.update(tries=50)
    run()
    assert Alert.objects.get().due_at is None


def test_a_flood_of_events_stays_on_the_page(project, owner):
    for number in range(25):
        raised(project, key=str(number))
    assert Alert.objects.filter(due_at=None).count() == 5
    assert alerts.unread_count([project.row]) == 25


def test_one_worker_has_an_alert_at_a_time(project):
    raised(project)
    assert len(alerts.claim_due(limit=10)) == 1
    assert alerts.claim_due(limit=10) == []


@pytest.mark.requirement(72)
@pytest.mark.parametrize("url", ["https://10.0.0.1/x", "ftp://shop.example/x", "https://u:p@shop.example/"])
def test_the_alert_address_is_judged_when_it_is_set(project, url):
    with pytest.raises(UserError):
        projects.set_project(project=project.row, values={"alert_url": url})


def test_a_mail_that_cannot_be_written_is_given_up_like_one_that_cannot_be_sent(project, owner):
    Project.objects.filter(pk=project.id).update(name="Shop\nBcc: all@example.com")  # by hand, past the checks
    raised(project)
    run()
    alert = Alert.objects.get()
    assert (mail.outbox, alert.error) == ([], "e-mail: The e-mail contains a character that is not allowed")
    Alert.objects.update(tries=50, due_at=timezone.now())
    run()
    assert Alert.objects.get().due_at is None


def test_how_the_last_of_each_way_ended_is_kept(project, owner, receiver):
    project.set(alert_url=f"{receiver.url}/alerts")
    receiver.script(answer(404, b""))
    raised(project)
    run()
    ended = dict(AlertOutcome.objects.filter(project=project.row).values_list("way", "error"))
    assert ended == {"mail": "", "webhook": "HTTP 404"}


def test_a_way_that_is_off_is_not_taken(project, owner, receiver):
    project.set(alert_url=f"{receiver.url}/alerts", alert_by_mail=False, alert_by_webhook=False)
    raised(project)
    run()
    assert (mail.outbox, receiver.requests, AlertOutcome.objects.count()) == ([], [], 0)
    assert Alert.objects.get().due_at is None


def test_without_a_mail_server_no_alert_counts_as_mailed(project, owner, settings):
    settings.EMAIL_BACKEND = "django.core.mail.backends.dummy.EmailBackend"
    raised(project)
    run()
    alert = Alert.objects.get()
    assert (alert.mailed_at, alert.due_at, alert.error) == (None, None, "")
    assert AlertOutcome.objects.get().error.startswith("No mail server is set up")
