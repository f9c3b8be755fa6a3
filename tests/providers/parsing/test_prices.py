"""The prices that vendors tell, in answers and in reports."""

from decimal import Decimal

import pytest

from providers.base import MessagePrice
from providers.parsing.prices import price


@pytest.mark.parametrize(
    ("amount", "currency", "expected"),
    [
        ("0.03330000", "EUR", MessagePrice(Decimal("0.0333"), "EUR")),
        ("-0.00750", "usd", MessagePrice(Decimal("0.0075"), "USD")),
        (0.01, "USD", MessagePrice(Decimal("0.01"), "USD")),
        (0, "USD", MessagePrice(Decimal(0), "USD")),
        (None, "USD", None),
        (True, "USD", None),
        ("NaN", "USD", None),
        ("Infinity", "USD", None),
        ("1e12", "USD", None),
        ("9" * 100, "USD", None),
        ("free", "USD", None),
        ("0.01", "dollars", None),
        ("0.01", None, None),
    ],
)
def test_a_price_is_read_or_there_is_none(amount, currency, expected):
    assert price(amount, currency) == expected


def test_a_charge_is_without_its_minus_and_times_the_messages():
    assert price("-0.01", "USD", times=3) == MessagePrice(Decimal("0.03"), "USD")
