"""Vendors' balances: asked for once a day, kept by the day, and the day on which one is used up."""

import inspect
from datetime import timedelta
from decimal import Decimal

import pytest
from django.utils import timezone

from providers import registry
from providers.errors import ProviderError
from verification.models import Alert, Upkeep, VendorBalance
from verification.services.notifications import balance_alerts
from verification.services.providers import balances

pytestmark = pytest.mark.django_db

DAY = timedelta(days=1)
NAME = "Prepaid"


@pytest.fixture
def prepaid(project, outbox):
    return project.provider(name=NAME, type="collector_prepaid")


def tells(outbox, *balance):
    outbox.answer(f"balance of {NAME}", *balance)


def past(provider, *amounts, unit="EUR"):
    """Keep one balance for each of the days that end yesterday."""
    today = timezone.now().date()
    for ago, amount in enumerate(reversed(amounts), start=1):
        VendorBalance.objects.create(provider=provider, day=today - ago * DAY, amount=Decimal(amount), unit=unit)


def judged(provider):
    return balances.forecast(balances.history(provider))


def test_a_vendor_is_asked_once_a_day(prepaid, outbox):
    tells(outbox, "12.50 EUR")
    assert balance_alerts.run() == 1
    assert balance_alerts.run() == 0
    row = VendorBalance.objects.get()
    assert (row.provider, row.day, row.amount, row.unit) == (prepaid, timezone.now().date(), Decimal("12.5"), "EUR")


def test_only_enabled_providers_of_enabled_projects_that_can_tell_are_asked(project, prepaid):
    assert balances.due() == [prepaid]
    prepaid.is_enabled = False
    prepaid.save()
    assert balances.due() == []
    prepaid.is_enabled = True
    prepaid.save()
    project.set(is_enabled=False)
    assert balances.due() == []


@pytest.mark.parametrize("told", [ProviderError("away"), None, "much", "NaN EUR", "1e40 EUR", "5", "5 doubloons"])
def test_what_is_no_balance_is_not_kept_and_asked_for_again(prepaid, outbox, told):
    tells(outbox, told)
    assert balance_alerts.run() == 0
    assert balances.due() == [prepaid]


def test_a_failure_stops_no_other(project, prepaid, outbox):
    project.provider(name="Next", type="collector_prepaid")
    tells(outbox, RuntimeError("unforeseen"))
    outbox.answer("balance of Next", "7 credits")
    assert balance_alerts.run() == 1
    assert VendorBalance.objects.get().unit == "credits"


def test_one_worker_of_all_gets_a_round_and_the_next_is_hours_later(db):
    assert balances.claim_run() == [(balances.RUN,)]
    assert balances.claim_run() == []
    Upkeep.objects.filter(name=balances.RUN).update(started_at=timezone.now() - balances.PERIOD)
    assert balances.claim_run() == [(balances.RUN,)]


def test_a_balance_lasts_as_the_last_week_spent(prepaid):
    past(prepaid, "90", "80", "70", "60", "50", "40", "30", "20")
    found = judged(prepaid)
    assert (found.a_day, found.until, found.since) == (10, timezone.now().date() + DAY, None)


def test_a_top_up_is_no_spending_and_its_day_is_known(prepaid):
    past(prepaid, "30", "20", "100", "90")
    found = judged(prepaid)
    assert (found.a_day, found.since) == (10, timezone.now().date() - 2 * DAY)
    assert found.until == timezone.now().date() + 8 * DAY


def test_days_without_an_answer_are_counted(prepaid):
    today = timezone.now().date()
    for ago, amount in ((5, "100"), (1, "60")):
        VendorBalance.objects.create(provider=prepaid, day=today - ago * DAY, amount=amount, unit="EUR")
    assert judged(prepaid).a_day == 10


def test_nothing_is_foretold_from_one_day_from_other_units_or_without_spending(prepaid):
    assert judged(prepaid) is None
    past(prepaid, "30")
    assert (judged(prepaid).a_day, judged(prepaid).until) == (None, None)
    VendorBalance.objects.create(provider=prepaid, day=timezone.now().date(), amount="1", unit="USD")
    assert judged(prepaid).a_day is None
    VendorBalance.objects.update(unit="EUR", amount="30")
    assert (judged(prepaid).a_day, judged(prepaid).until) == (0, None)


def test_the_owner_is_told_once_for_each_top_up_that_a_balance_ends_soon(project, prepaid, outbox):
    past(prepaid, "30", "25", "20")
    tells(outbox, "15 EUR")
    balance_alerts.run()
    alert = Alert.objects.get()
    ends = timezone.now().date() + 3 * DAY
    assert alert.title == f"The balance at {NAME} runs out on {ends:%-d %B}"
    assert "15 EUR left" in alert.detail
    balance_alerts.alert_owner(prepaid)
    assert Alert.objects.count() == 1


@pytest.mark.parametrize("days, alerts", [(0, 0), (3, 0), (4, 1)])
def test_the_owner_says_how_early_they_are_told(project, prepaid, outbox, days, alerts):
    project.set(balance_alert_days=days)
    past(prepaid, "30", "25", "20")
    tells(outbox, "15 EUR")
    prepaid.refresh_from_db()
    balance_alerts.run()
    assert Alert.objects.count() == alerts


def test_a_system_providers_balance_is_the_operators_matter(prepaid, outbox, caplog):
    prepaid.project = None
    prepaid.save()
    past(prepaid, "30", "20")
    tells(outbox, "10 EUR")
    balance_alerts.run()
    assert not Alert.objects.exists()
    assert "The balance at Prepaid runs out on" in caplog.text


def test_balances_are_kept_for_100_days(prepaid):
    today = timezone.now().date()
    for ago in (100, 101):
        VendorBalance.objects.create(provider=prepaid, day=today - ago * DAY, amount="1", unit="EUR")
    assert balances.purge() == 1


@pytest.mark.parametrize("type", [type for type in registry.all_types() if not type.startswith("collector")])
def test_an_adapter_says_that_it_tells_a_balance_if_its_check_does(type):
    adapter = registry.adapter_class(type)
    assert adapter.tells_balance == ("balance_health" in inspect.getsource(adapter.check))
