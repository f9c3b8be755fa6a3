"""Delivery: who is asked, in which order, and what each answer leads to."""

from datetime import timedelta

import pytest
from django.db import connection
from django.utils import timezone

from providers.base import Outcome, Receipt, ReceiptStatus, Result
from providers.errors import NoAnswer, NotConnected, ProviderError
from tests import clock, factories
from tests.api.calls import WRONG
from tests.fakes import collector
from verification.core import caching, crypto
from verification.models import DailySpend, DeliveryAttempt, Message, MessageStatus, WebhookEvent
from verification.services.delivery import dispatch, receipts, record, round, sweep
from verification.services.projects import kill_switch

pytestmark = pytest.mark.django_db

PHONE = "+4915112345678"
ACCEPTED = Result.accepted("p-1")  # a receipt is awaited
DELIVERED = Result.accepted("p-1", is_delivered=True)
TEMPORARY = Result(Outcome.TEMPORARY, error="Busy.")
UNKNOWN = Result(Outcome.UNKNOWN, error="No answer.")


@pytest.fixture
def project(db):
    """Two providers for SMS, one after the other."""
    made = factories.project(channels=("voice",))
    made.provider("sms", name="first", priority=10)
    made.provider("sms", name="second", priority=20)
    return made


def alone(project):
    """Only the first is left."""
    project.row.providers.filter(name="second").update(is_enabled=False)
    caching.clear_all()


def send(api, **body):
    return api.manual_send(**body).data["message_id"]


def deliver(message_id):
    """One claim; the message as it stands then."""
    assert dispatch.deliver(message_id)
    return Message.objects.get(pk=message_id)


def again(message_id, seconds=30):
    """The next claim, when it is due."""
    clock.forward(seconds)
    caching.clear_all()
    return deliver(message_id)


def asked():
    """Whom was asked, with which outcome, in order."""
    return list(DeliveryAttempt.objects.order_by("id").values_list("provider_name", "outcome"))


def seconds_until(moment):
    return (moment - timezone.now()).total_seconds()


# --- claims ----------------------------------------------------------------------------------------------------------


def test_a_claimed_message_is_nobody_elses(api):
    message_id = send(api)
    assert [message.id for message in dispatch.claim_due(limit=10, idle_seconds=0)] == [message_id]
    assert dispatch.claim_due(limit=10, idle_seconds=0) == []
    assert dispatch.deliver(message_id) is False


def test_a_message_is_delivered_once_however_often_a_worker_is_woken(api, outbox):
    message_id = send(api)
    assert [dispatch.deliver(message_id) for _ in range(3)] == [True, False, False]
    assert len(outbox.messages) == 1


def test_an_unknown_id_is_nothing_to_do(db):
    assert dispatch.deliver(4711) is False


def test_the_sweep_takes_only_what_was_forgotten(api):
    message_id = send(api)
    assert dispatch.claim_due(limit=10, idle_seconds=2) == []
    clock.forward(2)
    assert [message.id for message in dispatch.claim_due(limit=10, idle_seconds=2)] == [message_id]


def test_a_retry_that_is_due_need_not_look_forgotten(api, outbox, project):
    alone(project)
    outbox.answer("first", TEMPORARY)
    message_id = deliver(send(api)).pk
    assert dispatch.claim_due(limit=10, idle_seconds=60) == []
    clock.forward(2)
    assert [message.id for message in dispatch.claim_due(limit=10, idle_seconds=60)] == [message_id]


def test_a_worker_that_is_told_to_stop_asks_nobody_and_gives_the_message_back(api, outbox):
    dispatch.stop_offering()
    message = deliver(send(api))
    assert (message.status, message.claimed_at, asked()) == ("sending", None, [])
    dispatch.start_offering()
    assert deliver(message.pk).status == "success"


def test_a_worker_that_is_told_to_stop_ends_nothing_that_another_may_still_send(api, outbox, project):
    alone(project)
    message_id = send(api)
    Message.objects.update(claims=4, expires_at=timezone.now() + timedelta(seconds=10))  # its next pause is longer
    dispatch.stop_offering()
    assert deliver(message_id).status == "sending"
    dispatch.start_offering()
    assert deliver(message_id).status == "success"


@pytest.mark.requirement(14)
def test_the_sweep_takes_the_freshest_first(api):
    old = send(api)
    clock.forward(60)
    fresh = send(api)
    assert [message.id for message in dispatch.claim_due(limit=1, idle_seconds=0)] == [fresh]
    assert [message.id for message in dispatch.claim_due(limit=1, idle_seconds=0)] == [old]


def test_a_late_wake_up_takes_the_freshest(api):
    older = send(api)
    clock.forward(1)
    newer = send(api, to="+4915112345679")
    deliver(older)
    assert dict(Message.objects.values_list("pk", "status")) == {older: "queued", newer: "success"}


def test_the_sweep_delivers_without_a_broker(api, outbox):
    send(api)
    assert sweep.sweep_once(limit=10)["delivered"] == 1
    assert len(outbox.messages) == 1


def test_a_sweep_by_hand_holds_no_lease_of_what_waits_for_its_turn(api, monkeypatch):
    """A lease that ends while others are sent is another worker's, and the message would be sent twice."""
    in_hand = []

    def send_and_look(adapter, message):
        in_hand.append(Message.objects.filter(claimed_at__isnull=False).count())
        return DELIVERED

    monkeypatch.setattr(collector.Adapter, "send", send_and_look)
    for number in range(3):
        send(api, to=f"+4915112345{number:03d}")
    assert sweep.sweep_once(limit=2)["delivered"] == 2
    assert in_hand == [1, 1]


def test_a_provider_gets_all_that_it_needs(api, outbox, project):
    project.set(name="Shop")
    message_id = send(api, code="0042")
    (message,) = outbox.messages
    assert (message.id, message.to, message.channel, message.code) == (message_id, PHONE, "sms", "0042")
    assert "0042" in message.text and "Shop" in message.text
    assert 590 <= message.expires_in <= 600


# --- each outcome ----------------------------------------------------------------------------------------------------


def test_delivered_is_a_success(api, outbox):
    outbox.answer("first", DELIVERED)
    message = deliver(send(api))
    assert (message.status, message.error, message.provider.name) == ("success", None, "first")
    assert message.finished_at is not None


def test_accepted_awaits_its_receipt(api, outbox):
    outbox.answer("first", ACCEPTED)
    message = deliver(send(api))
    assert (message.status, message.provider_message_id, message.finished_at) == ("sent", "p-1", None)
    assert asked() == [("first", "accepted")]


@pytest.mark.parametrize(
    "outcome",
    [
        Outcome.TEMPORARY,
        Outcome.RATE_LIMITED,
        Outcome.MISCONFIGURED,
        Outcome.OUT_OF_FUNDS,
        Outcome.NOT_APPLICABLE,
        Outcome.UNKNOWN,
    ],
)
def test_what_concerns_the_provider_goes_to_the_next_at_once(api, outbox, outcome):
    outbox.answer("first", Result(outcome, error="Not here."))
    message = deliver(send(api))
    assert asked() == [("first", outcome.value), ("second", "accepted")]
    assert (message.status, message.claims, message.provider.name) == ("success", 1, "second")


@pytest.mark.parametrize("outcome", [Outcome.REFUSED, Outcome.NO_ACCOUNT])
def test_what_concerns_the_recipient_ends_the_message(api, outbox, outcome):
    outbox.answer("first", Result(outcome, error="There is no such number."))
    message = deliver(send(api))
    assert asked() == [("first", outcome.value)]
    assert (message.status, message.error) == ("failed", "There is no such number.")


@pytest.mark.parametrize("outcome", [Outcome.MISCONFIGURED, Outcome.OUT_OF_FUNDS, Outcome.NOT_APPLICABLE])
def test_what_waiting_does_not_mend_fails_at_once(api, outbox, outcome):
    outbox.answer("first", Result(outcome, error="One."))
    outbox.answer("second", Result(outcome, error="Two."))
    message = deliver(send(api))
    assert (message.status, message.error) == ("failed", "Two.")


def test_a_refused_connection_is_tried_again(api, outbox, project):
    alone(project)
    outbox.answer("first", NotConnected("The connection was refused."))
    message_id = send(api)
    assert deliver(message_id).status == "sending"
    assert again(message_id).status == "success"


def test_an_error_carries_its_outcome(api, outbox):
    outbox.answer("first", ProviderError("No such number.", Outcome.REFUSED, provider_status="21211"))
    message = deliver(send(api))
    assert (message.status, message.error) == ("failed", "No such number.")
    assert DeliveryAttempt.objects.get().provider_status == "21211"


def test_without_a_provider_the_message_fails_and_says_so(api, project):
    message_id = send(api)
    project.row.providers.all().delete()
    caching.clear_all()
    message = deliver(message_id)
    assert message.status == "failed"
    assert "provider" in message.error


def test_every_attempt_is_on_record(api, outbox):
    outbox.answer("first", Result(Outcome.TEMPORARY, error="Busy.", provider_status="503"))
    outbox.answer("second", ACCEPTED)
    deliver(send(api))
    first, second = DeliveryAttempt.objects.order_by("id")
    assert (first.outcome, first.error, first.provider_status) == ("temporary", "Busy.", "503")
    assert (second.outcome, second.provider_message_id) == ("accepted", "p-1")
    assert second.latency_ms >= 0


@pytest.mark.parametrize("odd", ["a\0b", "a\ud800b", "x" * 1_000])
def test_what_the_database_cannot_hold_as_it_is_does_not_undo_the_record_of_an_acceptance(api, outbox, odd):
    """Unrecorded, the message would be sent again."""
    outbox.answer("first", Result(Outcome.TEMPORARY, error=odd, provider_status=odd))
    outbox.answer("second", Result.accepted(odd))
    message = deliver(send(api))
    assert (message.status, message.provider.name) == ("sent", "second")
    assert asked() == [("first", "temporary"), ("second", "accepted")]
    assert message.provider_message_id in odd.replace("\0", "\ufffd").replace("\ud800", "\ufffd")


@pytest.mark.django_db(transaction=True)
def test_a_provider_deleted_while_it_sends_does_not_undo_the_record_of_its_acceptance(
    api, outbox, project, monkeypatch
):
    def send_and_vanish(adapter, message):
        project.row.providers.filter(name="first").delete()
        return DELIVERED

    monkeypatch.setattr(collector.Adapter, "send", send_and_vanish)
    message = deliver(send(api))
    assert (message.status, message.provider_id) == ("success", None)
    assert asked() == [("first", "accepted")]


def while_the_first_is_asked(monkeypatch, happen):
    """Let something happen meanwhile, which every process knows of; then the first is busy."""

    def send_after(adapter, message):
        if adapter.settings["name"] == "first":
            happen(message)
            caching.clear_all()
            return TEMPORARY
        return collect(adapter, message)

    collect = collector.Adapter.send
    monkeypatch.setattr(collector.Adapter, "send", send_after)


def test_a_code_that_was_verified_meanwhile_goes_to_no_further_provider(api, monkeypatch):
    session_id = api.create().data["session_id"]
    while_the_first_is_asked(monkeypatch, lambda message: api.check(session_id, message.code))
    message = deliver(Message.objects.get().pk)
    assert (asked(), message.claimed_at) == ([("first", "temporary")], None)
    assert deliver(message.pk).status == "expired"


def test_a_message_whose_user_got_in_meanwhile_goes_to_no_further_provider(api, monkeypatch):
    while_the_first_is_asked(monkeypatch, lambda _: api.report_verified(to=PHONE))
    message = deliver(send(api))
    assert (asked(), message.claimed_at) == ([("first", "temporary")], None)
    assert deliver(message.pk).status == "expired"


def test_a_channel_that_was_stopped_meanwhile_is_not_sent_over_by_a_further_provider(api, monkeypatch):
    while_the_first_is_asked(monkeypatch, lambda _: kill_switch.stop("sms"))
    message = deliver(send(api))
    assert asked() == [("first", "temporary")]
    assert deliver(message.pk).status == "failed"


def test_a_project_that_was_switched_off_meanwhile_sends_no_more(api, project, monkeypatch):
    while_the_first_is_asked(monkeypatch, lambda _: project.set(is_enabled=False))
    message = deliver(send(api))
    assert asked() == [("first", "temporary")]
    assert deliver(message.pk).status == "expired"


def test_a_provider_that_was_switched_off_meanwhile_is_not_asked(api, project, monkeypatch):
    seconds = project.row.providers.filter(name="second")
    while_the_first_is_asked(monkeypatch, lambda _: seconds.update(is_enabled=False))
    assert deliver(send(api)).status == "sending"
    assert asked() == [("first", "temporary")]


def test_what_a_receipt_settled_meanwhile_goes_to_no_further_provider(api, project, monkeypatch):
    while_the_first_is_asked(
        monkeypatch, lambda _: Message.objects.update(status="sent", code_encrypted=None, claimed_at=None)
    )
    assert deliver(send(api)).status == "sent"
    assert asked() == [("first", "temporary")]


# --- trying again ----------------------------------------------------------------------------------------------------


def test_when_all_fail_for_now_it_is_tried_again_with_back_off(api, outbox):
    outbox.answer("first", *[TEMPORARY] * 5)
    outbox.answer("second", *[TEMPORARY] * 5)
    message = deliver(send(api))
    waits = [seconds_until(message.due_at)]
    for _ in range(3):
        message = again(message.pk)
        waits.append(seconds_until(message.due_at))
    assert message.status == "sending"
    assert 0 < waits[0] < waits[1] < waits[2] < waits[3] <= 15


def test_it_is_not_tried_before_it_is_due(api, outbox, project):
    alone(project)
    outbox.answer("first", Result(Outcome.RATE_LIMITED, retry_after=40))
    message_id = send(api)
    deliver(message_id)
    clock.forward(30)
    assert dispatch.deliver(message_id) is False
    clock.forward(10)
    assert dispatch.deliver(message_id) is True


def test_a_second_round_asks_in_the_same_order(api, outbox):
    outbox.answer("first", TEMPORARY)
    outbox.answer("second", TEMPORARY)
    message_id = send(api)
    deliver(message_id)
    assert again(message_id).provider.name == "first"


def test_a_wait_that_the_provider_asks_for_is_kept(api, outbox, project):
    alone(project)
    outbox.answer("first", Result(Outcome.RATE_LIMITED, error="Slow down.", retry_after=90))
    message = deliver(send(api))
    assert message.status == "sending"
    assert 85 < seconds_until(message.due_at) <= 90


def test_the_wait_of_one_provider_does_not_hold_up_another(api, outbox):
    outbox.answer("first", TEMPORARY)
    outbox.answer("second", Result(Outcome.RATE_LIMITED, error="Slow down.", retry_after=90))
    message = deliver(send(api))
    assert message.status == "sending"
    assert seconds_until(message.due_at) <= 15


def test_a_wait_longer_than_its_life_ends_the_message(api, outbox, project):
    alone(project)
    outbox.answer("first", Result(Outcome.RATE_LIMITED, error="Slow down.", retry_after=100_000))
    message = deliver(send(api))
    assert (message.status, message.error) == ("failed", "Slow down.")


def test_after_its_life_it_is_not_tried_again(api, outbox, project):
    alone(project)
    outbox.answer("first", TEMPORARY)
    message_id = send(api)
    deliver(message_id)
    assert again(message_id, seconds=600).status == "expired"
    assert asked() == [("first", "temporary")]


# --- unknown outcomes ------------------------------------------------------------------------------------------------


def test_whoever_may_have_sent_it_is_never_asked_again(api, outbox):
    outbox.answer("first", UNKNOWN)
    outbox.answer("second", TEMPORARY)
    message_id = send(api)
    assert deliver(message_id).status == "sending"
    assert again(message_id).provider.name == "second"
    assert asked() == [("first", "unknown"), ("second", "temporary"), ("second", "accepted")]


def test_not_even_where_the_database_crashed_and_forgot_the_claim(api, outbox):
    outbox.answer("first", UNKNOWN)
    outbox.answer("second", TEMPORARY)
    message_id = send(api)
    deliver(message_id)
    Message.objects.update(status="queued", claims=0, due_at=timezone.now())
    deliver(message_id)
    assert asked()[2:] == [("second", "accepted")]


def test_where_there_is_no_other_the_message_is_sent_but_unconfirmed(api, outbox, project):
    alone(project)
    outbox.answer("first", NoAnswer("The connection was lost."))
    message = deliver(send(api))
    assert (message.status, message.finished_at) == ("sent", None)
    assert dispatch.claim_due(limit=10, idle_seconds=0) == []


def test_an_unconfirmed_message_becomes_a_success_by_its_receipt(api, outbox, project):
    alone(project)
    outbox.answer("first", UNKNOWN)
    message = deliver(send(api))
    provider = project.row.providers.get(name="first")
    receipts.apply_receipts(provider, [receipt_for(message)])
    message.refresh_from_db()
    assert message.status == "success"


def test_one_that_may_have_arrived_awaits_its_receipt_once_its_user_got_in(api, outbox, project):
    outbox.answer("first", UNKNOWN)
    outbox.answer("second", TEMPORARY)
    message_id = send(api)
    assert deliver(message_id).status == "sending"
    api.report_verified(message_id=message_id)
    message = again(message_id)
    assert (message.status, len(asked())) == ("sent", 2)
    receipts.apply_receipts(project.row.providers.get(name="first"), [receipt_for(message)])
    message.refresh_from_db()
    assert message.status == "success"


def test_one_that_may_have_arrived_awaits_its_receipt_once_its_session_is_over(api, outbox):
    outbox.answer("first", UNKNOWN)
    outbox.answer("second", TEMPORARY)
    api.create()
    message = Message.objects.get()
    assert deliver(message.pk).status == "sending"
    clock.forward(181)
    assert again(message.pk).status == "sent"
    clock.forward(601)
    assert sweep.expire_messages() == 1
    message.refresh_from_db()
    assert "receipt" in message.error


def receipt_for(message):
    return Receipt(ReceiptStatus.SUCCESS, message_id=message.pk)


def test_an_unconfirmed_message_expires_without_one(api, outbox, project):
    alone(project)
    outbox.answer("first", UNKNOWN)
    message = deliver(send(api))
    clock.forward(601)
    assert sweep.expire_messages() == 1
    message.refresh_from_db()
    assert message.status == "expired"
    assert "receipt" in message.error


def test_a_message_that_nobody_is_left_for_waits_for_a_receipt(api, outbox):
    outbox.answer("first", UNKNOWN)
    outbox.answer("second", UNKNOWN)
    assert deliver(send(api)).status == "sent"


def test_a_fault_of_the_adapter_is_an_unclear_outcome_and_its_text_is_not_kept(api, outbox, caplog):
    outbox.answer("first", ValueError("p4ssw0rd"))
    message = deliver(send(api))
    assert asked() == [("first", "unclear"), ("second", "accepted")]
    kept = DeliveryAttempt.objects.order_by("id")[0].error + str(message.error) + caplog.text
    assert "ValueError" in kept and "p4ssw0rd" not in kept


# --- one provider pinned ---------------------------------------------------------------------------------------------


def pinned(api, project, name="first"):
    return send(api, provider_id=project.row.providers.get(name=name).pk)


def test_a_pinned_provider_is_asked_alone(api, outbox, project):
    outbox.answer("second", Result(Outcome.MISCONFIGURED, error="Wrong password."))
    message = deliver(pinned(api, project, "second"))
    assert (message.status, message.error) == ("failed", "Wrong password.")
    assert asked() == [("second", "misconfigured")]


def test_a_pinned_provider_is_tried_again(api, outbox, project):
    outbox.answer("first", TEMPORARY)
    message_id = pinned(api, project)
    assert deliver(message_id).status == "sending"
    assert again(message_id).status == "success"
    assert asked() == [("first", "temporary"), ("first", "accepted")]


def test_after_an_unknown_outcome_nobody_takes_a_pinned_providers_place(api, outbox, project):
    outbox.answer("first", UNKNOWN)
    assert deliver(pinned(api, project)).status == "sent"
    assert asked() == [("first", "unknown")]


def test_a_pinned_provider_that_was_switched_off_fails_the_message(api, project):
    message_id = pinned(api, project)
    project.row.providers.filter(name="first").update(is_enabled=False)
    caching.clear_all()
    assert deliver(message_id).status == "failed"
    assert asked() == []


# --- codes that are no longer valid ----------------------------------------------------------------------------------


def test_the_code_of_an_expired_session_is_never_sent(api, outbox):
    api.create()
    clock.forward(180)
    assert outbox.messages == []
    assert Message.objects.get().status == "expired"


def test_the_code_of_a_verified_session_is_never_sent(api, outbox):
    session_id = api.create().data["session_id"]
    code = outbox.code
    api.send(session_id, "voice")
    api.check(session_id, code)
    assert len(outbox.messages) == 1
    assert Message.objects.get(channel="voice").status == "expired"


def test_a_message_whose_user_got_in_is_not_tried_again(api, outbox):
    outbox.answer("first", TEMPORARY)
    outbox.answer("second", TEMPORARY)
    message_id = send(api)
    assert deliver(message_id).status == "sending"
    api.report_verified(message_id=message_id)
    message = again(message_id)
    assert message.status == "expired"
    assert "its user got in" in message.error
    assert asked() == [("first", "temporary"), ("second", "temporary")]


def test_the_code_of_a_locked_session_is_never_sent(api, outbox):
    session_id = api.create().data["session_id"]
    for _ in range(5):
        api.check(session_id, WRONG)
    assert outbox.messages == []
    assert Message.objects.get().status == "expired"


@pytest.mark.requirement(15)
def test_nothing_of_a_disabled_project_is_sent(api, outbox, project):
    send(api)
    project.set(is_enabled=False)
    assert outbox.messages == []
    assert Message.objects.get().status == "expired"


def test_the_sweep_expires_what_is_over_without_asking_anybody(api):
    send(api)
    api.create()
    clock.forward(601)
    assert sweep.expire_messages() == 2
    assert set(Message.objects.values_list("status", flat=True)) == {"expired"}
    assert asked() == []


def test_what_the_sweep_expires_is_ended_with_all_that_follows(api, project):
    project.channel("sms", daily_budget=50)
    message_id = send(api, callback_url="https://shop.example/hook")
    assert DailySpend.objects.get().messages == 1
    clock.forward(601)
    assert sweep.expire_messages() == 1
    message = Message.objects.get(pk=message_id)
    assert (message.status, message.error) == ("expired", "It could not be sent in time.")
    assert (message.is_counted, message.code_encrypted) == (False, None)
    assert WebhookEvent.objects.get(message=message).due_at is not None
    assert DailySpend.objects.filter(messages__gt=0).count() == 0
    assert sweep.expire_messages() == 0


def with_an_unknown_outcome(message_id):
    DeliveryAttempt.objects.create(message_id=message_id, provider_name="first", outcome="unknown", latency_ms=1)


@pytest.mark.parametrize("happened", [with_an_unknown_outcome, lambda message_id: die_with(message_id)])
def test_what_may_have_arrived_awaits_its_receipt_though_its_time_is_over(api, happened):
    message_id = send(api)
    happened(message_id)
    clock.forward(601)
    assert sweep.expire_messages() == 1
    message = Message.objects.get(pk=message_id)
    assert (message.status, message.is_counted, message.error) == ("sent", True, record.LOST_OUTCOME)
    clock.forward(601)
    assert sweep.expire_messages() == 1
    message.refresh_from_db()
    assert (message.status, message.error) == ("expired", "No delivery receipt came in time.")


def test_the_sweep_leaves_what_lives(api):
    send(api)
    clock.forward(590)
    assert sweep.expire_messages() == 0
    assert Message.objects.get().status == "queued"


# --- workers that die ------------------------------------------------------------------------------------------------


def die_with(message_id):
    """A worker takes the message and is never heard of again; its lease runs out."""
    claimed = dispatch.claim_due(limit=10, idle_seconds=0)
    assert [message.id for message in claimed] == [message_id]
    clock.forward(dispatch.LEASE_SECONDS)


def test_a_lease_lost_to_a_dead_worker_is_tried_once_more(api, outbox):
    message_id = send(api)
    die_with(message_id)
    assert deliver(message_id).status == "success"
    assert outbox.names == ["first"]


def deliver_with_a_fault(message_id, monkeypatch, module, function):
    """One claim in which this function fails; the message as it stands then."""
    with monkeypatch.context() as patch, pytest.raises(ZeroDivisionError):
        patch.setattr(module, function, lambda *_, **__: 1 / 0)
        dispatch.deliver(message_id)
    return Message.objects.get(pk=message_id)


def test_a_fault_of_ours_before_anybody_was_asked_costs_a_pause_and_no_lease(api, outbox, monkeypatch):
    message_id = send(api)
    message = deliver_with_a_fault(message_id, monkeypatch, round, "compose")
    assert (message.status, message.claimed_at, asked()) == ("sending", None, [])
    assert 0 < seconds_until(message.due_at) <= round.RETRY_SECONDS[0]
    message = again(message_id, seconds=2)
    assert (message.status, message.lost_leases) == ("success", 0)


def test_a_fault_of_ours_once_a_provider_was_asked_keeps_the_lease(api, outbox, monkeypatch):
    message = deliver_with_a_fault(send(api), monkeypatch, record, "attempt_of")
    assert message.claimed_at is not None
    assert seconds_until(message.due_at) > round.RETRY_SECONDS[-1]


def test_a_lease_is_not_taken_before_it_is_over(api):
    message_id = send(api)
    dispatch.claim_due(limit=10, idle_seconds=0)
    clock.forward(dispatch.LEASE_SECONDS - 1)
    assert dispatch.deliver(message_id) is False


def test_a_claim_that_a_receipt_has_ended_closes_nothing(api, project):
    first = project.row.providers.get(name="first")
    message_id = send(api)
    [claimed] = dispatch.claim_due(limit=1, idle_seconds=0)
    DeliveryAttempt.objects.create(
        message_id=message_id, provider=first, provider_name="first", outcome="unknown", latency_ms=1
    )
    receipts.apply_receipts(first, [Receipt(ReceiptStatus.SENT, message_id=message_id)])
    record.close(claimed, MessageStatus.FAILED, error="The second one refuses it.")
    assert Message.objects.get().status == "sent"


def test_the_second_lost_lease_leaves_the_message_sent_but_unconfirmed(api, outbox):
    message_id = send(api)
    die_with(message_id)
    die_with(message_id)
    message = deliver(message_id)
    assert (message.status, outbox.names) == ("sent", [])
    assert message.error


def test_a_message_that_workers_died_with_goes_on_counting(api, project):
    project.set(sends_per_10_minutes=1)
    message_id = send(api)
    die_with(message_id)
    clock.forward(600)
    assert deliver(message_id).status == "sent"
    clock.set_age(Message.objects.all(), 100)
    assert api.manual_send().status_code == 429


def test_of_a_message_that_a_worker_died_with_nobody_says_that_it_was_not_sent(api, outbox):
    """It may have arrived, and its user got in by it."""
    message_id = send(api)
    die_with(message_id)
    api.report_verified(message_id=message_id)
    message = deliver(message_id)
    assert (message.status, message.error, outbox.messages) == ("sent", record.LOST_OUTCOME, [])
    assert message.sent_at is not None


def test_a_retry_is_no_lost_lease(api, outbox, project):
    alone(project)
    outbox.answer("first", *[TEMPORARY] * 3)
    message_id = send(api)
    for _ in range(3):
        message = again(message_id)
    assert (message.claims, message.lost_leases) == (3, 0)


# --- statuses go forward only ----------------------------------------------------------------------------------------


def test_a_worker_that_comes_back_late_changes_nothing(api, outbox):
    message_id = send(api)
    (late,) = dispatch.claim_due(limit=10, idle_seconds=0)
    clock.forward(dispatch.LEASE_SECONDS)
    outbox.answer("first", DELIVERED, Result(Outcome.REFUSED, error="Late."))
    assert deliver(message_id).status == "success"
    dispatch.deliver_claimed(late)
    assert Message.objects.get().status == "success"


def test_a_late_giving_up_does_not_take_a_message_from_its_new_worker(api, outbox):
    send(api)
    (late,) = dispatch.claim_due(limit=10, idle_seconds=0)
    clock.forward(dispatch.LEASE_SECONDS)
    (current,) = dispatch.claim_due(limit=10, idle_seconds=0)
    outbox.answer("first", Result(Outcome.REFUSED, error="Late."), DELIVERED)
    dispatch.deliver_claimed(late)
    assert Message.objects.get().status == "sending"
    dispatch.deliver_claimed(current)
    assert Message.objects.get().status == "success"


def test_a_final_message_is_final(api, outbox, project):
    outbox.answer("first", Result(Outcome.REFUSED, error="No such number."))
    message = deliver(send(api))
    receipts.apply_receipts(project.row.providers.get(name="first"), [receipt_for(message)])
    clock.forward(1300)
    sweep.expire_messages()
    message.refresh_from_db()
    assert (message.status, message.error) == ("failed", "No such number.")


# --- codes are forgotten ---------------------------------------------------------------------------------------------


def test_a_code_that_cannot_be_read_fails_the_message(api, outbox):
    message_id = send(api)
    Message.objects.update(code_encrypted=b"\x01" + crypto.key_ids()[0] + bytes(36))
    assert deliver(message_id).status == "failed"
    assert outbox.messages == []


def test_a_code_under_a_key_that_only_others_have_is_left_to_them(api, outbox):
    message_id = send(api)
    Message.objects.update(code_encrypted=b"\x01" + bytes(40))
    message = deliver(message_id)
    assert (message.status, message.claimed_at, outbox.messages) == ("sending", None, [])


# --- what nobody took counts in nothing ------------------------------------------------------------------------------


def fail_everywhere(outbox):
    for name in ("first", "second"):
        outbox.answer(name, Result(Outcome.MISCONFIGURED, error="Wrong password."))


def block_of_sms(api, session_id):
    return next(channel["timeout"] for channel in api.channels(session_id).data if channel["type"] == "sms")


def test_a_failure_everywhere_frees_the_channel_at_once(api, outbox):
    fail_everywhere(outbox)
    session_id = api.create().data["session_id"]
    assert outbox.messages == []
    assert block_of_sms(api, session_id) == 0
    assert api.send(session_id).status_code == 200
    assert len(outbox.messages) == 1


def test_a_failure_everywhere_counts_in_no_limit_of_the_recipient(api, outbox, project):
    project.set(sends_per_10_minutes=1)
    fail_everywhere(outbox)
    assert deliver(send(api)).is_counted is False
    assert api.manual_send().status_code == 200


def test_a_failure_everywhere_counts_not_among_the_five_of_a_session(api, outbox):
    session_id = api.create().data["session_id"]
    assert len(outbox.messages) == 1
    clock.set_age(Message.objects.all(), 60)
    for _ in range(6):
        fail_everywhere(outbox)
        assert api.send(session_id).status_code == 200
        assert len(outbox.messages) == 1


def test_with_an_unknown_outcome_among_the_failures_the_block_stays(api, outbox):
    outbox.answer("first", UNKNOWN)
    outbox.answer("second", Result(Outcome.MISCONFIGURED, error="Wrong password."))
    session_id = api.create().data["session_id"]
    assert len(outbox.messages) == 1
    assert block_of_sms(api, session_id) > 0


def test_a_message_that_was_never_tried_counts_no_more_once_it_expired(api):
    session_id = api.create().data["session_id"]
    for _ in range(5):
        api.check(session_id, WRONG)
    dispatch.deliver(Message.objects.get().pk)
    assert Message.objects.get().is_counted is False
    assert api.create().data["sent_to"] == "sms"


def break_connection(*_):
    """End this thread's database connection, as a restart of the server does."""
    other = connection.copy()
    with other.cursor() as cursor:
        cursor.execute("SELECT pg_terminate_backend(%s, 5000)", [connection.connection.info.backend_pid])
    other.close()


@pytest.mark.django_db(transaction=True)
def test_the_next_provider_is_asked_at_once_though_the_connection_broke_meanwhile(api, monkeypatch, caplog):
    caplog.set_level("INFO", "verification")  # the line of the log reads the message's request
    while_the_first_is_asked(monkeypatch, break_connection)
    assert deliver(send(api)).status == "success"
    assert asked() == [("first", "temporary"), ("second", "accepted")]


@pytest.mark.django_db(transaction=True)
def test_an_answer_is_recorded_though_the_connection_broke_meanwhile(api, monkeypatch):
    monkeypatch.setattr(record, "RECORD_SECONDS", 2.0)
    message_id = send(api)
    [claimed] = dispatch.claim_due(limit=1, idle_seconds=0)
    break_connection()
    record.close(claimed, MessageStatus.SUCCESS)
    assert Message.objects.get(pk=message_id).status == MessageStatus.SUCCESS
