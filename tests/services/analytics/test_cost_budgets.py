"""Budgets in money: summed by the workers, carried by the configuration, opened again by a raise or the next day."""

from datetime import timedelta
from decimal import Decimal

import pytest
from django.utils import timezone

from tests import factories
from verification.core import caching
from verification.models import Alert, Channel, DailyChannelCost, Decision, ExchangeRate, HourlyCosts
from verification.services.analytics import cost_budgets
from verification.services.notifications import alerts

pytestmark = pytest.mark.django_db

PHONE = "+4915112345678"


def spend(project, amount, *, currency="USD", at=None, channel="sms"):
    """Have today's messages cost as much more, and let the workers sum it."""
    hour = (at or timezone.now()).replace(minute=0, second=0, microsecond=0)
    key = {"project": project.row, "hour": hour, "channel": channel, "country": "DE", "language": "en"}
    row, _ = HourlyCosts.objects.get_or_create(**key, provider_id=0, currency=currency)
    row.amount, row.sends = row.amount + Decimal(amount), row.sends + 1
    row.save()
    alerts = cost_budgets.watch()
    caching.clear_all()
    return alerts


@pytest.mark.requirement(54)
def test_a_spent_budget_closes_the_channel_and_says_why(api, project):
    project.channel("sms", daily_cost_budget=5)
    spend(project, "4.99")
    assert api.manual_send(PHONE).status_code == 200
    spend(project, "0.01")
    refused = api.manual_send(PHONE)
    assert (refused.status_code, refused.json()["code"]) == (429, "rate_limited")
    assert int(refused["Retry-After"]) <= 86_400
    decision = Decision.objects.get()
    assert (decision.rule, decision.subject, decision.figures) == ("daily_budget", "sms", {"budget_in_money": 5})


def test_a_raised_budget_opens_the_channel_at_once(api, project):
    project.channel("sms", daily_cost_budget=5)
    spend(project, "7")
    assert api.manual_send(PHONE).status_code == 429
    project.channel("sms", daily_cost_budget=8)
    assert api.manual_send(PHONE).status_code == 200


@pytest.mark.parametrize("budget", [None, 0])
def test_without_a_budget_no_cost_closes_a_channel(api, project, budget):
    project.channel("sms", daily_cost_budget=budget)
    spend(project, "9000")
    assert api.manual_send(PHONE).status_code == 200
    assert not DailyChannelCost.objects.exists()


def test_the_next_day_opens_the_channel(api, project):
    project.channel("sms", daily_cost_budget=5)
    spend(project, "7")
    DailyChannelCost.objects.update(day=timezone.now().date() - timedelta(days=1))
    caching.clear_all()
    assert api.manual_send(PHONE).status_code == 200


def test_only_this_days_and_this_channels_costs_count_in_the_currency_of_account(project):
    project.channel("sms", daily_cost_budget=5)
    day = timezone.now().date()
    ExchangeRate.objects.create(currency="EUR", account="USD", rate="1.5", valid_from=day)
    spend(project, "2", currency="EUR")
    spend(project, "100", channel="email")
    spend(project, "100", at=timezone.now() - timedelta(days=1))
    row = DailyChannelCost.objects.get()
    assert (row.channel, row.day, row.amount, row.currency) == ("sms", day, 3, "USD")
    assert not Alert.objects.exclude(title__contains=": 50 %").exists()


def test_the_owner_is_alerted_once_at_each_part_of_a_budget_in_money(project):
    project.channel("sms", daily_cost_budget=10)
    assert [spend(project, amount) for amount in ("4.9", "0.1", "0", "3", "2", "1")] == [0, 1, 0, 1, 1, 0]
    titles = list(Alert.objects.order_by("pk").values_list("title", flat=True))
    assert titles[2] == "SMS: 100 % of today's cost limit used"
    assert "10.00 of 10 USD today (UTC)" in Alert.objects.order_by("pk").last().detail


def test_a_channel_that_fails_keeps_no_other_from_its_sum_and_alert(project, monkeypatch):
    broken, raise_alert = factories.project(channels=("sms",)), alerts.raise_alert
    for each in (broken, project):
        each.channel("sms", daily_cost_budget=10)

    def raise_or_fail(**fields):
        if fields["project_id"] == broken.id:
            raise RuntimeError
        raise_alert(**fields)

    monkeypatch.setattr(alerts, "raise_alert", raise_or_fail)
    spend(broken, 10)
    assert spend(project, 10) == 3
    assert DailyChannelCost.objects.filter(project=project.id, amount=10).exists()


def test_a_budget_in_money_and_one_in_messages_hold_both(api, project):
    project.channel("sms", daily_cost_budget=5, daily_budget=1)
    assert [api.manual_send(number).status_code for number in (PHONE, "+4915112345679")] == [200, 429]
    assert Decision.objects.get().figures == {"budget": 1}
    assert Channel.objects.get(type="sms").effective_budget == 1


def month_start():
    return timezone.now().replace(day=1, hour=0, minute=0, second=0, microsecond=0)


def seconds_of_month_left():
    return ((month_start() + timedelta(days=32)).replace(day=1) - timezone.now()).total_seconds()


def test_a_spent_month_closes_the_channel_until_the_next(api, project):
    project.channel("sms", monthly_cost_budget=50)
    spend(project, "49.99")
    assert api.manual_send(PHONE).status_code == 200
    spend(project, "0.01")
    refused = api.manual_send(PHONE)
    assert refused.status_code == 429
    assert abs(int(refused["Retry-After"]) - seconds_of_month_left()) < 120
    assert Decision.objects.get().figures == {"budget_in_money": 50}


def test_a_month_that_was_spent_yesterday_stays_so_today_and_not_next_month(api, project):
    project.channel("sms", monthly_cost_budget=50)
    spend(project, "50")
    DailyChannelCost.objects.update(day=month_start().date())
    caching.clear_all()
    assert api.manual_send(PHONE).status_code == 429
    DailyChannelCost.objects.update(day=month_start().date() - timedelta(days=1))
    caching.clear_all()
    assert api.manual_send(PHONE).status_code == 200


def test_last_months_costs_are_not_this_months(project):
    project.channel("sms", monthly_cost_budget=50)
    spend(project, "49", at=month_start() - timedelta(hours=1))
    assert not Alert.objects.exists()
    assert DailyChannelCost.objects.get().month_amount == 0


def test_the_owner_is_alerted_once_at_each_part_of_a_months_budget(project):
    project.channel("sms", monthly_cost_budget=10)
    assert [spend(project, amount) for amount in ("4.9", "0.1", "0", "3", "2", "1")] == [0, 1, 0, 1, 1, 0]
    last = Alert.objects.order_by("pk").last()
    assert (last.kind, last.title) == ("monthly_cost_budget", "SMS: 100 % of this month's cost limit used")
    assert "Watchword sends nothing more over it until the end of the month (UTC)." in last.detail


def test_a_day_and_a_month_hold_both(api, project):
    project.channel("sms", daily_cost_budget=5, monthly_cost_budget=500)
    spend(project, "5")
    assert int(api.manual_send(PHONE)["Retry-After"]) <= 86_400
