"""Bots: from the deep link to the code, bound by proof only."""

import contextlib
from datetime import timedelta

import pytest
from django.db import OperationalError
from django.utils import timezone

from providers.base import BotMessage, BotReachability, BotStarted, ContactShared, HookReply, Outcome, Result
from tests import factories
from tests.api.calls import Api
from tests.fakes import collector
from verification.core.errors import ApiError
from verification.models import BotChat, BotUpdate, Project, Provider, Session, Subscription
from verification.services.delivery import receipts
from verification.services.projects import kill_switch
from verification.services.sessions import bot_updates, subscriptions

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


def tell(bot, events):
    """Report these events in one call; then a worker has its turn."""
    receipts.apply_report(bot, HookReply(tuple(events)))
    bot_updates.act_on_all()


def said():
    return [text for _, text, _ in collector.SAID]


def test_a_messenger_that_was_not_started_offers_its_link_and_sends_nothing(api, outbox):
    session_id, payload = waiting_session(api)
    assert Session.objects.get(pk=session_id).awaited_channel == "messenger_a"
    assert outbox.messages == []
    assert len(payload) == 32


def test_the_own_contact_binds_and_the_waiting_code_goes_out(api, outbox, bot):
    session_id, payload = waiting_session(api)
    tell(bot, [BotStarted(CHAT, payload, "de")])
    assert outbox.messages == []
    tell(bot, [ContactShared(CHAT, PHONE, is_own=True, language="de")])
    assert outbox.last.channel == "messenger_a"
    assert outbox.last.account_id == CHAT
    assert api.check(session_id, outbox.code).status_code == 200


def test_a_session_ends_by_the_databases_clock(api, outbox, bot, monkeypatch):
    _, payload = waiting_session(api)
    real = timezone.now
    monkeypatch.setattr(timezone, "now", lambda: real() + timedelta(hours=1))
    tell(bot, [BotStarted(CHAT, payload)])
    tell(bot, [ContactShared(CHAT, PHONE, is_own=True)])
    assert outbox.last.account_id == CHAT


@pytest.mark.requirement(66)
def test_the_link_alone_does_not_bind(api, outbox, bot):
    _, payload = waiting_session(api)
    tell(bot, [BotStarted(CHAT, payload)])
    assert not Subscription.objects.exists()
    assert collector.SAID[-1][2] == "Share my number"


@pytest.mark.requirement(66)
def test_somebody_elses_contact_does_not_bind(api, outbox, bot):
    _, payload = waiting_session(api)
    tell(bot, [BotStarted(CHAT, payload)])
    tell(bot, [ContactShared(CHAT, PHONE, is_own=False)])
    assert not Subscription.objects.exists()
    assert outbox.messages == []


@pytest.mark.parametrize(("to", "phone"), [("+5511987654321", "+551187654321"), ("+525512345678", "+5215512345678")])
def test_a_contact_in_the_numbers_old_form_binds(api, outbox, bot, to, phone):
    _, payload = waiting_session(api, to)
    tell(bot, [BotStarted(CHAT, payload), ContactShared(CHAT, phone, is_own=True)])
    assert outbox.messages[0].channel == "messenger_a"


def test_another_number_than_the_sessions_does_not_bind(api, outbox, bot):
    _, payload = waiting_session(api)
    tell(bot, [BotStarted(CHAT, payload)])
    tell(bot, [ContactShared(CHAT, "+4915112345679", is_own=True)])
    assert not Subscription.objects.exists()
    assert outbox.messages == []


def test_an_own_contact_finds_the_session_that_waits_for_its_number(api, outbox, bot):
    session_id, _ = waiting_session(api)
    tell(bot, [ContactShared(CHAT, PHONE, is_own=True)])
    assert outbox.last.account_id == CHAT
    assert api.check(session_id, outbox.code).status_code == 200


@pytest.mark.parametrize("is_link_opened_before", [False, True])
def test_a_start_without_payload_offers_the_button_and_loses_no_session(api, outbox, bot, is_link_opened_before):
    _, payload = waiting_session(api)
    if is_link_opened_before:
        tell(bot, [BotStarted(CHAT, payload)])
    tell(bot, [BotStarted(CHAT)])
    assert collector.SAID[-1][2] == "Share my number"
    assert (BotChat.objects.get().session is not None) is is_link_opened_before
    tell(bot, [ContactShared(CHAT, PHONE, is_own=True)])
    assert outbox.last.account_id == CHAT


@pytest.mark.parametrize("first", [BotStarted(CHAT), BotMessage(CHAT), None])
def test_who_has_proved_no_number_keeps_the_button_whatever_they_write(api, bot, first):
    _, payload = waiting_session(api)
    tell(bot, [first or BotStarted(CHAT, payload), BotMessage(CHAT)])
    assert collector.SAID[-1][2] == "Share my number"


def test_an_old_link_does_not_take_the_session_from_the_chat(api, outbox, bot):
    _, payload = waiting_session(api)
    tell(bot, [BotStarted(CHAT, payload), BotStarted(CHAT, "x" * 32), ContactShared(CHAT, PHONE, is_own=True)])
    assert outbox.last.account_id == CHAT
    assert not any("no longer valid" in text for text in said())


def test_a_number_typed_anew_counts_though_the_link_of_the_wrong_one_was_opened(api, outbox, bot):
    _, of_wrong = waiting_session(api, OTHER)
    tell(bot, [BotStarted(CHAT, of_wrong)])
    waiting_session(api, PHONE)
    tell(bot, [BotStarted(CHAT), ContactShared(CHAT, PHONE, is_own=True)])
    assert (outbox.last.to, outbox.last.account_id) == (PHONE, CHAT)
    assert Subscription.objects.get().recipient.address == PHONE


@pytest.mark.parametrize("event", [BotStarted(CHAT), BotMessage(CHAT)])
def test_a_bound_user_who_comes_back_gets_the_code_that_waits_without_its_link(api, outbox, bot, event):
    prove(api, bot, CHAT)
    assert len(outbox.messages) == 1
    factories.expire_everything()
    tell(bot, [BotReachability(CHAT, is_active=False)])
    waiting_session(api)
    tell(bot, [event])
    assert len(outbox.messages) == 2


def test_a_contact_for_which_nothing_waits_is_told_the_truth(api, outbox, bot):
    tell(bot, [BotStarted(CHAT), ContactShared(CHAT, PHONE, is_own=True)])
    assert said()[-1].startswith("I send sign-in codes.")
    assert not Subscription.objects.exists()


def test_a_contact_finds_no_session_that_waits_for_another_channel_or_project(api, client, outbox, project, bot):
    api.create(PHONE, type="sms")
    other = factories.project(channels=("sms",))
    other.provider("messenger_a", name="other bot", type="collector_bot")
    waiting_session(Api(client, other.api_key, other.secret_key))
    tell(bot, [ContactShared(CHAT, PHONE, is_own=True)])
    assert not Subscription.objects.exists()


def test_the_payload_is_used_up_by_binding(api, outbox, bot):
    _, payload = waiting_session(api)
    tell(bot, [BotStarted(CHAT, payload)])
    tell(bot, [ContactShared(CHAT, PHONE, is_own=True)])
    tell(bot, [BotStarted("888", payload)])
    tell(bot, [ContactShared("888", PHONE, is_own=True)])
    assert Subscription.objects.get(recipient__address=PHONE).account_id == CHAT


def test_an_unknown_payload_is_answered_and_binds_nothing(api, outbox, bot):
    tell(bot, [BotStarted(CHAT, "x" * 32)])
    tell(bot, [ContactShared(CHAT, PHONE, is_own=True)])
    assert not Subscription.objects.exists()
    assert len(said()) == 2


def test_the_link_of_another_project_means_nothing(api, outbox, project, bot):
    _, payload = waiting_session(api)
    other = factories.project(channels=("sms",))
    stranger = other.provider("messenger_a", name="other bot", type="collector_bot")
    tell(stranger, [BotStarted(CHAT, payload)])
    tell(stranger, [ContactShared(CHAT, PHONE, is_own=True)])
    assert not Subscription.objects.exists()


def test_a_user_who_was_bound_before_gets_the_code_without_asking(api, outbox, bot):
    _, payload = waiting_session(api)
    tell(bot, [BotStarted(CHAT, payload)])
    tell(bot, [ContactShared(CHAT, PHONE, is_own=True)])
    assert outbox.last.account_id == CHAT
    assert api.channels().data[1]["is_active"] is False  # with no session in sight: a bot needs a start
    factories.expire_everything()
    session = api.create(PHONE).data
    assert session["sent_to"] == "messenger_a"


def test_blocking_the_bot_makes_the_channel_inactive_and_unblocking_active_again(api, outbox, bot):
    session_id, payload = waiting_session(api)
    tell(bot, [BotStarted(CHAT, payload)])
    tell(bot, [ContactShared(CHAT, PHONE, is_own=True)])
    active = []
    for is_active in (False, True):
        tell(bot, [BotReachability(CHAT, is_active)])
        channels = {channel["type"]: channel for channel in api.channels(session_id).data}
        active.append(channels["messenger_a"]["is_active"])
    assert active == [False, True]


@pytest.mark.requirement(67)
def test_a_number_that_moves_to_another_account_ends_the_old_binding_and_tells_it(api, outbox, bot):
    _, payload = waiting_session(api)
    tell(bot, [BotStarted(CHAT, payload)])
    tell(bot, [ContactShared(CHAT, PHONE, is_own=True)])
    factories.expire_everything()
    Subscription.objects.update(is_active=False)  # so that the new session waits for the messenger again
    _, payload = waiting_session(api)
    Subscription.objects.update(is_active=True)
    tell(bot, [BotStarted("888", payload)])
    tell(bot, [ContactShared("888", PHONE, is_own=True)])
    assert Subscription.objects.get(is_active=True).account_id == "888"
    assert (CHAT, "Your number is now confirmed in another account. Codes no longer arrive here.", "") in collector.SAID


@pytest.fixture
def moved(api, bot):
    """The account was bound to a number and then, by proof, to another one."""
    for to in (PHONE, OTHER):
        _, payload = waiting_session(api, to)
        tell(bot, [BotStarted(CHAT, payload), ContactShared(CHAT, to, is_own=True)])
    factories.expire_everything()


@pytest.mark.parametrize("has_blocked_the_bot", [False, True])
def test_an_account_that_has_another_number_now_gets_no_code_for_the_old_one(api, bot, moved, has_blocked_the_bot):
    """Numbers are given to other people."""
    if has_blocked_the_bot:
        tell(bot, [BotReachability(CHAT, False)])
    _, payload = waiting_session(api)
    tell(bot, [BotStarted(CHAT, payload)])
    assert Session.objects.get(link_payload=payload).channel == ""
    assert collector.SAID[-1][2] == "Share my number"


def test_an_account_that_has_another_number_now_can_block_and_unblock_the_bot(bot, moved):
    tell(bot, [BotReachability(CHAT, False), BotReachability(CHAT, True)])
    assert Subscription.objects.get(is_active=True).recipient.address == OTHER


def test_the_payload_is_not_used_up_where_binding_fails(api, outbox, bot, monkeypatch):
    _, payload = waiting_session(api)
    tell(bot, [BotStarted(CHAT, payload)])
    with monkeypatch.context() as patch, pytest.raises(ZeroDivisionError):
        patch.setattr(Subscription, "save", lambda *_, **__: 1 / 0)
        tell(bot, [ContactShared(CHAT, PHONE, is_own=True)])
    assert not Session.objects.get(link_payload=payload).is_link_used
    end_leases()
    tell(bot, [ContactShared(CHAT, PHONE, is_own=True)])
    assert outbox.last.account_id == CHAT


def test_an_expired_session_is_not_served(api, outbox, bot):
    _, payload = waiting_session(api)
    tell(bot, [BotStarted(CHAT, payload)])
    factories.expire_everything()
    tell(bot, [ContactShared(CHAT, PHONE, is_own=True)])
    assert outbox.messages == []
    assert not Subscription.objects.exists()


def test_a_refusal_by_the_bot_makes_the_channel_inactive(api, outbox, bot):
    session_id, payload = waiting_session(api)
    tell(bot, [BotStarted(CHAT, payload)])
    outbox.answer("bot", Result(Outcome.REFUSED, error="The user has blocked the bot.", provider_status="blocked"))
    tell(bot, [ContactShared(CHAT, PHONE, is_own=True)])
    assert outbox.messages == []
    assert not Subscription.objects.get().is_active


# --- calls and the worker that acts on them ---------------------------------------------------------------------------


def end_leases():
    BotUpdate.objects.filter(due_at__isnull=False).update(due_at=timezone.now())


def test_a_call_says_and_binds_nothing_until_a_worker_acts_on_it(api, bot):
    _, payload = waiting_session(api)
    receipts.apply_report(bot, HookReply((BotStarted(CHAT, payload),), dedup_key="10001"))
    assert (said(), BotChat.objects.count()) == ([], 0)
    assert bot_updates.act_on_all() == 1
    assert (len(said()), BotChat.objects.count()) == (1, 1)


@pytest.mark.requirement(68)
def test_a_repeated_call_is_acted_on_once(api, outbox, bot):
    _, payload = waiting_session(api)
    reply = HookReply((BotStarted(CHAT, payload),), dedup_key="10001")
    for _ in range(2):
        receipts.apply_report(bot, reply)
        bot_updates.act_on_all()
    assert len(said()) == 1


def test_a_call_that_the_database_could_not_keep_is_kept_when_it_is_repeated(api, bot, monkeypatch):
    _, payload = waiting_session(api)
    reply = HookReply((BotStarted(CHAT, payload),), dedup_key="10001")

    def away(*_, **__):
        raise OperationalError

    with monkeypatch.context() as patch, pytest.raises(OperationalError):
        patch.setattr(bot_updates.sql, "call", away)
        receipts.apply_report(bot, reply)
    receipts.apply_report(bot, reply)
    assert bot_updates.act_on_all() == 1


class Died(BaseException):
    """A worker's end, in the middle of what it does."""


@pytest.mark.requirement(67)
@pytest.mark.parametrize("last_words", ["Share my number", ""])
def test_what_a_worker_died_with_is_acted_on_again(api, outbox, bot, monkeypatch, last_words):
    """The worker dies before the chat was bound, or right after: the code goes out once in either case."""
    session_id, payload = waiting_session(api)

    def die(adapter, account_id, text, *, contact_button=""):
        if contact_button == last_words:
            raise Died

    for event in (BotStarted(CHAT, payload), ContactShared(CHAT, PHONE, is_own=True)):
        receipts.apply_report(bot, HookReply((event,)))
        with monkeypatch.context() as patch, contextlib.suppress(Died):
            patch.setattr(collector.BotAdapter, "prompt", die)
            bot_updates.act_on_all()
        end_leases()
        bot_updates.act_on_all()
    assert [message.account_id for message in outbox.messages] == [CHAT]
    assert api.check(session_id, outbox.code).status_code == 200


def test_an_update_that_cannot_be_acted_on_is_given_up_in_the_end(bot, monkeypatch, caplog):
    receipts.apply_report(bot, HookReply((BotMessage(CHAT),)))
    monkeypatch.setattr(subscriptions, "act_on", lambda *_: 1 / 0)
    for _ in range(bot_updates.MAX_TRIES):
        with pytest.raises(ZeroDivisionError):
            bot_updates.act_on_all()
        end_leases()
    bot_updates.act_on_all()
    assert "no more retries" in caplog.text
    assert BotUpdate.objects.get().due_at is None


def test_of_what_was_acted_on_nothing_personal_is_kept(api, bot):
    tell(bot, [ContactShared(CHAT, PHONE, is_own=True)])
    [kept] = BotUpdate.objects.values_list("account_id", "event", "due_at")
    assert kept == ("", None, None)


def test_what_happens_in_a_chat_is_acted_on_in_its_order(bot):
    receipts.apply_report(bot, HookReply((BotMessage(CHAT), BotMessage(CHAT), BotMessage("888"))))
    first = bot_updates.claim_due(limit=9)
    assert len(first) == 2  # one of each chat
    assert bot_updates.claim_due(limit=9) == []
    for row in first:
        bot_updates.act(row)
    assert len(bot_updates.claim_due(limit=9)) == 1


@pytest.mark.requirement(14)
def test_one_project_does_not_take_all_the_threads(bot):
    for number in range(5):
        receipts.apply_report(bot, HookReply((BotMessage(f"1{number}"),)))
    other = factories.project(channels=("sms",)).provider("messenger_a", name="other bot", type="collector_bot")
    receipts.apply_report(other, HookReply((BotMessage("888"),)))
    claimed = [row.project_id for row in bot_updates.claim_due(limit=8)]
    assert sorted(claimed) == sorted([bot.project_id] * bot_updates.PER_PROJECT + [other.project_id])
    assert bot_updates.claim_due(limit=8, busy=claimed) == []


def test_beyond_so_many_that_wait_the_messenger_keeps_the_rest(bot):
    receipts.apply_report(bot, HookReply(tuple(BotMessage(CHAT) for _ in range(bot_updates.MAX_WAITING))))
    with pytest.raises(ApiError) as refused:
        receipts.apply_report(bot, HookReply((BotMessage(CHAT),)))
    assert (refused.value.status, refused.value.retry_after) == (503, bot_updates.RETRY_SECONDS)


def test_a_bot_that_cannot_be_read_is_asked_nothing_and_holds_up_nothing(api, bot, caplog):
    _, payload = waiting_session(api)
    Provider.objects.filter(pk=bot.pk).update(secrets=b"sealed with a key that is gone")
    tell(bot, [BotStarted(CHAT, payload)])
    assert BotChat.objects.get().session.link_payload == payload
    assert "could not answer in a chat: DecryptionFailed" in caplog.text


# --- what is switched off ---------------------------------------------------------------------------------------------


def disable_bot(bot):
    Provider.objects.filter(pk=bot.pk).update(is_enabled=False)


def disable_project(bot):
    Project.objects.filter(pk=bot.project_id).update(is_enabled=False)


def stop_all(bot):
    kill_switch.stop("all")


def stop_channel(bot):
    kill_switch.stop("messenger_a")


@pytest.mark.requirement(15)
@pytest.mark.parametrize("switch_off", [disable_bot, disable_project, stop_all, stop_channel])
def test_where_it_is_switched_off_nothing_is_bound_sent_or_said(api, outbox, bot, switch_off):
    _, payload = waiting_session(api)
    tell(bot, [BotStarted(CHAT, payload)])
    switch_off(bot)
    said_before = len(said())
    tell(bot, [ContactShared(CHAT, PHONE, is_own=True), BotStarted(CHAT, payload), BotMessage(CHAT)])
    assert (len(said()), outbox.messages, Subscription.objects.count()) == (said_before, [], 0)
    assert not BotUpdate.objects.filter(due_at__isnull=False).exists()


def test_the_system_bot_serves_no_project_that_is_switched_off(api, outbox, project, bot):
    Provider.objects.filter(pk=bot.pk).update(project=None)
    bot.refresh_from_db()
    _, payload = waiting_session(api)
    disable_project(Provider(project=project.row))
    tell(bot, [BotStarted(CHAT, payload), ContactShared(CHAT, PHONE, is_own=True)])
    assert (outbox.messages, Subscription.objects.count()) == ([], 0)


def test_who_blocks_a_bot_that_is_switched_off_is_noted(api, bot):
    _, payload = waiting_session(api)
    tell(bot, [BotStarted(CHAT, payload), ContactShared(CHAT, PHONE, is_own=True)])
    disable_bot(bot)
    tell(bot, [BotReachability(CHAT, is_active=False)])
    assert not Subscription.objects.get().is_active


@pytest.fixture
def apis(client, api, bot):
    """Two projects that a system bot serves."""
    Provider.objects.filter(pk=bot.pk).update(project=None)
    bot.refresh_from_db()
    other = factories.project(channels=("sms", "messenger_a"))
    return api, Api(client, other.api_key, other.secret_key)


def prove(api, bot, account_id, to=PHONE):
    _, payload = waiting_session(api, to)
    tell(bot, [BotStarted(account_id, payload), ContactShared(account_id, to, is_own=True)])


@pytest.mark.requirement(67)
def test_a_proof_in_one_project_leaves_the_accounts_binding_in_another(apis, bot):
    for api in apis:
        prove(api, bot, CHAT)
    assert list(Subscription.objects.values_list("account_id", "is_active")) == [(CHAT, True), (CHAT, True)]


@pytest.mark.requirement(67)
def test_a_number_that_moved_is_bound_to_its_old_account_in_no_project(apis, bot):
    for api, account_id in zip(apis, (CHAT, "888"), strict=True):
        prove(api, bot, account_id)
    assert Subscription.objects.get().account_id == "888"
    assert [account_id for account_id, text, _ in collector.SAID if "in another account" in text] == [CHAT]


def test_an_account_that_proves_another_number_keeps_the_old_one_in_no_project(apis, bot):
    for api in apis:
        prove(api, bot, CHAT)
    prove(apis[0], bot, CHAT, OTHER)
    assert Subscription.objects.get().recipient.address == OTHER
