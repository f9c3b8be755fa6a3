"""Providers that send over a connection: who holds it, and how a message gets to them."""

import contextlib

import pytest
from django import db
from django.utils import timezone

from providers.base import Consent, HookReply, Outcome, Receipt, ReceiptStatus, Result
from tests import clock, factories
from tests.fakes.collector import CONNECTIONS, ConnectedAdapter
from verification.core import caching
from verification.models import CircuitBreaker, DeliveryAttempt, Message, Provider, Suppression
from verification.services.delivery import connections, dispatch
from verification.services.delivery.round import HAND_OVER_SECONDS
from verification.services.providers import accounts

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def nothing_held():
    yield
    connections.close_all()


@pytest.fixture
def project(db):
    """A connected provider first, and another after it."""
    made = factories.project(channels=("voice",))
    made.provider("sms", name="line", type="collector_connected", priority=10)
    made.provider("sms", name="second", priority=20)
    return made


@pytest.fixture
def line(project):
    return project.row.providers.get(name="line")


@pytest.fixture
def message_id(api, outbox):
    return api.manual_send().data["message_id"]


def deliver(message_id, **options):
    assert dispatch.deliver(message_id, **options)
    return Message.objects.get(pk=message_id)


def asked():
    return list(DeliveryAttempt.objects.order_by("id").values_list("provider_name", "outcome"))


def seconds_until(moment):
    return (moment - timezone.now()).total_seconds()


# --- handing over -----------------------------------------------------------------------------------------------------


def test_an_ordinary_worker_leaves_the_message_to_one_that_is_connected(message_id):
    message = deliver(message_id)
    assert (message.is_handed_over, message.claimed_at, asked()) == (True, None, [])
    assert 0 < seconds_until(message.due_at) <= HAND_OVER_SECONDS
    assert dispatch.deliver(message_id) is False  # nobody but who is connected takes it before


def test_who_is_connected_takes_it_at_once_and_sends_it(message_id, line):
    deliver(message_id)
    connections.keep_open()
    message = deliver(message_id, is_connected=True)
    assert (message.status, message.provider_id, message.is_handed_over) == ("success", line.pk, False)
    assert asked() == [("line", "accepted")]


def test_who_is_connected_sends_without_anybody_handing_over(message_id):
    connections.keep_open()
    assert deliver(message_id).status == "success"
    assert asked() == [("line", "accepted")]


def test_what_nobody_takes_in_time_goes_to_the_next_provider(message_id):
    deliver(message_id)
    clock.forward(HAND_OVER_SECONDS)
    message = deliver(message_id)
    assert (message.status, asked()) == ("success", [("second", "accepted")])


def test_a_connected_worker_that_lacks_this_one_does_not_hand_it_over_again(message_id):
    deliver(message_id)
    assert deliver(message_id, is_connected=True).status == "success"
    assert asked() == [("second", "accepted")]


def test_a_message_with_nobody_else_is_handed_over_again_and_again_until_it_is_over(message_id, project):
    project.row.providers.filter(name="second").update(is_enabled=False)
    caching.clear_all()
    handed_over = []
    for _ in range(4):
        message = deliver(message_id)
        handed_over.append(message.is_handed_over)
        clock.forward(20)
        caching.clear_all()
    assert handed_over == [True, False, True, False] and asked() == []
    clock.forward(600)
    assert deliver(message_id).status == "expired"


def test_a_connection_that_fails_is_one_provider_that_failed(message_id, outbox):
    connections.keep_open()
    outbox.answer("line", Result(Outcome.TEMPORARY, error="No bind."))
    assert deliver(message_id).status == "success"
    assert asked() == [("line", "temporary"), ("second", "accepted")]


def test_a_provider_set_aside_is_passed_over_not_handed_over(message_id, line):
    CircuitBreaker.objects.create(provider=line, open_until=timezone.now() + timezone.timedelta(minutes=1))
    assert deliver(message_id).status == "success"
    assert asked() == [("second", "accepted")]


def test_an_ordinary_worker_leaves_the_probe_to_who_is_connected(message_id, line):
    CircuitBreaker.objects.create(provider=line, open_until=timezone.now() - timezone.timedelta(seconds=1))
    assert deliver(message_id).is_handed_over
    connections.keep_open()
    deliver(message_id, is_connected=True)
    assert asked() == [("line", "accepted")]
    assert CircuitBreaker.objects.get().open_until is None


def test_a_worker_that_lost_its_lease_hands_nothing_over(message_id):
    [claimed] = dispatch.claim_due(limit=1, idle_seconds=0)
    Message.objects.filter(pk=message_id).update(due_at=timezone.now())
    [_] = dispatch.claim_due(limit=1, idle_seconds=0)
    dispatch.deliver_claimed(claimed)
    message = Message.objects.get(pk=message_id)
    assert message.claimed_at is not None and not message.is_handed_over


# --- holding connections ----------------------------------------------------------------------------------------------


def open_names():
    return [connection.adapter.settings["name"] for connection in CONNECTIONS if connection.is_open]


def test_connections_follow_the_configuration(project, line, outbox):
    connections.keep_open()
    connections.keep_open()
    assert open_names() == ["line"] and len(CONNECTIONS) == 1

    accounts.store_settings(line, {"name": "other line", "token": "t"})
    line.save()
    connections.keep_open()
    assert open_names() == ["other line"]

    Provider.objects.filter(pk=line.pk).update(is_enabled=False)
    connections.keep_open()
    assert open_names() == []

    Provider.objects.filter(pk=line.pk).update(is_enabled=True)
    connections.keep_open()
    project.set(is_enabled=False)
    connections.keep_open()
    assert open_names() == []


def test_what_else_changes_leaves_a_connection_alone(line, outbox):
    accounts.store_settings(line, {"name": "line", "token": "t"})
    line.save()
    connections.keep_open()
    accounts.store_settings(line, {"name": "line", "token": ""})  # a form saved as it was; encrypted anew
    line.priority = 7
    line.save()
    connections.keep_open()
    assert len(CONNECTIONS) == 1


def test_a_provider_that_cannot_be_read_leaves_the_others_alone(project, line, outbox):
    project.provider("sms", name="good", type="collector_connected")
    Provider.objects.filter(pk=line.pk).update(secrets=b"sealed with a key that is gone")
    connections.keep_open()
    assert open_names() == ["good"]


def test_an_adapter_that_cannot_connect_leaves_the_others_alone(project, line, outbox, monkeypatch):
    project.provider("sms", name="good", type="collector_connected")
    connect = ConnectedAdapter.connect

    def fail_for_line(adapter, report, *, name):
        if adapter.settings["name"] == "line":
            raise RuntimeError("p4ssw0rd")
        return connect(adapter, report, name=name)

    monkeypatch.setattr(ConnectedAdapter, "connect", fail_for_line)
    connections.keep_open()
    assert open_names() == ["good"]


def test_in_the_end_all_are_closed(project, line, outbox):
    project.provider("sms", name="another", type="collector_connected")
    connections.keep_open()
    connections.close_all()
    assert open_names() == [] and len(CONNECTIONS) == 2


# --- what comes in over them ------------------------------------------------------------------------------------------


@pytest.fixture
def sent(message_id, outbox):
    """A message that awaits its receipt, and the connection that it went over."""
    outbox.answer("line", Result.accepted("p-1"))
    connections.keep_open()
    assert deliver(message_id).status == "sent"
    return message_id, CONNECTIONS[0]


def receipt(status, provider_message_id="p-1"):
    return HookReply((Receipt(status, provider_message_id),))


@pytest.mark.django_db(transaction=True)  # each report closes a connection that is in a transaction
def test_a_receipt_moves_its_message_forward_only(sent):
    message_id, connection = sent
    for status in (ReceiptStatus.SUCCESS, ReceiptStatus.SUCCESS, ReceiptStatus.FAILED):
        connection.report(receipt(status))
        assert Message.objects.get(pk=message_id).status == "success"


@pytest.mark.requirement(71)
@pytest.mark.django_db(transaction=True)  # each report closes a connection that is in a transaction
def test_a_receipt_of_another_provider_or_for_nobody_changes_nothing(sent):
    message_id, connection = sent
    stranger = factories.project(channels=("voice",))
    stranger.provider("sms", name="stranger", type="collector_connected")
    connections.keep_open()
    CONNECTIONS[-1].report(receipt(ReceiptStatus.FAILED))
    connection.report(receipt(ReceiptStatus.FAILED, "p-2"))
    assert Message.objects.get(pk=message_id).status == "sent"


@pytest.mark.django_db(transaction=True)
def test_a_thread_of_a_connection_survives_the_end_of_its_database_connection(sent):
    _, line = sent
    with pytest.raises(db.OperationalError), db.connection.cursor() as cursor:
        cursor.execute("SELECT pg_terminate_backend(pg_backend_pid())")
    stop = HookReply((Consent("+4915112345678", is_given=False),))
    with contextlib.suppress(db.Error):  # the provider repeats what was not acted on
        line.report(stop)
    line.report(stop)
    assert Suppression.objects.filter(lifted_at=None).count() == 1
