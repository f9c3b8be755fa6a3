"""What the user's side is told of the code's delivery."""

import pytest
from django.utils import timezone

from providers.base import Outcome, Result
from tests import clock
from tests.api.calls import WRONG, problem, wrong_fields
from verification.models import Message

pytestmark = pytest.mark.django_db

UNKNOWN = "01ARZ3NDEKTSV4RRFFQ69G5FAV"


@pytest.fixture
def session_id(api):
    """A session whose code goes out over SMS."""
    return api.create().data["session_id"]


def statuses(response):
    assert set(response.data) == {"channels"}
    return {each.pop("channel"): each.pop("status") for each in response.data["channels"]}


def test_a_code_that_no_worker_has_taken_up_is_pending(api, session_id):
    assert statuses(api.delivery(session_id)) == {"sms": "pending"}


def test_it_tells_the_channel_and_the_status_and_nothing_else(api, session_id):
    assert api.delivery(session_id).content == b'{"channels":[{"channel":"sms","status":"pending"}]}'


@pytest.mark.requirement(45)
@pytest.mark.parametrize(
    ("status", "was_sent", "told"),
    [
        ("sending", False, "pending"),
        ("sent", True, "sent"),
        ("success", True, "delivered"),
        ("failed", False, "failed"),
        ("failed", True, "failed"),
        ("expired", False, "failed"),
        ("expired", True, "sent"),
    ],
)
def test_every_status_of_a_message_is_one_of_four_words(api, session_id, status, was_sent, told):
    Message.objects.update(status=status, sent_at=timezone.now() if was_sent else None)
    assert statuses(api.delivery(session_id)) == {"sms": told}


def test_of_each_channel_the_newest_message_counts(api, outbox, session_id):
    outbox.answer("sms first", Result(Outcome.REFUSED))
    outbox.deliver()
    api.send(session_id, "voice")
    assert statuses(api.delivery(session_id)) == {"sms": "failed", "voice": "pending"}
    api.send(session_id, "sms")
    outbox.deliver()
    assert statuses(api.delivery(session_id)) == {"sms": "delivered", "voice": "delivered"}


def test_nothing_is_told_of_a_session_that_sent_nothing(api):
    assert api.delivery(api.create(send=False).data["session_id"]).data == {"channels": []}


def test_a_test_login_looks_delivered(api, project):
    project.test_login("+4915112345678", "424242")
    assert statuses(api.delivery(api.create().data["session_id"])) == {"sms": "delivered"}


def test_a_locked_session_is_described(api, outbox, session_id):
    for _ in range(5):
        api.check(session_id, WRONG)
    assert statuses(api.delivery(session_id)) == {"sms": "pending"}


def test_a_session_that_ended_answers_as_everywhere(api, outbox, session_id):
    api.check(session_id, outbox.code)
    assert problem(api.delivery(session_id)) == (409, "session_verified")
    ended = api.create("jane@example.com").data["session_id"]
    clock.forward(180)
    assert problem(api.delivery(ended)) == (410, "session_expired")
    assert problem(api.delivery(UNKNOWN)) == (404, "session_not_found")


@pytest.mark.parametrize("query", ["", "?session_id=", "?session_id=x", f"?session_id={UNKNOWN}&session_id={UNKNOWN}"])
def test_the_session_is_named_once(api, query):
    assert wrong_fields(api.call("GET", f"/session/delivery{query}", key=api.api_key)) == ["session_id"]


def test_a_secret_key_reads_the_session_instead(api, session_id):
    answer = api.call("GET", f"/session/delivery?session_id={session_id}", key=api.secret_key)
    assert problem(answer) == (403, "wrong_key_kind")


def test_what_a_provider_refused_failed(api, outbox):
    outbox.answer("voice first", Result(Outcome.REFUSED))
    session_id = api.create(channel="voice").data["session_id"]
    outbox.deliver()
    assert statuses(api.delivery(session_id)) == {"voice": "failed"}
