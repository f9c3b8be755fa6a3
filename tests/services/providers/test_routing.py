"""The choice of the provider that gets a message, and of those that are set aside."""

from collections import Counter
from datetime import timedelta

import pytest
from django.utils import timezone

from providers.base import Outcome, Result
from tests import factories
from verification import sql
from verification.core import caching
from verification.models import CircuitBreaker, DeliveryAttempt, Message, Provider, SenderRule
from verification.services.delivery import dispatch
from verification.services.providers import accounts
from verification.services.providers.active import live_providers
from verification.services.providers.routing import providers_for

pytestmark = pytest.mark.django_db

PHONE, OTHER = "+4915112345678", "+4915112345679"
TEMPORARY = Result(Outcome.TEMPORARY, error="The gateway is away.")


@pytest.fixture
def project(db):
    made = factories.project(channels=())
    made.provider("sms", name="first", priority=10)
    made.provider("sms", name="second", priority=20)
    return made


def names(project, address=PHONE):
    return [provider.name for provider in order(project, address).providers]


def order(project, address=PHONE):
    return providers_for(
        project_id=project.id, channel="sms", address=address, country="DE", pinned_id=None, left_out=(), accounts={}
    )


def fail(project, outbox, times, *, start=0):
    outbox.answer("first", *[TEMPORARY] * times)
    for number in range(start, start + times):
        api_message(project, f"+49151123{number:05d}")
    return outbox.messages


def api_message(project, to=PHONE):
    from verification.core.addresses import parse_address
    from verification.services.manual import messages
    from verification.services.projects.snapshot import load_project

    return messages.send_message(
        project=load_project(project.id),
        address=parse_address(to),
        channel_type="sms",
        provider_id=None,
        code=None,
        callback_url="",
    ).message_id


def test_the_lowest_priority_comes_first_and_the_system_last(project):
    accounts.add_provider(project=None, channel="sms", provider_type="collector", name="system", values={}, priority=1)
    caching.clear_all()
    assert names(project) == ["first", "second", "system"]


def test_prefixes_choose_and_refuse(project):
    Provider.objects.filter(name="first").update(only_prefixes=["+43", "+41"])
    Provider.objects.filter(name="second").update(except_prefixes=["+4315"])
    caching.clear_all()
    assert names(project) == ["second"]
    assert names(project, "+43660123456") == ["first", "second"]
    assert names(project, "+4315012345") == ["first"]


@pytest.mark.parametrize(
    ("fields", "serves"),
    [
        ({}, {"ada@shop.example", "ada@eu.shop.example"}),
        ({"only_domains": ["shop.example"]}, {"ada@shop.example"}),
        ({"except_domains": ["shop.example"]}, {"ada@eu.shop.example"}),
        ({"only_prefixes": ["+49"]}, {"ada@shop.example", "ada@eu.shop.example"}),
    ],
)
def test_domains_choose_and_refuse(project, fields, serves):
    row = accounts.add_provider(project=project.row, channel="email", provider_type="collector", name="mail", values={})
    Provider.objects.filter(pk=row.pk).update(**fields)
    caching.clear_all()
    [live] = live_providers(project.id, "email")
    assert {each for each in ("ada@shop.example", "ada@eu.shop.example") if live.serves(each)} == serves


def test_weights_share_the_first_place_among_equals(project):
    Provider.objects.filter(name="first").update(priority=20, weight=9)
    caching.clear_all()
    first = Counter(names(project)[0] for _ in range(400))
    assert first["first"] > 300
    assert first["second"] > 5


def test_a_temporary_failure_goes_to_the_next_within_the_same_claim(project, outbox):
    outbox.answer("first", TEMPORARY)
    message_id = api_message(project)
    assert outbox.names == ["second"]
    assert Message.objects.get(pk=message_id).claims == 1


def test_the_longest_prefix_names_the_sender(project, outbox):
    first = Provider.objects.get(name="first")
    SenderRule.objects.create(provider=first, prefix="+49", sender="Shop")
    SenderRule.objects.create(provider=first, prefix="+49151", sender="ShopDE", dlt_entity_id="7")
    caching.clear_all()
    api_message(project)
    (message,) = outbox.messages
    assert (message.sender, message.dlt_entity_id, message.country) == ("ShopDE", "7", "DE")


def test_five_failures_in_a_row_set_a_provider_aside(project, outbox):
    fail(project, outbox, 5)
    breaker = CircuitBreaker.objects.get()
    assert breaker.provider.name == "first"
    assert breaker.open_until > timezone.now()
    assert breaker.reason == "The gateway is away."


def test_however_often_one_recipient_fails_the_provider_stays_with_the_others(project, outbox):
    outbox.answer("first", *[TEMPORARY] * 5)
    for _ in range(5):
        dispatch.deliver(api_message(project))
    assert not CircuitBreaker.objects.exists()


def test_a_success_between_starts_the_count_anew(project, outbox):
    outbox.answer("first", *[TEMPORARY] * 4, Result.accepted("1", is_delivered=True), *[TEMPORARY] * 4)
    for number in range(9):
        dispatch.deliver(api_message(project, f"+49151123{number:05d}"))
    assert not CircuitBreaker.objects.exists()


@pytest.mark.parametrize("outcome", [Outcome.DECLINED, Outcome.UNCLEAR, Outcome.POSTPONED])
def test_one_that_refuses_everybody_for_no_reason_that_we_know_is_found_by_the_share(project, outbox, outcome):
    outbox.answer("first", *[Result(outcome, error="Something new.")] * 30)
    for number in range(29):
        dispatch.deliver(api_message(project, f"+49151123{number:05d}"))
    assert not CircuitBreaker.objects.exists()
    dispatch.deliver(api_message(project))
    assert CircuitBreaker.objects.get().provider.name == "first"


def test_one_that_accepts_some_is_not_found_by_the_share(project, outbox):
    answers = [Result(Outcome.DECLINED, error="Something new.")] * 6 + [Result.accepted("1", is_delivered=True)]
    outbox.answer("first", *answers * 5)
    for number in range(45):
        dispatch.deliver(api_message(project, f"+49151123{number:05d}"))
    assert not CircuitBreaker.objects.exists()


def test_four_failures_do_not(project, outbox):
    fail(project, outbox, 4)
    assert not CircuitBreaker.objects.exists()


def test_what_concerns_the_recipient_is_no_failure(project, outbox):
    outbox.answer("first", *[Result(Outcome.REFUSED, error="No such number.")] * 6)
    for number in range(6):
        api_message(project, f"+4915112300{number:03d}")
    assert outbox.messages == []
    assert not CircuitBreaker.objects.exists()


def test_a_provider_that_is_set_aside_is_not_asked(project, outbox):
    fail(project, outbox, 5)
    caching.clear_all()
    outbox.answer("first", Result.accepted("would be asked", is_delivered=True))
    api_message(project)
    assert outbox.names[-1] == "second"


def test_after_its_time_one_message_is_the_probe_and_success_closes_the_breaker(project, outbox):
    fail(project, outbox, 5)
    CircuitBreaker.objects.update(open_until=timezone.now())
    caching.clear_all()
    api_message(project)
    assert outbox.names[-1] == "first"
    assert CircuitBreaker.objects.get().open_until is None


def test_once_the_probe_has_succeeded_the_next_message_goes_there_too(project, outbox):
    fail(project, outbox, 5)
    CircuitBreaker.objects.update(open_until=timezone.now())
    caching.clear_all()
    for number in range(2):
        api_message(project, f"+4915112300{number:03d}")
        assert outbox.names[-1] == "first"


@pytest.mark.parametrize("minutes", [-5, 5])
def test_how_long_a_provider_is_set_aside_is_the_databases_to_say_whatever_a_workers_clock(
    project, outbox, monkeypatch, minutes
):
    fail(project, outbox, 5)
    now = timezone.now
    monkeypatch.setattr(timezone, "now", lambda: now() + timedelta(minutes=minutes))
    for seconds, name in ((10, "second"), (0, "first")):
        CircuitBreaker.objects.update(open_until=now() + timedelta(seconds=seconds))
        caching.clear_all()
        api_message(project, f"+4915112300{seconds:03d}")
        assert outbox.names[-1] == name


def test_a_probe_that_fails_opens_for_longer(project, outbox):
    fail(project, outbox, 5)
    CircuitBreaker.objects.update(open_until=timezone.now())
    caching.clear_all()
    fail(project, outbox, 1, start=100)
    breaker = CircuitBreaker.objects.get()
    assert breaker.openings == 2
    assert 20 < (breaker.open_until - timezone.now()).total_seconds() <= 30


def probe(project, outbox, *results, to):
    """Let the time aside end, and send so many messages to one recipient, which the first provider answers so."""
    CircuitBreaker.objects.update(open_until=timezone.now())
    outbox.answer("first", *results)
    for _ in results:
        caching.clear_all()
        dispatch.deliver(api_message(project, to))
    caching.clear_all()


def test_a_probe_of_a_recipient_that_failed_before_leaves_the_next_to_another_at_once(project, outbox):
    fail(project, outbox, 5)
    DeliveryAttempt.objects.update(created_at=timezone.now() - timedelta(seconds=30))
    probe(project, outbox, TEMPORARY, to="+4915112300000")
    breaker = CircuitBreaker.objects.get()
    assert breaker.openings == 1 and breaker.open_until <= timezone.now()
    outbox.answer("first", Result.accepted("1", is_delivered=True))
    api_message(project, "+4915112300000")  # it has just been the probe
    assert outbox.names[-1] == "second"
    caching.clear_all()
    api_message(project, OTHER)
    assert outbox.names[-1] == "first" and CircuitBreaker.objects.get().open_until is None


@pytest.mark.parametrize("outcome", [Outcome.DECLINED, Outcome.POSTPONED, Outcome.RECIPIENT_LIMITED])
def test_a_probe_whose_answer_is_nobodys_fault_is_given_back(project, outbox, outcome):
    fail(project, outbox, 5)
    probe(project, outbox, Result(outcome, error="No."), to=PHONE)
    breaker = CircuitBreaker.objects.get()
    assert breaker.openings == 1 and breaker.open_until <= timezone.now()


def test_a_probe_that_refuses_its_recipient_closes_the_breaker(project, outbox):
    fail(project, outbox, 5)
    probe(project, outbox, Result(Outcome.REFUSED, error="No such number."), to=PHONE)
    assert CircuitBreaker.objects.get().open_until is None


def test_what_was_before_the_breaker_closed_does_not_open_it_again(project, outbox):
    fail(project, outbox, 5)
    sql.call("note_provider_success", provider=CircuitBreaker.objects.get().provider_id)
    caching.clear_all()
    fail(project, outbox, 4, start=100)
    assert CircuitBreaker.objects.get().open_until is None


def test_a_provider_that_failed_for_a_year_is_set_aside_as_before(project, outbox):
    fail(project, outbox, 5)
    CircuitBreaker.objects.update(open_until=timezone.now(), openings=32_767)
    caching.clear_all()
    fail(project, outbox, 1, start=100)
    assert 290 < (CircuitBreaker.objects.get().open_until - timezone.now()).total_seconds() <= 300


def test_only_one_of_two_gets_the_probe(project, outbox):
    fail(project, outbox, 5)
    CircuitBreaker.objects.update(open_until=timezone.now())
    provider = Provider.objects.get(name="first")
    taken = [sql.value("take_probe", provider=provider.pk, recipient=number) for number in (-1, -2)]
    assert taken == [True, False]


def test_a_wait_that_the_provider_asks_for_of_two_recipients_sets_it_aside_for_so_long(project, outbox):
    outbox.answer("first", *[Result(Outcome.RATE_LIMITED, error="Slow down.", retry_after=120)] * 3)
    for to in (PHONE, PHONE):
        dispatch.deliver(api_message(project, to))
    assert not CircuitBreaker.objects.exists()
    api_message(project, OTHER)
    assert outbox.names == ["second"] * 3
    seconds = (CircuitBreaker.objects.get().open_until - timezone.now()).total_seconds()
    assert 110 < seconds <= 120


def test_with_everybody_set_aside_the_message_waits_and_is_not_lost(project, outbox):
    Provider.objects.filter(name="second").update(is_enabled=False)
    fail(project, outbox, 5)
    caching.clear_all()
    message_id = api_message(project)
    dispatch.deliver(message_id)
    message = Message.objects.get(pk=message_id)
    assert (message.status, message.claimed_at) == ("sending", None)
    assert message.due_at > timezone.now()


def test_a_pinned_provider_is_asked_whatever_its_prefixes(project):
    first = Provider.objects.get(name="first")
    Provider.objects.update(only_prefixes=["+43"])
    caching.clear_all()
    found = providers_for(
        project_id=project.id, channel="sms", address=PHONE, country="DE", pinned_id=first.pk, left_out=(), accounts={}
    )
    assert [provider.name for provider in found.providers] == ["first"]
    assert found.choice == "pinned"


def test_no_account_is_remembered_for_a_day(outbox):
    made = factories.project(channels=("sms", "messenger_b"))
    from django.test import Client

    from tests.api.calls import Api

    api = Api(Client(), made.api_key, made.secret_key)
    outbox.answer("messenger_b first", Result(Outcome.NO_ACCOUNT, error="Not on this messenger."))
    session = api.create(PHONE, type="messenger_b").data
    assert outbox.messages == []
    channels = {channel["type"]: channel["is_active"] for channel in api.channels(session["session_id"]).data}
    assert channels == {"sms": True, "messenger_b": False}


def choices():
    return list(DeliveryAttempt.objects.order_by("id").values_list("provider_name", "choice"))


def test_an_attempt_keeps_why_its_provider_was_asked(project, outbox):
    outbox.answer("first", TEMPORARY)
    dispatch.deliver(api_message(project))
    assert choices() == [("first", "order"), ("second", "next")]


def test_one_that_stands_for_another_set_aside_says_so_and_so_does_a_probe(project, outbox):
    fail(project, outbox, 5)
    caching.clear_all()
    DeliveryAttempt.objects.all().delete()
    dispatch.deliver(api_message(project))
    CircuitBreaker.objects.update(open_until=timezone.now() - timedelta(seconds=1))
    caching.clear_all()
    dispatch.deliver(api_message(project, "+4915112345679"))
    assert choices() == [("second", "instead"), ("first", "probe")]


def test_equals_are_asked_by_their_share_and_one_alone_as_the_only_one(project):
    Provider.objects.update(priority=20)
    caching.clear_all()
    assert order(project).choice == "share"
    Provider.objects.filter(name="second").delete()
    caching.clear_all()
    assert order(project).choice == "only"
