"""Exchange rates and the currency of account are the operator's."""

import pytest
from django.core.management.base import CommandError
from django.urls import reverse

from tests.commands.running import run
from verification.models import ExchangeRate, Platform

pytestmark = pytest.mark.django_db

LIST = reverse("admin:verification_exchangerate_changelist")
ADD = reverse("admin:verification_exchangerate_add")
RATE = {"currency": "eur", "account": "USD", "rate": "1.08", "valid_from": "2026-01-01"}


def test_a_rate_is_entered(panel):
    assert panel.as_("root").post(ADD, RATE).status_code == 302
    assert str(ExchangeRate.objects.get()) == "1 EUR = 1.08 USD from 2026-01-01"
    text = panel.as_("root").get(LIST).content.decode()
    assert "Costs are shown in USD" in text and "1.08" in text


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        ({"currency": "EURO"}, "Ensure this value has at most 3 characters"),
        ({"currency": "EUX"}, "is not a currency"),
        ({"account": "EUR"}, "Enter two different currencies"),
        ({"rate": "0"}, "greater than or equal"),
        ({"rate": "-1"}, "greater than or equal"),
    ],
)
def test_a_wrong_rate_is_refused(panel, wrong, why):
    assert why in panel.as_("root").post(ADD, RATE | wrong).content.decode()
    assert not ExchangeRate.objects.exists()


def test_a_second_rate_of_the_same_day_is_refused(panel):
    for _ in range(2):
        response = panel.as_("root").post(ADD, RATE)
    assert "Change that one." in response.content.decode()


@pytest.mark.parametrize("who", ["owner", "anonymous"])
def test_nobody_else_sees_or_enters_rates(panel, who):
    for address in (LIST, ADD):
        assert panel.as_(who).get(address).status_code in (302, 403)
        assert panel.as_(who).post(address, RATE).status_code in (302, 403)
    assert not ExchangeRate.objects.exists()


def test_a_command_sets_the_currency_of_account():
    assert "EUR" in run("setplatform", "account_currency=eur")
    assert Platform.objects.get().account_currency == "EUR"
    with pytest.raises(CommandError, match="is not a currency"):
        run("setplatform", "account_currency=EUX")
