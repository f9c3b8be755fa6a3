"""The cost of a range: exchanged by the day, never 0 for what nobody knows, and beside other providers' prices."""

from datetime import date, timedelta
from decimal import Decimal

import pytest
from django.utils import timezone

from tests import factories
from verification.models import DailyCosts, ExchangeRate, HourlyCosts, HourlyFigures, Platform, Provider
from verification.services.analytics import costs, price_comparison, ranges
from verification.services.providers import price_lists

pytestmark = pytest.mark.django_db

HOUR, DAY = timedelta(hours=1), timedelta(days=1)
KEY = {"channel": "sms", "provider_id": 0, "country": "DE", "language": "en", "currency": "USD"}


def at_hour(project, ago=HOUR, **fields):
    hour = timezone.now().replace(minute=0, second=0, microsecond=0) - ago
    sends = fields.get("sends", 1)
    return HourlyCosts.objects.create(
        project=project.row, hour=hour, **{**KEY, "sends": sends, "segments": sends, **fields}
    )


def at_day(project, ago, **fields):
    return DailyCosts.objects.create(
        project=project.row, day=(timezone.now() - ago).date(), **{**KEY, "sends": 1, "segments": 1, **fields}
    )


def rate(currency, amount, since=date(2026, 1, 1), account="USD"):
    ExchangeRate.objects.create(currency=currency, account=account, rate=Decimal(amount), valid_from=since)


def last_day():
    return ranges.last_hours(timezone.now(), 24)


def test_the_sum_is_of_one_currency_and_says_how_many_have_no_price(project):
    at_hour(project, sends=3, amount="0.3")
    at_hour(project, currency="", sends=2)
    cost = costs.total([project.id], last_day())
    assert (cost.known, cost.sends, cost.unknown) == (Decimal("0.30"), 5, 2)
    assert cost.per(4) == Decimal("0.0750")


def test_where_nothing_has_a_price_the_cost_is_unknown_and_not_0(project):
    at_hour(project, currency="", sends=2)
    cost = costs.total([project.id], last_day())
    assert (cost.known, cost.per(1)) == (None, None)
    assert costs.as_dict(cost, 1)["cost"] is None


def test_without_messages_the_cost_is_0_and_that_of_a_verified_user_unknown(project):
    cost = costs.total([project.id], last_day())
    assert (cost.known, cost.per(0)) == (0, None)


def test_another_currency_needs_a_rate_and_is_told_without_one(project):
    at_hour(project, currency="EUR", sends=2, amount="10")
    at_hour(project, sends=1, amount="1")
    cost = costs.total([project.id], last_day())
    assert (cost.known, cost.unknown, dict(cost.without_rate)) == (Decimal("1.00"), 2, {"EUR": 2})
    rate("EUR", "1.08")
    cost = costs.total([project.id], last_day())
    assert (cost.known, cost.unknown) == (Decimal("11.80"), 0)


def test_the_rate_is_that_of_the_day(project):
    now = timezone.now()
    for ago in (10, 20, 29):
        at_day(project, ago * DAY, currency="EUR", amount="1")
    rate("EUR", "2", (now - 25 * DAY).date())
    rate("EUR", "4", (now - 15 * DAY).date())
    rate("EUR", "100", account="GBP")
    cost = costs.total([project.id], ranges.last_days(now, 30))
    assert (cost.known, cost.without_rate["EUR"]) == (6, 1)


def test_what_costs_nothing_needs_no_rate(project):
    at_hour(project, currency="XXX", sends=2, amount=0)
    cost = costs.total([project.id], last_day())
    assert (cost.known, cost.unknown) == (0, 0)


def test_another_currency_of_account_tells_the_same_rows_anew(project):
    at_hour(project, amount="2")
    Platform.objects.update_or_create(pk=1, defaults={"account_currency": "EUR"})
    assert costs.total([project.id], last_day()).known is None
    rate("USD", "0.5", account="EUR")
    cost = costs.total([project.id], last_day())
    assert (cost.known, cost.currency) == (1, "EUR")


def test_a_cost_by_country_and_of_one_alone(project):
    at_hour(project, amount="2")
    at_hour(project, country="FR", amount="3")
    by = costs.grouped([project.id], last_day(), ("country",))
    assert {key: cost.known for (key,), cost in by.items()} == {"DE": 2, "FR": 3}
    assert costs.total([project.id], last_day(), {"country": "FR"}).known == 3


def test_costs_of_another_project_are_in_no_sum(project):
    at_hour(factories.project(), amount="5")
    assert costs.total([project.id], last_day()).sends == 0
    assert price_comparison.offers([project.id], last_day()) == []


def listed(project, name, *lines):
    provider = project.provider("sms", name=name)
    text = "to,price,currency,per\n" + "\n".join(lines)
    price_lists.replace(provider, price_lists.read(text), number=0)
    return provider


def told(project):
    found = price_comparison.offers([project.id], last_day())
    return [(offer.provider, offer.would_cost, offer.did_cost, offer.compared, offer.left_out) for offer in found]


def test_the_same_messages_by_another_provider(project):
    at_hour(project, sends=10, segments=20, amount="2")
    at_hour(project, country="FR", sends=5, amount="1")
    listed(project, "by segment", "+49,0.05,USD,segment", "FR,0.1,USD,message")
    listed(project, "in euros", "default,0.1,EUR,message")
    listed(project, "elsewhere", "+1,0.1,USD,message")
    rate("EUR", "3")
    assert told(project) == [("by segment", Decimal("1.5"), 3, 15, 0), ("in euros", Decimal("4.5"), 3, 15, 0)]


def carried(project, provider, *, country="DE", accepted=100, sent=100, verified=80, ago=DAY):
    HourlyFigures.objects.create(
        project=project.row, hour=timezone.now() - ago, channel="sms", provider_id=provider.pk,
        country=country, language="en", is_manual=False, messages_accepted=accepted, sessions_sent=sent,
        sessions_verified=verified,
    )  # fmt: skip


def test_what_is_known_of_the_other_provider_there_is_told(project):
    at_hour(project, sends=10, amount="2")
    second = listed(project, "second", "default,0.1,USD,message")
    carried(project, second, accepted=120, sent=100, verified=60)
    carried(project, second, country="FR", verified=1)  # nothing goes there
    carried(factories.project(), second, verified=100)  # another project's
    [offer] = price_comparison.offers([project.id], last_day())
    assert (offer.conversion, offer.known) == (60, 10)
    assert round(offer.per_verified, 4) == Decimal("0.2")  # 0.1 a message, of which every second verifies a user


def test_what_a_provider_did_in_the_range_comes_before_the_days_before(project):
    at_hour(project, sends=10, amount="2")
    second = listed(project, "second", "default,0.1,USD,message")
    carried(project, second, verified=60)
    carried(project, second, accepted=19, sent=19, verified=19, ago=timedelta(hours=3))
    [offer] = price_comparison.offers([project.id], last_day())
    assert offer.conversion == round(100 * 79 / 119, 1)
    carried(project, second, verified=81, ago=timedelta(hours=2))
    [offer] = price_comparison.offers([project.id], last_day())
    assert offer.conversion == round(100 * 100 / 119, 1)


def test_a_provider_that_never_carried_these_messages_is_told_as_unknown(project):
    at_hour(project, sends=10, amount="2")
    second = listed(project, "second", "default,0.1,USD,message")
    carried(project, second, country="FR")
    [offer] = price_comparison.offers([project.id], last_day())
    assert (offer.conversion, offer.per_verified, offer.used) == (None, None, 0)
    carried(project, second, accepted=19, sent=19, verified=19)
    [offer] = price_comparison.offers([project.id], last_day())
    assert (offer.conversion, offer.used) == (None, 19)


def test_only_messages_with_both_prices_are_compared(project):
    at_hour(project, sends=10, amount="2")
    at_hour(project, country="FR", sends=5, amount="1")
    at_hour(project, country="IT", sends=7, currency="")
    listed(project, "second", "+49,0.1,USD,message", "IT,0.1,USD,message")
    assert told(project) == [("second", 1, 2, 10, 12)]


def test_a_provider_is_compared_for_the_numbers_that_it_serves(project):
    at_hour(project, sends=10, amount="2")
    at_hour(project, country="FR", sends=5, amount="1")
    provider = listed(project, "second", "default,0.1,USD,message")
    Provider.objects.filter(pk=provider.pk).update(except_prefixes=["+33"])
    assert told(project) == [("second", 1, 2, 10, 5)]


def test_another_projects_prices_are_not_offered(project):
    at_hour(project, sends=10, amount="2")
    listed(factories.project(), "theirs", "default,0.1,USD,message")
    assert told(project) == []


def test_many_projects_without_traffic_are_not_asked_about(project, django_assert_max_num_queries):
    at_hour(project, sends=10, amount="2")
    listed(project, "second", "default,0.1,USD,message")
    projects = [project.id, *(factories.project().id for _ in range(10))]
    with django_assert_max_num_queries(11):
        found = price_comparison.offers(projects, last_day())
    assert [(offer.provider, offer.compared) for offer in found] == [("second", 10)]


def test_a_provider_of_the_system_is_offered_for_the_traffic_of_all(project):
    second = factories.project()
    at_hour(project, sends=10, amount="2")
    at_hour(second, sends=5, amount="1")
    system = Provider.objects.create(channel="sms", type="http", name="System", hook_secret=b"x")
    price_lists.replace(system, price_lists.read("to,price,currency,per\ndefault,0.1,USD,message"), number=0)
    found = price_comparison.offers([project.id, second.id], last_day(), with_system=True)
    assert [(offer.provider, offer.compared) for offer in found] == [("System", 15)]
    assert price_comparison.offers([project.id, second.id], last_day()) == []  # its list is the operator's
