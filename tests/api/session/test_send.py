"""Sending a session's code again."""

import pytest

from tests import clock, factories
from tests.api.calls import WRONG, problem
from verification.models import Message, Session

pytestmark = pytest.mark.django_db

PHONE = "+4915112345678"
UNKNOWN = "01ARZ3NDEKTSV4RRFFQ69G5FAV"


@pytest.fixture
def session_id(api):
    """A session whose code went out over SMS just now."""
    return api.create().data["session_id"]


@pytest.fixture
def bot(project):
    """A messenger that reaches only users who have started its bot."""
    return project.provider("messenger_a", name="bot", type="collector_bot")


def test_it_carries_the_same_code(api, outbox, session_id):
    api.send(session_id, "voice")
    first, second = outbox.messages
    assert (second.code, second.channel) == (first.code, "voice")


def test_a_session_made_without_sending_can_be_sent(api, outbox):
    session_id = api.create(send=False).data["session_id"]
    assert api.send(session_id).status_code == 200
    assert api.check(session_id, outbox.code).status_code == 200


def test_create_tells_the_channel_of_the_last_send(api, session_id):
    api.send(session_id, "voice")
    assert api.create().data["sent_to"] == "voice"


def test_the_expiry_stays(api, session_id):
    expires_at = Session.objects.get().expires_at
    api.send(session_id, "voice")
    assert Session.objects.get().expires_at == expires_at


@pytest.mark.requirement(22)
def test_a_project_can_choose_a_new_code_on_every_send(api, outbox, project):
    project.set(new_code_on_send=True, code_letters=True)
    session_id = api.create().data["session_id"]
    old = outbox.code
    api.send(session_id, "voice")
    assert problem(api.check(session_id, old)) == (400, "invalid_code")
    assert api.check(session_id, outbox.code).status_code == 200


def test_a_test_login_is_sent_nothing(api, outbox, project):
    project.test_login(PHONE, "424242")
    session_id = api.create().data["session_id"]
    assert api.send(session_id, "voice").data["channel"]["timeout"] == 60
    assert outbox.messages == []


# --- the block of 60 seconds -----------------------------------------------------------------------------------------


def test_a_refused_send_writes_nothing(api, session_id):
    api.send(session_id)
    assert Message.objects.count() == 1


# --- limits ----------------------------------------------------------------------------------------------------------


def test_a_session_is_sent_five_times_at_the_most(api, project, session_id):
    project.set(sends_per_10_minutes=0)
    for _ in range(4):
        clock.set_age(Message.objects.all(), 60)
        assert api.send(session_id).status_code == 200
    clock.set_age(Message.objects.all(), 60)
    refused = api.send(session_id)
    assert problem(refused) == (429, "too_many_sends")
    assert "Retry-After" not in refused and "retry_after" not in refused.data
    assert refused.data["detail"].startswith("The session's five sends are used up.")


def test_create_obeys_the_five_sends_of_a_session_too(api, project, session_id):
    project.set(sends_per_10_minutes=0)
    for _ in range(4):
        clock.set_age(Message.objects.all(), 60)
        api.create()
    clock.set_age(Message.objects.all(), 60)
    assert problem(api.create()) == (429, "too_many_sends")
    assert Message.objects.count() == 5


def test_at_the_recipients_send_limit_it_tells_how_long_to_wait(api, project, session_id):
    project.set(sends_per_10_minutes=1)
    refused = api.send(session_id, "voice")
    assert problem(refused) == (429, "too_many_sends")
    assert refused["Retry-After"] == str(refused.data["retry_after"])


def test_with_the_wrong_codes_used_up_no_code_goes_out(api, project, session_id):
    project.set(wrong_codes_per_15_minutes=1)
    api.check(session_id, WRONG)
    refused = api.send(session_id, "voice")
    assert problem(refused) == (429, "too_many_attempts")
    assert refused["Retry-After"] == str(refused.data["retry_after"])
    assert Message.objects.count() == 1


# --- channels --------------------------------------------------------------------------------------------------------


def test_a_channel_that_was_switched_off_meanwhile_is_not_available(api, project, session_id):
    project.channel("voice", is_active=False)
    assert problem(api.send(session_id, "voice")) == (409, "channel_not_available")


def test_a_bot_that_the_user_has_not_started_is_not_active_and_the_link_leads_there(api, bot, session_id):
    refused = api.send(session_id, "messenger_a")
    assert problem(refused) == (409, "channel_not_active")
    assert refused.data["link"].startswith("https://t.example/bot?start=")


def test_the_refused_bot_is_what_the_session_waits_for(api, bot, session_id):
    api.send(session_id, "messenger_a")
    assert Session.objects.get().awaited_channel == "messenger_a"


def test_a_bot_that_the_user_has_started_is_sent_to(api, outbox, bot, session_id):
    factories.subscribe(PHONE, bot)
    sent = api.send(session_id, "messenger_a")
    assert sent.data["channel"]["is_active"] is True
    assert outbox.names == ["sms first", "bot"]


# --- sessions that are not open --------------------------------------------------------------------------------------


def lock(api, session_id):
    for _ in range(5):
        api.check(session_id, WRONG)


def test_a_verified_session_says_so_after_its_expiry_too(api, outbox, session_id):
    api.check(session_id, outbox.code)
    clock.forward(181)
    assert problem(api.send(session_id, "voice")) == (409, "session_verified")


def test_a_locked_session_that_expired_is_expired(api, session_id):
    lock(api, session_id)
    clock.forward(180)
    assert problem(api.send(session_id, "voice")) == (410, "session_expired")


def test_the_state_of_the_session_comes_before_the_channel(api, session_id):
    clock.forward(180)
    assert problem(api.send(session_id, "messenger_b")) == (410, "session_expired")
