"""The estimate of what the choice of the best provider would have saved."""

from datetime import timedelta

import pytest
from django.db.models import F
from django.utils import timezone

from tests import factories
from verification.contrib.route_optimizer.backtest import run_backtest
from verification.contrib.route_optimizer.optimizer import Objective
from verification.core import caching
from verification.models import Channel, DailyFigures, Price, Provider

pytestmark = pytest.mark.django_db
QUICK, SLOW = 24, 30  # steps of the histogram: some 18 and 72 seconds


@pytest.fixture
def channel(db):
    return channel_of("shop")


def channel_of(name):
    made = factories.project(name=name, channels=())
    for each in ("dear", "cheap"):
        made.provider("sms", name=f"{name} {each}")
    Channel.objects.filter(project=made.row).update(explore_percent=0)
    return Channel.objects.get(project=made.row, type="sms")


def counted(channel, name, *, asked, verified, accepted=None, days_ago=2, country="DE", step=QUICK, **fields):
    times = [0] * 40
    times[step - 1] = verified
    DailyFigures.objects.create(
        project=channel.project, channel=channel.type, provider_id=Provider.objects.get(name=name).pk, country=country,
        day=timezone.now().date() - timedelta(days=days_ago), attempts=asked, sessions_verified=verified,
        attempts_accepted=asked if accepted is None else accepted, verify_times=times,
        **{"language": "en", "is_manual": False, **fields},
    )  # fmt: skip


def price(name, amount, **fields):
    provider = Provider.objects.get(name=name)
    Price.objects.create(provider=provider, amount=amount, currency="USD", per="message", **fields)
    Provider.objects.filter(pk=provider.pk).update(price_list=F("price_list") + 1)
    caching.clear_all()


@pytest.fixture
def traffic(channel):
    counted(channel, "shop dear", asked=800, verified=640, accepted=790)
    counted(channel, "shop cheap", asked=200, verified=160, step=SLOW)
    price("shop dear", "0.10")
    price("shop cheap", "0.04")


def test_the_cheaper_of_two_that_verify_alike_would_have_had_all_messages(channel, traffic):
    found = run_backtest(channel, Objective.MONEY)
    assert found.then == pytest.approx(790 * 0.10 + 200 * 0.04)
    assert found.with_best == pytest.approx(0.04 / 0.8 * 800)
    assert (found.verified, found.messages, found.left_out) == (800, 1000, 0)
    assert found.verified_with_best == pytest.approx(800)
    assert [(line.country, line.best, line.verified) for line in found.countries] == [("DE", "shop cheap", 800)]


def test_what_explores_costs_what_it_cost(channel, traffic):
    channel.explore_percent = 20
    found = run_backtest(channel, Objective.MONEY)
    assert found.with_best == pytest.approx(0.8 * 40 + 0.2 * 87)


def test_for_the_time_the_quicker_would_have_had_them(channel, traffic):
    found = run_backtest(channel, Objective.TIME)
    assert found.countries[0].best == "shop dear"
    assert 0 < found.saved < found.then


def test_a_country_with_one_provider_or_few_messages_is_left_out(channel, traffic):
    counted(channel, "shop dear", asked=50, verified=40, country="FR")
    counted(channel, "shop dear", asked=60, verified=40, country="PL")
    counted(channel, "shop cheap", asked=19, verified=19, country="PL")
    found = run_backtest(channel, Objective.MONEY)
    assert [line.country for line in found.countries] == ["DE"]
    assert found.left_out == 50 + 79


def test_without_a_price_of_all_nothing_is_said_of_money(channel, traffic):
    Price.objects.filter(provider__name="shop cheap").delete()
    caching.clear_all()
    Provider.objects.update(price_list=F("price_list") + 1)
    caching.clear_all()
    found = run_backtest(channel, Objective.MONEY)
    assert (found.countries, found.saved, found.left_out) == ([], 0, 1000)
    assert run_backtest(channel, Objective.TIME).countries


def test_today_what_is_older_manual_sends_and_other_projects_are_not_in_it(channel, traffic):
    other = channel_of("other")
    before = run_backtest(channel, Objective.MONEY)
    counted(channel, "shop dear", asked=100, verified=1, days_ago=0)
    counted(channel, "shop dear", asked=100, verified=1, days_ago=31)
    counted(channel, "shop dear", asked=100, verified=0, is_manual=True)
    counted(other, "other dear", asked=100, verified=1)
    assert run_backtest(channel, Objective.MONEY) == before
    assert run_backtest(other, Objective.MONEY).left_out == 100
