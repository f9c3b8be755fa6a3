"""Telling the customer's server how a manual send ended."""

from datetime import timedelta

import pytest
from django.utils import timezone
from standardwebhooks import Webhook, WebhookVerificationError

from tests import factories
from tests.api.calls import Api
from tests.fakes.http_server import FakeHttpServer, answer
from verification.core import caching
from verification.models import WebhookAttempt, WebhookEvent, WebhookSecret
from verification.services.notifications import events, schedule
from verification.services.projects import webhook_secrets

pytestmark = pytest.mark.django_db


@pytest.fixture
def receiver():
    with FakeHttpServer() as server:
        yield server


@pytest.fixture
def finished(api, outbox, receiver):
    """A manual send that has ended, its callback due."""
    message_id = api.manual_send(callback_url=f"{receiver.url}/hook").data["message_id"]
    assert outbox.messages
    return message_id


def run():
    """One round of the worker's poller."""
    for row in events.claim_due(limit=10):
        events.deliver(row)


def verified(project, request):
    ((secret, _),) = webhook_secrets.live_webhook_secrets(project.row)
    return Webhook(secret).verify(request.body, request.headers)


@pytest.mark.requirement(78, 80)
def test_it_posts_the_finished_message_signed(project, receiver, finished):
    run()
    (request,) = receiver.requests
    told = verified(project, request)
    assert (request.method, request.target) == ("POST", "/hook")
    assert {name: told[name] for name in ("id", "channel", "status", "error")} == {
        "id": finished,
        "channel": "sms",
        "status": "success",
        "error": None,
    }
    assert told["finished_at"].endswith("Z")
    assert set(told) == {"id", "channel", "status", "error", "finished_at"}


def test_a_changed_body_does_not_verify(project, receiver, finished):
    run()
    (request,) = receiver.requests
    ((secret, _),) = webhook_secrets.live_webhook_secrets(project.row)
    with pytest.raises(WebhookVerificationError):
        Webhook(secret).verify(request.body.replace(b"success", b"failed!"), request.headers)


def test_a_fault_of_ours_is_tried_again_by_the_schedule(receiver, finished, monkeypatch):
    def break_off(_):
        raise RuntimeError("what it held")

    monkeypatch.setattr(events, "body_of", break_off)
    run()
    event = WebhookEvent.objects.get()
    assert (event.attempts.get().error, event.tries) == ("Watchword could not send it: RuntimeError.", 1)
    assert event.due_at < timezone.now() + timedelta(seconds=20)  # 5 seconds and something, as after any first try
    WebhookEvent.objects.update(due_at=timezone.now(), tries=len(schedule.RETRY_SECONDS))
    run()
    event.refresh_from_db()
    assert event.due_at is None


def test_success_is_delivered_once(receiver, finished):
    run()
    run()
    assert len(receiver.requests) == 1
    callback = WebhookEvent.objects.get()
    assert callback.delivered_at and callback.due_at is None


@pytest.mark.requirement(78)
def test_both_secrets_sign_during_a_rotation(project, receiver, finished):
    webhook_secrets.rotate_webhook_secret(project.row)
    run()
    (request,) = receiver.requests
    for secret, _ in webhook_secrets.live_webhook_secrets(project.row):
        Webhook(secret).verify(request.body, request.headers)
    assert len(request.headers["webhook-signature"].split(" ")) == WebhookSecret.objects.count() == 2


@pytest.mark.parametrize("status", [301, 400, 404, 429, 500, 503])
def test_anything_but_2xx_is_tried_again(receiver, finished, status):
    receiver.script(answer(status, b""))
    run()
    callback = WebhookEvent.objects.get()
    seconds = (callback.due_at - timezone.now()).total_seconds()
    assert callback.delivered_at is None
    assert 3 < seconds < 7
    assert WebhookAttempt.objects.get().status == status


@pytest.mark.requirement(80)
def test_a_retry_has_the_same_id_and_a_new_signature(project, receiver, finished):
    receiver.script(answer(500, b""))
    run()
    WebhookEvent.objects.update(due_at=timezone.now())
    run()
    first, second = receiver.requests
    assert first.headers["webhook-id"] == second.headers["webhook-id"] == f"msg_{finished}"
    verified(project, second)


@pytest.mark.requirement(79)
def test_gone_stops_at_once(receiver, finished):
    receiver.script(answer(410, b""))
    run()
    assert WebhookEvent.objects.get().due_at is None
    assert WebhookEvent.objects.get().delivered_at is None


def test_retry_after_is_kept(receiver, finished):
    receiver.script(answer(503, b"", {"Retry-After": "900"}))
    run()
    assert (WebhookEvent.objects.get().due_at - timezone.now()).total_seconds() > 880


@pytest.mark.requirement(79)
@pytest.mark.parametrize(("asked", "kept"), [("7200", 7_200), ("1000000", events.MAX_RETRY_AFTER_SECONDS)])
def test_retry_after_is_kept_beyond_an_hour_and_for_a_day_at_most(receiver, finished, asked, kept):
    receiver.script(answer(503, b"", {"Retry-After": asked}))
    before = timezone.now()
    run()
    due_at = WebhookEvent.objects.get().due_at
    assert before + timedelta(seconds=kept) <= due_at <= timezone.now() + timedelta(seconds=kept)


def test_it_gives_up_after_the_last_retry(receiver, finished):
    receiver.script(answer(500, b""))
    WebhookEvent.objects.update(tries=len(schedule.RETRY_SECONDS))
    run()
    assert WebhookEvent.objects.get().due_at is None


@pytest.mark.requirement(79)
def test_each_wait_is_that_of_the_schedule():
    for tries, seconds in enumerate(schedule.RETRY_SECONDS, start=1):
        wait = schedule.next_try(tries) - timezone.now()
        assert timedelta(seconds=seconds * 0.79) < wait < timedelta(seconds=seconds * 1.21)


def test_a_private_address_is_not_called(settings, receiver, finished):
    settings.OUTBOUND_ALLOWED_NETWORKS = []
    caching.clear_all()
    run()
    assert receiver.requests == []
    assert WebhookAttempt.objects.get().status is None


def test_a_secret_that_cannot_be_read_is_a_try_that_failed_and_ends_with_the_schedule(receiver, finished):
    WebhookSecret.objects.update(secret=b"sealed by a key that is gone")
    run()
    assert receiver.requests == []
    assert "ENCRYPTION_KEYS" in WebhookAttempt.objects.get().error
    WebhookEvent.objects.update(due_at=timezone.now(), tries=len(schedule.RETRY_SECONDS))
    run()
    assert WebhookEvent.objects.get().due_at is None


@pytest.mark.requirement(79)
def test_send_again_starts_over(receiver, finished):
    receiver.script(answer(410, b""))
    run()
    events.send_again(WebhookEvent.objects.get())
    run()
    assert WebhookEvent.objects.get().delivered_at
    assert len(receiver.requests) == 2


@pytest.mark.requirement(14)
def test_one_project_does_not_take_all_the_places(api, outbox, receiver):
    for number in range(4):
        api.manual_send(to=f"+4915112345{number:03d}", callback_url=receiver.url)
    assert outbox.messages
    assert len(events.claim_due(limit=10)) == events.PER_PROJECT


@pytest.mark.requirement(14)
def test_calls_under_way_take_up_their_projects_places(api, project, client, outbox, receiver):
    other = factories.project()
    for caller in (api, Api(client, other.api_key, other.secret_key)):
        for number in range(3):
            caller.manual_send(to=f"+4915112345{number:03d}", callback_url=receiver.url)
    assert outbox.messages

    def claimed(*busy):
        return sorted(row.project_id for row in events.claim_due(limit=10, busy=busy))

    assert claimed(project.id, project.id, other.id) == [other.id]
    assert claimed(project.id) == sorted([project.id, other.id, other.id])


def test_a_test_event_shows_how_the_receiver_answers(project, receiver):
    receiver.script(answer(204, b""))
    assert events.send_test_event(project=project.row, url=receiver.url).is_delivered
    verified(project, receiver.requests[0])


def test_a_session_has_no_callback(api, outbox):
    api.create()
    assert outbox.messages
    assert not WebhookEvent.objects.exists()
