"""Telling the customer's server what becomes of sessions."""

import threading
from datetime import timedelta

import pytest
from django.db import connection, transaction
from django.utils import timezone
from standardwebhooks import Webhook

from tests.api.calls import WRONG, Api
from tests.fakes.http_server import FakeHttpServer, answer
from verification.core.addresses import mask, parse_address
from verification.models import SESSION_EVENTS, Message, Project, Session, WebhookEvent
from verification.services.delivery import sweep
from verification.services.maintenance import forgetting, integrity, retention
from verification.services.notifications import event_feed, events, payloads
from verification.services.projects import projects, webhook_secrets
from verification.services.projects.snapshot import load_project
from verification.services.protection import eligibility
from verification.services.protection.recipient import policy_for
from verification.services.providers.accounts import add_sandbox

pytestmark = pytest.mark.django_db

TO = "+4915112345678"
ALL = [each.value for each in SESSION_EVENTS]


@pytest.fixture(scope="module")
def server():
    with FakeHttpServer() as server:
        yield server


@pytest.fixture
def receiver(server, project):
    """The server of a project that wants all events of its sessions."""
    server.requests.clear()
    project.set(events=ALL, event_url=f"{server.url}/events")
    return server


def told(project, receiver):
    """Deliver what is due, one round after the other; return the genuine bodies, in the order of their calls."""
    while rows := events.claim_due(limit=10):
        for row in rows:
            events.deliver(row)
    ((secret, _),) = webhook_secrets.live_webhook_secrets(project.row)
    return [Webhook(secret).verify(request.body, request.headers) for request in receiver.requests]


def types():
    return list(WebhookEvent.objects.order_by("pk").values_list("type", flat=True))


def lock(api, session_id):
    while api.check(session_id, WRONG).data["code"] == "invalid_code":
        pass


def end(session_id):
    """Let the session's time run out, and sweep."""
    past = timezone.now() - timedelta(seconds=1)
    Session.objects.filter(pk=session_id).update(expires_at=past, created_at=past - timedelta(minutes=3))
    sweep.wipe_codes()


@pytest.mark.requirement(119)
def test_a_verification_is_told_signed_from_its_opening_to_its_end(api, project, outbox, receiver):
    session_id = api.create(TO).data["session_id"]
    api.check(session_id, outbox.code)
    opened, verified = told(project, receiver)
    session = Session.objects.get()
    assert (opened["type"], verified["type"]) == ("session.opened", "session.verified")
    assert opened["timestamp"] <= verified["timestamp"] and opened["timestamp"].endswith("Z")
    assert set(opened) == {"type", "timestamp", "data"}
    assert verified["data"] == {
        "session_id": session_id,
        "reference": None,
        "recipient": mask(TO),
        "channel": "sms",
        "reason": None,
        "language": "en",
        "is_test": False,
        "created_at": session.created_at.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        "expires_at": session.expires_at.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
    }
    ids = [request.headers["webhook-id"] for request in receiver.requests]
    assert ids == [event.webhook_id for event in WebhookEvent.objects.order_by("pk")] and len(set(ids)) == 2
    assert not [body for body in (request.body.decode() for request in receiver.requests) if outbox.code in body]


@pytest.mark.requirement(119)
def test_the_whole_recipient_is_told_where_the_project_says_so(api, project, outbox, receiver):
    project.set(event_recipients=True)
    api.create(TO)
    assert told(project, receiver)[0]["data"]["recipient"] == TO


def recipients_listed(project):
    return [payloads.body_of(row)["data"]["recipient"] for row in event_feed.page_after(project.id, "0").events]


@pytest.mark.requirement(119)
def test_what_was_written_before_is_told_as_it_was_written(api, project, outbox, receiver):
    """Whoever switches whole recipients on sees nobody of before; whoever switches them off takes nothing back."""
    api.create(TO)
    project.set(event_recipients=True)
    api.create("+4915112345679")
    project.set(event_recipients=False)
    api.create("+4915112345670")
    written = [mask(TO), "+4915112345679", mask("+4915112345670")]
    assert recipients_listed(project) == written
    assert [body["data"]["recipient"] for body in told(project, receiver)] == written


def test_the_event_of_an_old_process_tells_a_part(api, project, outbox, receiver):
    """A process of the release before writes the row without the column."""
    project.set(event_recipients=True)
    api.create(TO)
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO verification_webhookevent (project_id, type, session_id)"
            " SELECT project_id, 'session.opened', session_id FROM verification_webhookevent"
        )
    assert recipients_listed(project) == [TO, mask(TO)]


def test_an_event_has_the_time_of_its_insert(api, project, outbox, receiver):
    api.create(TO)
    event = WebhookEvent.objects.get()
    assert event.created_at > event.session.created_at  # which is later than the statement that wrote both


def test_a_project_that_wants_no_events_gets_none(api, project, outbox):
    session_id = api.create(TO).data["session_id"]
    api.check(session_id, outbox.code)
    assert types() == []
    assert "events" not in project_terms(project)


def project_terms(project):
    config = load_project(project.id)
    return str(policy_for(config, parse_address(TO)).terms.obj) + str(config.terms_of_check.obj)


def test_only_the_chosen_events_are_told(api, project, outbox, receiver):
    project.set(events=["session.locked"])
    session_id = api.create(TO).data["session_id"]
    lock(api, session_id)
    end(session_id)
    assert types() == ["session.locked"]


def test_a_session_that_wrong_codes_lock_is_told_once_and_not_as_expired(api, project, outbox, receiver):
    session_id = api.create(TO).data["session_id"]
    lock(api, session_id)
    api.check(session_id, WRONG)
    end(session_id)
    assert types() == ["session.opened", "session.locked"]


def test_a_session_whose_time_ran_out_is_told_once(api, project, outbox, receiver):
    session_id = api.create(TO).data["session_id"]
    end(session_id)
    sweep.wipe_codes()
    assert types() == ["session.opened", "session.expired"]


def test_a_verified_session_does_not_expire(api, project, outbox, receiver):
    session_id = api.create(TO).data["session_id"]
    api.check(session_id, outbox.code)
    end(session_id)
    assert types() == ["session.opened", "session.verified"]


def test_a_create_that_finds_a_live_session_opens_none(api, project, outbox, receiver):
    api.create(TO)
    api.create(TO)
    assert types() == ["session.opened"]


def test_a_refused_create_is_told_with_its_rule_and_the_masked_recipient(api, project, receiver):
    project.set(countries=["FR"], event_recipients=True)
    assert api.create(TO).data["code"] == "recipient_not_allowed"
    (body,) = told(project, receiver)
    assert body["type"] == "session.refused"
    assert body["data"] == {
        "session_id": None,
        "reference": None,
        "recipient": mask(TO),
        "channel": None,
        "reason": "country",
        "language": None,
        "is_test": False,
        "created_at": None,
        "expires_at": None,
    }


def test_a_refused_send_is_told_with_its_session(api, project, outbox, receiver):
    session_id = api.create(TO).data["session_id"]
    assert api.send(session_id).data["code"] == "channel_timeout"
    refusal = told(project, receiver)[-1]["data"]
    assert (refusal["session_id"], refusal["reason"], refusal["channel"]) == (session_id, "channel_timeout", "sms")


def test_the_same_refusal_is_told_once_a_minute(api, project, outbox, receiver):
    project.set(countries=["FR"])
    for number in (TO, TO, "+4915112345699"):
        api.create(number)
    assert types() == ["session.refused"] * 2


@pytest.mark.requirement(119)
def test_refusals_of_a_flood_are_told_up_to_a_bound(api, project, receiver, monkeypatch):
    monkeypatch.setattr(eligibility, "EVENTS_PER_MINUTE", 3)
    project.set(countries=["FR"])
    for number in range(10, 16):
        api.create(f"+49151123456{number}")
    assert types() == ["session.refused"] * 3


def test_an_event_goes_to_the_address_that_the_project_has_at_the_time(api, project, outbox, receiver):
    receiver.script(answer(500, b""))
    api.create(TO)
    told(project, receiver)
    project.set(event_url=f"{receiver.url}/moved")
    WebhookEvent.objects.update(due_at=timezone.now())
    told(project, receiver)
    assert [request.target for request in receiver.requests] == ["/events", "/moved"]
    first, second = receiver.requests
    assert first.headers["webhook-id"] == second.headers["webhook-id"] and first.body == second.body


def test_an_event_without_an_address_is_kept_and_not_told(api, project, outbox, receiver):
    project.set(event_url="")
    api.create(TO)
    assert types() == ["session.opened"] and told(project, receiver) == []


def test_an_address_that_is_taken_away_ends_the_tries(api, project, outbox, receiver):
    api.create(TO)
    project.set(event_url="")
    told(project, receiver)
    event = WebhookEvent.objects.get()
    assert "no longer has an address" in event.attempts.get().error and event.delivered_at is None
    assert receiver.requests == []


def test_a_recipient_of_the_sandbox_whose_session_is_locked_from_the_start_is_told_as_locked(client, receiver):
    made = projects.create_project(name="Tests", is_sandbox=True)
    add_sandbox(made.project)
    Project.objects.filter(pk=made.project.pk).update(events=ALL)
    Api(client, made.api_key, made.secret_key).create("locked@sandbox.example")
    assert types() == ["session.opened", "session.locked"]


def test_a_right_code_that_comes_again_is_told_once(api, project, outbox, receiver):
    session_id = api.create(TO).data["session_id"]
    for _ in range(3):
        api.check(session_id, outbox.code)
    assert types() == ["session.opened", "session.verified"]


def test_an_erased_recipient_takes_their_events_along(api, project, outbox, receiver):
    api.create(TO)
    assert forgetting.export(project=project.row, to=TO)["events"][0]["type"] == "session.opened"
    forgetting.forget(project=project.row, to=TO)
    assert types() == []


def test_the_purge_takes_events_along_and_leaves_those_on_their_way(api, project, outbox, receiver):
    project.set(countries=["DE"])
    for number in ("+4915112345678", "+4915112345679", "+33612345678"):
        api.create(number)
    Message.objects.all().delete()
    old = timezone.now() - timedelta(days=90)
    Session.objects.update(created_at=old, expires_at=old + timedelta(minutes=3))
    WebhookEvent.objects.update(created_at=old, due_at=None)
    WebhookEvent.objects.filter(session__recipient__address=TO).update(due_at=timezone.now())
    retention.purge()
    assert [event.session.recipient.address for event in WebhookEvent.objects.all()] == [TO]
    assert integrity.violations() == {}


def test_each_type_can_be_tried_out(project, receiver):
    for each in ALL:
        assert events.send_test_event(project=project.row, url=receiver.url, event_type=each).is_delivered
    assert [body["type"] for body in told(project, receiver)] == ALL


@pytest.mark.requirement(119)
@pytest.mark.django_db(transaction=True)
def test_events_that_commit_late_are_not_passed_over(api, project, outbox, receiver):
    start = event_feed.newest_place()
    written, committed = threading.Event(), threading.Event()

    def write_and_wait():
        try:
            with transaction.atomic():
                WebhookEvent.objects.create(project=project.row, type="session.refused", reason="late")
                written.set()
                committed.wait(20)
        finally:
            connection.close()

    slow = threading.Thread(target=write_and_wait)
    slow.start()
    assert written.wait(20)
    api.create(TO)  # commits first, with a later time
    early = event_feed.page_after(project.id, start)
    committed.set()
    slow.join(20)
    late = event_feed.page_after(project.id, early.after)
    assert [row.type for row in [*early.events, *late.events]] == ["session.refused", "session.opened"]
