"""Amounts of money in the installation's currency of account, so that prices can be compared."""

from __future__ import annotations

from decimal import Decimal

from django.utils import timezone

from verification.core.caching import cached_for
from verification.models import ExchangeRate
from verification.services.projects.ceilings import platform

READ_SECONDS = 60.0  # between two readings of the rates, which people enter for a day


def rate_of(currency: str) -> Decimal | None:
    """Return what one unit of a currency is worth today in the currency of account; None where no rate leads there."""
    return _rates().get(currency)


def in_account(amount: Decimal, currency: str) -> float | None:
    """Return what an amount is worth today in the currency of account; None where no rate leads there."""
    rate = rate_of(currency)
    return None if rate is None else float(amount * rate)


@cached_for(READ_SECONDS)
def _rates() -> dict[str, Decimal]:
    account = platform().account_currency
    today = timezone.now().date()
    rows = ExchangeRate.objects.filter(account=account, valid_from__lte=today)
    newest = rows.order_by("currency", "-valid_from").distinct("currency")
    return {**{row.currency: row.rate for row in newest}, account: Decimal(1)}
