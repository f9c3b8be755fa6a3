"""The price of a message: by the longest prefix, at the time, and never 0 where nobody knows it."""

from datetime import date
from decimal import Decimal

import pytest
from django.db.models import F
from django.utils import timezone

from providers.base import MessagePrice as Told
from providers.base import Outcome, Receipt, ReceiptStatus, Result
from tests import clock, factories
from tests.fakes import collector
from verification.core import caching
from verification.models import DeliveryAttempt, Price, Provider
from verification.services.delivery import dispatch, receipts
from verification.services.providers import prices

pytestmark = pytest.mark.django_db

GERMANY, BERLIN = "+4915112345678", "+493012345678"
TEXT_OF_TWO = "{code} " + "x" * 160
ALWAYS = date(1970, 1, 1)


@pytest.fixture
def project(db):
    made = factories.project(channels=("voice",))
    made.provider("sms", name="first", priority=10)
    return made


@pytest.fixture
def gateway(project):
    return project.row.providers.get(name="first")


def prefer(provider, *lines):
    """Give the provider a price list: places, each with an amount in EUR, and whatever else is told of it."""
    provider.prices.all().delete()
    for place, amount, *others in lines:
        fields = {"currency": "EUR", "per": "message", **(others[0] if others else {})}
        Price.objects.create(provider=provider, place=place, amount=Decimal(amount), **fields)
    Provider.objects.filter(pk=provider.pk).update(price_list=F("price_list") + 1)
    caching.clear_all()


def price_of(api, to=GERMANY, **body):
    message = api.manual_send(to=to, **body).data["message_id"]
    dispatch.deliver(message)
    return DeliveryAttempt.objects.get(message=message, outcome__in=("accepted", "unknown"))


def told(attempt):
    return attempt.segments, attempt.price, attempt.currency


def test_the_longest_prefix_comes_before_the_country_and_that_before_the_rest(gateway):
    prefer(gateway, ("", "0.5"), ("DE", "0.4"), ("+4915", "0.3"), ("+491511", "0.2"))
    book = prices.book(gateway.prices.all())
    found = {
        place: book.find(number, country, date.today()).amount
        for place, number, country in (
            ("longest", GERMANY, "DE"), ("shorter", "+491521234567", "DE"), ("country", BERLIN, "DE"),
            ("rest", "+33612345678", "FR"), ("mailbox", "a@example.com", ""),
        )
    }  # fmt: skip
    assert found == {
        "longest": Decimal("0.2"), "shorter": Decimal("0.3"), "country": Decimal("0.4"), "rest": Decimal("0.5"),
        "mailbox": Decimal("0.5"),
    }  # fmt: skip


def test_a_price_holds_from_its_day_on_and_until_then_the_one_before(gateway):
    later = {"valid_from": date(2030, 1, 1)}
    prefer(gateway, ("", "0.5"), ("DE", "0.4"), ("DE", "0.6", later), ("+4915", "0.1", later))
    book = prices.book(gateway.prices.all())
    assert [book.find(GERMANY, "DE", day).amount for day in (date(2029, 12, 31), date(2030, 1, 1))] == [
        Decimal("0.4"),
        Decimal("0.1"),
    ]


def test_an_attempt_keeps_its_segments_and_its_price_whatever_the_list_says_later(api, project, gateway):
    prefer(gateway, ("DE", "0.07", {"per": "segment"}))
    attempt = price_of(api)
    prefer(gateway, ("DE", "0.09", {"per": "segment"}))
    attempt.refresh_from_db()
    assert told(attempt) == (1, Decimal("0.07"), "EUR")
    assert told(price_of(api, to="+4915112345679")) == (1, Decimal("0.09"), "EUR")


def test_a_price_by_segment_is_taken_as_often_as_there_are_segments(api, project, gateway):
    project.row.templates.create(channel="sms", language="en", text=TEXT_OF_TWO)
    caching.clear_all()
    prefer(gateway, ("DE", "0.07", {"per": "segment"}), ("FR", "0.07"))
    assert told(price_of(api)) == (2, Decimal("0.14"), "EUR")
    assert told(price_of(api, to="+33612345678")) == (2, Decimal("0.07"), "EUR")


def test_a_price_that_nobody_knows_is_null(api, project, gateway):
    prefer(gateway, ("FR", "0.07"))
    assert told(price_of(api)) == (1, None, None)


def test_what_the_vendor_tells_comes_before_the_list(api, project, gateway):
    prefer(gateway, ("", "0.07"))
    collector.ANSWERS["first"] = [Result(Outcome.ACCEPTED, "p-1", price=Told(Decimal("0.0333"), "USD"))]
    assert told(price_of(api)) == (1, Decimal("0.0333"), "USD")


def test_an_absurd_price_does_not_keep_an_answer_from_being_recorded(api, project, gateway):
    collector.ANSWERS["first"] = [Result(Outcome.ACCEPTED, "p-1", price=Told(Decimal("1e30"), "USD"))]
    assert told(price_of(api)) == (1, None, None)


def test_what_was_surely_not_sent_has_no_price_and_what_may_have_been_sent_has_one(api, project, gateway):
    prefer(gateway, ("", "0.07"))
    collector.ANSWERS["first"] = [Result(Outcome.TEMPORARY, error="Busy.")]
    message = api.manual_send(to=GERMANY).data["message_id"]
    dispatch.deliver(message)
    assert told(DeliveryAttempt.objects.get()) == (None, None, None)
    collector.ANSWERS["first"] = [Result(Outcome.UNKNOWN, error="No answer.")]
    clock.forward(30)
    caching.clear_all()
    dispatch.deliver(message)
    assert told(DeliveryAttempt.objects.latest("id")) == (1, Decimal("0.07"), "EUR")


def report(attempt, status, **fields):
    receipts.apply_receipts(attempt.provider, [Receipt(status, attempt.provider_message_id, **fields)])
    attempt.refresh_from_db()
    return told(attempt)[1:]


@pytest.mark.parametrize(
    ("failed_costs", "listed", "paid"),
    [
        ("price", "0.07", (Decimal("0.07"), "EUR")),
        ("nothing", "0.07", (0, "EUR")),
        ("nothing", None, (0, "XXX")),
        ("price", None, (None, None)),
    ],
)
def test_a_message_that_failed_at_the_vendor_costs_what_the_vendor_charges(
    api, project, gateway, failed_costs, listed, paid
):
    prefer(gateway, *([("", listed)] if listed else []))
    Provider.objects.update(failed_costs=failed_costs)
    collector.ANSWERS["first"] = [Result.accepted("p-1")]
    assert report(price_of(api), ReceiptStatus.FAILED) == paid


def test_a_failure_that_is_told_of_an_arrived_message_takes_nothing_off(api, project, gateway):
    prefer(gateway, ("", "0.07"))
    Provider.objects.update(failed_costs="nothing")
    collector.ANSWERS["first"] = [Result.accepted("p-1")]
    attempt = price_of(api)
    report(attempt, ReceiptStatus.SUCCESS)
    assert report(attempt, ReceiptStatus.FAILED) == (Decimal("0.07"), "EUR")


def test_a_price_that_only_the_receipt_tells_replaces_the_expected_one(api, project, gateway):
    prefer(gateway, ("", "0.07"))
    collector.ANSWERS["first"] = [Result.accepted("p-1")]
    attempt = price_of(api)
    assert report(attempt, ReceiptStatus.SUCCESS, price=Told(Decimal("0.05"), "GBP")) == (Decimal("0.05"), "GBP")


def test_no_message_reads_the_price_list_anew(api, project, gateway, django_assert_num_queries):
    prefer(gateway, ("", "0.07"))
    price_of(api)
    caching.clear_all()
    number = Provider.objects.get(pk=gateway.pk).price_list
    prices.book_of(gateway.pk, number)
    with django_assert_num_queries(0):
        assert prices.book_of(gateway.pk, number).find(GERMANY, "DE", timezone.now().date())
