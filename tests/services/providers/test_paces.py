"""The time that a provider is waited for, and which is asked later for having let us wait."""

import pytest

from providers.base import Adapter
from providers.registry import adapter_class, all_types
from tests import clock, factories
from verification.core import caching
from verification.models import DeliveryAttempt, Provider
from verification.services.delivery import dispatch
from verification.services.delivery.round import ROUND_SECONDS
from verification.services.providers import latency
from verification.services.providers.latency import CALL_SECONDS, KNOWN_ANSWERS, LatencyProfile
from verification.services.providers.routing import providers_for

pytestmark = pytest.mark.django_db

CLOCKED = '''
import math
from providers import base
from providers.http.deadline import Deadline
from providers.errors import ProviderError

class Adapter(base.Adapter):
    """Says how many whole seconds it was given."""
    type = "clocked"
    label = "Clocked"
    channels = ("sms",)

    def send(self, message):
        raise ProviderError(f"given {math.ceil(Deadline(60).left())}")
'''


def seconds(*, is_last=False, adapter="http", **pace):
    return LatencyProfile(**pace).seconds(adapter_class(adapter), is_last=is_last)


@pytest.mark.parametrize(
    ("p99", "given"), [(0.05, 1.5), (0.375, 1.5), (0.5, 2.0), (1.0, 4.0), (1.25, 5.0), (30.0, 5.0)]
)
def test_a_provider_is_waited_for_four_times_as_long_as_it_usually_needs(p99, given):
    assert seconds(answers=KNOWN_ANSWERS, p99_seconds=p99) == pytest.approx(given)


def test_one_whose_pace_is_not_known_is_waited_for_in_between():
    assert seconds(answers=KNOWN_ANSWERS - 1, p99_seconds=0.1) == pytest.approx(3)
    assert seconds(adapter="smtp") == pytest.approx(4.8)


def test_the_last_one_to_be_asked_may_take_all_the_time_there_is():
    assert seconds(answers=KNOWN_ANSWERS, p99_seconds=0.1, is_last=True) == 5
    assert seconds(adapter="smtp", is_last=True) == 8


@pytest.mark.requirement(69)
def test_no_claim_outlives_its_lease_whatever_is_asked_last(drop):
    """A worker that dies leaves its messages for at most 25 seconds: the lease, and two rounds of the sweep."""
    assert {adapter_class(name).longest_seconds for name in all_types()} <= {5.0, CALL_SECONDS}
    assert ROUND_SECONDS + CALL_SECONDS < dispatch.LEASE_SECONDS <= 22
    endless = type("Endless", (Adapter,), {"longest_seconds": 60.0})
    assert LatencyProfile().seconds(endless, is_last=True) == CALL_SECONDS


@pytest.fixture
def project(db):
    made = factories.project(channels=())
    made.provider("sms", name="first", priority=10)
    made.provider("sms", name="second", priority=20)
    return made


def called(name, count=1, *, outcome="accepted", latency_ms=100):
    provider = Provider.objects.get(name=name)
    attempt = {"provider": provider, "provider_name": name, "outcome": outcome, "latency_ms": latency_ms}
    message_id = DeliveryAttempt.objects.values_list("message", flat=True).first()
    DeliveryAttempt.objects.bulk_create(DeliveryAttempt(message_id=message_id, **attempt) for _ in range(count))
    caching.clear_all()
    return provider.pk


@pytest.fixture
def message(api, project, outbox):
    """One that every call in question may belong to; its own is not looked at."""
    api.manual_send()
    assert outbox.messages
    DeliveryAttempt.objects.update(outcome="not_applicable")


def test_the_pace_is_that_of_99_in_100_answers_of_the_last_hour(message):
    called("first", 200, latency_ms=9_000)
    called("first", 98, latency_ms=100)
    called("first", latency_ms=700)
    provider = called("first", latency_ms=4_000)
    assert latency.latencies_of([provider]) == {provider: LatencyProfile(100, 0.7, False)}
    clock.forward(clock.HOUR)
    assert latency.latencies_of([provider]) == {}


def test_what_was_waited_for_in_vain_counts_and_failures_do_not(message):
    called("first", 50, outcome="temporary", latency_ms=1)
    provider = called("first", 2, outcome="unknown", latency_ms=1_500)
    assert latency.latencies_of([provider])[provider].p99_seconds == pytest.approx(1.5)
    assert latency.latencies_of([provider])[provider].answers == 2


def order(project):
    about = {"address": "+4915112345678", "country": "DE", "pinned_id": None, "left_out": (), "accounts": {}}
    return [provider.name for provider in providers_for(project_id=project.id, channel="sms", **about).providers]


@pytest.mark.parametrize("outcome", ["unknown", "temporary"])
def test_one_that_was_late_is_asked_after_all_others_for_half_a_minute(project, message, outcome):
    called("first", outcome=outcome, latency_ms=1_000)
    assert order(project) == ["second", "first"]
    clock.forward(31)
    caching.clear_all()
    assert order(project) == ["first", "second"]


@pytest.mark.parametrize(("outcome", "latency_ms"), [("accepted", 4_000), ("unknown", 900), ("misconfigured", 3_000)])
def test_a_slow_acceptance_or_a_quick_failure_changes_no_order(project, message, outcome, latency_ms):
    called("first", outcome=outcome, latency_ms=latency_ms)
    assert order(project) == ["first", "second"]


def test_each_provider_is_given_its_own_time_and_the_last_one_all(project, api, drop, outbox):
    drop("clocked", CLOCKED)
    Provider.objects.update(type="clocked")
    caching.clear_all()
    api.manual_send()
    assert outbox.messages == []
    assert list(DeliveryAttempt.objects.values_list("provider_name", "error")) == [
        ("first", "given 3"),
        ("second", "given 5"),
    ]
