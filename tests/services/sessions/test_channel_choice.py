"""The channel of a code when the caller names none, and what an explicit messenger does."""

import pytest

from providers.base import Outcome, Result
from tests import clock, factories
from tests.api.calls import problem
from verification.core import caching
from verification.models import Message, Session, Suppression
from verification.services.delivery import sweep

pytestmark = pytest.mark.django_db

PHONE = "+4915112345678"


@pytest.fixture
def project(db):
    """Channels in this order: a bot, SMS, a voice call, a messenger that needs no start. The default is SMS."""
    made = factories.project(channels=())
    made.provider("messenger_a", name="bot", type="collector_bot")
    for channel in ("sms", "voice", "messenger_b", "email"):
        made.provider(channel, name=channel)
    for position, channel in enumerate(("messenger_a", "sms", "voice", "messenger_b", "email")):
        made.channel(channel, position=position)
    return made


@pytest.fixture
def bot(project):
    return project.row.providers.get(name="bot")


def start_over():
    """Let the session and every block end."""
    clock.forward(181)


def verify_over(api, outbox, channel):
    session_id = api.create(type=channel).data["session_id"]
    assert api.check(session_id, outbox.code).status_code == 200
    start_over()


def reach_over(api, outbox, channel):
    api.create(type=channel)
    assert outbox.last.channel == channel
    start_over()


def link_to(session, channel):
    return next(item["link"] for item in session["channels"] if item["type"] == channel)


# --- nothing is known of the recipient -------------------------------------------------------------------------------


def test_it_is_the_projects_default(api, project):
    project.set(default_phone_channel="voice")
    assert api.create().data["sent_to"] == "voice"


def test_without_the_default_it_is_the_first_that_can_be_used(api, project):
    project.channel("sms", is_active=False)
    assert api.create().data["sent_to"] == "voice"


def test_the_order_is_the_projects(api, project):
    project.channel("sms", is_active=False)
    project.channel("voice", position=9)
    assert api.create().data["sent_to"] == "messenger_b"


def test_a_default_without_a_provider_is_no_default(api, project):
    project.row.providers.filter(channel="sms").update(is_enabled=False)
    caching.clear_all()
    assert api.create().data["sent_to"] == "voice"


def test_a_channel_that_the_type_of_the_number_rules_out_is_passed_over(api):
    assert api.create("+49301234567").data["sent_to"] == "voice"


def test_an_email_address_has_email(api):
    assert api.create("jane@example.com").data["sent_to"] == "email"


def suppress_sms(api, project):
    api.create(send=False)
    recipient = Session.objects.get().recipient
    Suppression.objects.create(project=project.row, recipient=recipient, channel="sms", reason="STOP")


def test_a_suppressed_channel_is_passed_over(api, project):
    suppress_sms(api, project)
    assert api.create().data["sent_to"] == "voice"


def test_a_named_channel_that_is_suppressed_is_refused(api, outbox, project):
    suppress_sms(api, project)
    assert problem(api.create(type="sms")) == (403, "recipient_not_allowed")
    assert problem(api.manual_send()) == (403, "recipient_not_allowed")
    assert outbox.messages == []


# --- what is known of the recipient ----------------------------------------------------------------------------------


def test_it_is_the_channel_they_last_verified_with(api, outbox):
    verify_over(api, outbox, "messenger_b")
    verify_over(api, outbox, "voice")
    assert api.create().data["sent_to"] == "voice"


def test_it_is_else_the_channel_a_code_last_reached_them_over(api, outbox):
    reach_over(api, outbox, "voice")
    assert api.create().data["sent_to"] == "voice"


def test_the_channel_verified_with_goes_before_the_one_last_reached_over(api, outbox):
    verify_over(api, outbox, "voice")
    reach_over(api, outbox, "messenger_b")
    assert api.create().data["sent_to"] == "voice"


def test_a_channel_over_which_the_code_failed_has_reached_nobody(api, outbox):
    outbox.answer("voice", Result(Outcome.REFUSED, error="Nobody answers."))
    api.create(type="voice")
    assert outbox.messages == []
    start_over()
    assert api.create().data["sent_to"] == "sms"


def test_a_channel_over_which_no_receipt_ever_came_has_reached_nobody(api, outbox):
    reach_over(api, outbox, "messenger_b")
    outbox.answer("voice", Result.accepted("id-1"))
    reach_over(api, outbox, "voice")
    clock.forward(600)
    assert sweep.expire_messages() == 1
    assert Message.objects.get(channel="voice").status == "expired"
    assert api.create().data["sent_to"] == "messenger_b"


def test_a_channel_whose_receipt_may_still_come_is_taken_again(api, outbox):
    outbox.answer("voice", Result.accepted("id-1"))
    reach_over(api, outbox, "voice")
    assert Message.objects.get().status == "sent"
    assert api.create().data["sent_to"] == "voice"


def test_a_channel_that_was_switched_off_meanwhile_is_passed_over(api, outbox, project):
    verify_over(api, outbox, "voice")
    project.channel("voice", is_active=False)
    assert api.create().data["sent_to"] == "sms"


def test_a_named_channel_goes_before_all_that_is_known(api, outbox):
    verify_over(api, outbox, "voice")
    assert api.create(type="sms").data["sent_to"] == "sms"


def test_what_is_known_of_another_recipient_does_not_matter(api, outbox):
    verify_over(api, outbox, "voice")
    assert api.create("+4915112345679").data["sent_to"] == "sms"


# --- messengers ------------------------------------------------------------------------------------------------------


def test_a_bot_that_was_not_started_is_passed_over(api, project):
    project.set(default_phone_channel="messenger_a")
    assert api.create().data["sent_to"] == "sms"


def test_a_bot_that_was_started_can_be_the_default(api, outbox, project, bot):
    project.set(default_phone_channel="messenger_a")
    factories.subscribe(PHONE, bot)
    assert api.create().data["sent_to"] == "messenger_a"
    assert outbox.names == ["bot"]


def test_a_bot_that_was_blocked_since_is_passed_over(api, project, bot):
    project.set(default_phone_channel="messenger_a")
    factories.subscribe(PHONE, bot, is_active=False)
    assert api.create().data["sent_to"] == "sms"


def test_a_bot_they_verified_with_and_blocked_since_is_passed_over(api, outbox, bot):
    subscription = factories.subscribe(PHONE, bot)
    verify_over(api, outbox, "messenger_a")
    type(subscription).objects.update(is_active=False)
    assert api.create().data["sent_to"] == "sms"


def test_a_messenger_where_they_have_no_account_is_passed_over_for_a_day(api, outbox, project):
    project.set(default_phone_channel="messenger_b")
    outbox.answer("messenger_b", Result(Outcome.NO_ACCOUNT, error="Not on this messenger."))
    api.create()
    assert outbox.messages == []
    start_over()
    assert api.create().data["sent_to"] == "sms"
    clock.forward(clock.DAY)
    Message.objects.all().delete()
    assert api.create().data["sent_to"] == "messenger_b"


def test_a_named_bot_that_was_not_started_gives_a_link_and_sends_nothing(api, outbox):
    created = api.create(type="messenger_a")
    assert (created.status_code, created.data["sent_to"]) == (200, None)
    assert link_to(created.data, "messenger_a").startswith("https://t.example/bot?start=")
    assert outbox.messages == []


def test_the_link_is_the_same_for_the_sessions_life(api):
    first = api.create(type="messenger_a").data
    again = api.create().data
    refused = api.send(first["session_id"], "messenger_a")
    links = {link_to(first, "messenger_a"), link_to(again, "messenger_a"), refused.data["link"]}
    assert problem(refused) == (409, "channel_not_active")
    assert len(links) == 1


def test_the_next_session_has_another_link(api):
    first = api.create(type="messenger_a").data
    start_over()
    assert link_to(api.create(type="messenger_a").data, "messenger_a") != link_to(first, "messenger_a")


@pytest.mark.requirement(66)
def test_the_link_tells_neither_the_number_nor_the_session(api):
    session = api.create(type="messenger_a").data
    link = link_to(session, "messenger_a")
    assert session["session_id"] not in link and PHONE[1:] not in link


def test_a_named_bot_that_was_not_started_spends_no_limit(api, project):
    project.set(sends_per_10_minutes=1)
    assert {api.create(type="messenger_a").status_code for _ in range(3)} == {200}
    assert api.create(type="sms").data["sent_to"] == "sms"


def test_the_session_waits_for_the_named_bot(api):
    api.create(type="messenger_a")
    assert Session.objects.get().awaited_channel == "messenger_a"


def test_a_code_sent_elsewhere_is_waited_for_no_more(api):
    session_id = api.create(type="messenger_a").data["session_id"]
    api.send(session_id, "sms")
    assert Session.objects.get().awaited_channel == ""


def test_where_a_bot_is_all_there_is_the_session_waits_for_it(api, outbox, project):
    for channel in ("sms", "voice", "messenger_b"):
        project.channel(channel, is_active=False)
    created = api.create()
    assert (created.status_code, created.data["sent_to"]) == (200, None)
    assert Session.objects.get().awaited_channel == "messenger_a"


# --- test logins, for whom nobody can start a bot --------------------------------------------------------------------


@pytest.fixture
def only_a_bot(project):
    """A bot is all there is, and the recipient is a test login with the code 424242."""
    for channel in ("sms", "voice", "messenger_b"):
        project.channel(channel, is_active=False)
    project.test_login(PHONE, "424242")


@pytest.mark.usefixtures("only_a_bot")
@pytest.mark.parametrize("named", [{}, {"type": "messenger_a"}])
def test_a_test_login_over_a_bot_looks_sent_and_its_code_is_right(api, outbox, named):
    created = api.create(**named)
    assert (created.status_code, created.data["sent_to"]) == (200, "messenger_a")
    assert [channel["timeout"] for channel in created.data["channels"]] == [60]
    checked = api.check(created.data["session_id"], "424242")
    assert (checked.status_code, checked.data["is_test"]) == (200, True)
    assert outbox.messages == []


@pytest.mark.usefixtures("only_a_bot")
def test_a_test_login_is_sent_again_over_a_bot(api, outbox):
    session_id = api.create(send=False).data["session_id"]
    sent = api.send(session_id, "messenger_a")
    assert (sent.status_code, sent.data["channel"]["timeout"]) == (200, 60)
    assert api.check(session_id, "424242").status_code == 200
    assert outbox.messages == []
