"""Bots: from the deep link to the code, bound by proof only."""

import pytest
from django.db import OperationalError

from providers.base import BotReachability, BotStarted, ContactShared, HookReply, Outcome, Result
from tests import factories
from tests.fakes import collector
from verification.models import Provider, SeenHook, Session, Subscription
from verification.services import receipts, subscriptions

pytestmark = pytest.mark.django_db

PHONE = "+4915112345678"
OTHER = "+4915112345679"
CHAT = "777000111"


@pytest.fixture
def project(db):
    made = factories.project(channels=("sms",))
    made.provider("messenger_a", name="bot", type="collector_bot")
    return made


@pytest.fixture
def bot(project, outbox):
    return Provider.objects.get(type="collector_bot")


def waiting_session(api, to=PHONE):
    """A session whose code waits for the messenger, and the payload of its link."""
    data = api.create(to, type="messenger_a").data
    (messenger,) = (channel for channel in data["channels"] if channel["type"] == "messenger_a")
    return data["session_id"], messenger["link"].partition("start=")[2]


def said():
    return [text for _, text, _ in collector.SAID]


def test_a_messenger_that_was_not_started_offers_its_link_and_sends_nothing(api, outbox):
    session_id, payload = waiting_session(api)
    assert Session.objects.get(pk=session_id).awaited_channel == "messenger_a"
    assert outbox.messages == []
    assert len(payload) == 32


def test_the_own_contact_binds_and_the_waiting_code_goes_out(api, outbox, bot):
    session_id, payload = waiting_session(api)
    receipts.act_on(bot, [BotStarted(CHAT, payload, "de")])
    assert outbox.messages == []
    receipts.act_on(bot, [ContactShared(CHAT, PHONE, is_own=True, language="de")])
    assert outbox.messages[-1].channel == "messenger_a"
    assert outbox.messages[-1].account_id == CHAT
    assert api.check(session_id, outbox.code).status_code == 200


def test_the_link_alone_does_not_bind(api, outbox, bot):
    _, payload = waiting_session(api)
    receipts.act_on(bot, [BotStarted(CHAT, payload)])
    assert not Subscription.objects.exists()
    assert collector.SAID[-1][2] == "Share my number"


def test_somebody_elses_contact_does_not_bind(api, outbox, bot):
    _, payload = waiting_session(api)
    receipts.act_on(bot, [BotStarted(CHAT, payload)])
    receipts.act_on(bot, [ContactShared(CHAT, PHONE, is_own=False)])
    assert not Subscription.objects.exists()
    assert outbox.messages == []


def test_another_number_than_the_sessions_does_not_bind(api, outbox, bot):
    _, payload = waiting_session(api)
    receipts.act_on(bot, [BotStarted(CHAT, payload)])
    receipts.act_on(bot, [ContactShared(CHAT, "+4915112345679", is_own=True)])
    assert not Subscription.objects.exists()
    assert outbox.messages == []


def test_a_contact_without_a_link_before_it_does_not_bind(api, outbox, bot):
    waiting_session(api)
    receipts.act_on(bot, [ContactShared(CHAT, PHONE, is_own=True)])
    assert not Subscription.objects.exists()


def test_the_payload_is_used_up_by_binding(api, outbox, bot):
    _, payload = waiting_session(api)
    receipts.act_on(bot, [BotStarted(CHAT, payload)])
    receipts.act_on(bot, [ContactShared(CHAT, PHONE, is_own=True)])
    receipts.act_on(bot, [BotStarted("888", payload)])
    receipts.act_on(bot, [ContactShared("888", PHONE, is_own=True)])
    assert Subscription.objects.get(recipient__address=PHONE).account_id == CHAT


def test_an_unknown_payload_is_answered_and_binds_nothing(api, outbox, bot):
    receipts.act_on(bot, [BotStarted(CHAT, "x" * 32)])
    receipts.act_on(bot, [ContactShared(CHAT, PHONE, is_own=True)])
    assert not Subscription.objects.exists()
    assert len(said()) == 2


def test_the_link_of_another_project_means_nothing(api, outbox, project, bot):
    _, payload = waiting_session(api)
    other = factories.project(channels=("sms",))
    stranger = other.provider("messenger_a", name="other bot", type="collector_bot")
    receipts.act_on(stranger, [BotStarted(CHAT, payload)])
    receipts.act_on(stranger, [ContactShared(CHAT, PHONE, is_own=True)])
    assert not Subscription.objects.exists()


def test_a_user_who_was_bound_before_gets_the_code_without_asking(api, outbox, bot):
    _, payload = waiting_session(api)
    receipts.act_on(bot, [BotStarted(CHAT, payload)])
    receipts.act_on(bot, [ContactShared(CHAT, PHONE, is_own=True)])
    assert outbox.messages[-1].account_id == CHAT
    assert api.channels().data[1]["is_active"] is False  # with no session in sight: a bot needs a start
    factories.expire_everything()
    session = api.create(PHONE).data
    assert session["sent_to"] == "messenger_a"


def test_blocking_the_bot_makes_the_channel_inactive_and_unblocking_active_again(api, outbox, bot):
    session_id, payload = waiting_session(api)
    receipts.act_on(bot, [BotStarted(CHAT, payload)])
    receipts.act_on(bot, [ContactShared(CHAT, PHONE, is_own=True)])
    active = []
    for is_active in (False, True):
        receipts.act_on(bot, [BotReachability(CHAT, is_active)])
        channels = {channel["type"]: channel for channel in api.channels(session_id).data}
        active.append(channels["messenger_a"]["is_active"])
    assert active == [False, True]


def test_a_number_that_moves_to_another_account_ends_the_old_binding_and_tells_it(api, outbox, bot):
    _, payload = waiting_session(api)
    receipts.act_on(bot, [BotStarted(CHAT, payload)])
    receipts.act_on(bot, [ContactShared(CHAT, PHONE, is_own=True)])
    factories.expire_everything()
    Subscription.objects.update(is_active=False)  # so that the new session waits for the messenger again
    _, payload = waiting_session(api)
    Subscription.objects.update(is_active=True)
    receipts.act_on(bot, [BotStarted("888", payload)])
    receipts.act_on(bot, [ContactShared("888", PHONE, is_own=True)])
    assert Subscription.objects.get(is_active=True).account_id == "888"
    assert (CHAT, "Your number is now confirmed in another account. Codes no longer arrive here.", "") in collector.SAID


@pytest.fixture
def moved(api, bot):
    """The account was bound to a number and then, by proof, to another one."""
    for to in (PHONE, OTHER):
        _, payload = waiting_session(api, to)
        receipts.act_on(bot, [BotStarted(CHAT, payload), ContactShared(CHAT, to, is_own=True)])
    factories.expire_everything()


@pytest.mark.parametrize("has_blocked_the_bot", [False, True])
def test_an_account_that_has_another_number_now_gets_no_code_for_the_old_one(api, bot, moved, has_blocked_the_bot):
    """Numbers are given to other people."""
    if has_blocked_the_bot:
        receipts.act_on(bot, [BotReachability(CHAT, False)])
    _, payload = waiting_session(api)
    receipts.act_on(bot, [BotStarted(CHAT, payload)])
    assert Session.objects.get(link_payload=payload).channel == ""
    assert collector.SAID[-1][2] == "Share my number"


def test_an_account_that_has_another_number_now_can_block_and_unblock_the_bot(bot, moved):
    receipts.act_on(bot, [BotReachability(CHAT, False), BotReachability(CHAT, True)])
    assert Subscription.objects.get(is_active=True).recipient.address == OTHER


def test_the_payload_is_not_used_up_where_binding_fails(api, outbox, bot, monkeypatch):
    _, payload = waiting_session(api)
    receipts.act_on(bot, [BotStarted(CHAT, payload)])
    with monkeypatch.context() as patch, pytest.raises(ZeroDivisionError):
        patch.setattr(Subscription, "save", lambda *_, **__: 1 / 0)
        receipts.act_on(bot, [ContactShared(CHAT, PHONE, is_own=True)])
    receipts.act_on(bot, [ContactShared(CHAT, PHONE, is_own=True)])
    assert outbox.messages[-1].account_id == CHAT


def test_an_expired_session_is_not_served(api, outbox, bot):
    _, payload = waiting_session(api)
    receipts.act_on(bot, [BotStarted(CHAT, payload)])
    factories.expire_everything()
    receipts.act_on(bot, [ContactShared(CHAT, PHONE, is_own=True)])
    assert outbox.messages == []
    assert not Subscription.objects.exists()


def test_a_refusal_by_the_bot_makes_the_channel_inactive(api, outbox, bot):
    session_id, payload = waiting_session(api)
    receipts.act_on(bot, [BotStarted(CHAT, payload)])
    outbox.answer("bot", Result(Outcome.REFUSED, error="The user has blocked the bot.", provider_status="blocked"))
    receipts.act_on(bot, [ContactShared(CHAT, PHONE, is_own=True)])
    assert outbox.messages == []
    assert not Subscription.objects.get().is_active


def test_a_call_during_which_the_database_went_away_is_acted_on_when_it_is_repeated(api, bot, monkeypatch):
    _, payload = waiting_session(api)
    reply = HookReply((BotStarted(CHAT, payload),), dedup_key="10001")

    def away(*_, **__):
        raise OperationalError

    with monkeypatch.context() as patch, pytest.raises(OperationalError):
        patch.setattr(subscriptions, "start", away)
        patch.setattr(SeenHook, "delete", away)
        receipts.act_on_once(bot, reply)
    receipts.act_on_once(bot, reply)
    assert len(said()) == 1


def test_a_repeated_call_is_acted_on_once(api, outbox, bot):
    _, payload = waiting_session(api)
    reply = HookReply((BotStarted(CHAT, payload),), dedup_key="10001")
    receipts.act_on_once(bot, reply)
    receipts.act_on_once(bot, reply)
    assert len(said()) == 1
