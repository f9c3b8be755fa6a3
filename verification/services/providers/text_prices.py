"""The price of a thousand codes in one text, by the price lists of a project's own providers."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from typing import NamedTuple

from verification.models import Project, Provider
from verification.services.projects.ceilings import platform
from verification.services.providers.exchange_rates import rate_of
from verification.services.providers.prices import EVERYWHERE, ListPrice, PriceBook, book_of

THOUSAND = 1_000
MAX_PROVIDERS = 3  # that are told: the first in the project's order, over which nearly all goes.


class Thousand(NamedTuple):
    """The price of a thousand codes at one provider. ``least`` and ``most`` differ where countries cost differently."""

    provider: str
    least: Decimal
    most: Decimal
    currency: str


def per_thousand(project: Project, channel: str, segments: int) -> list[Thousand]:
    """Return the prices of those providers that have a price list in one currency.

    They are in the currency of account; without an exchange rate, in the list's own. A system provider's list is the
    operator's, and is not told.
    """
    day, found = datetime.now(UTC).date(), []
    for provider in Provider.objects.filter(project=project, channel=channel, is_enabled=True)[:MAX_PROVIDERS]:
        prices = _prices(project, book_of(provider.pk, provider.price_list), day)
        if len({price.currency for price in prices}) != 1:
            continue
        rate = rate_of(prices[0].currency)
        amounts = [price.of(segments) * THOUSAND * (rate or 1) for price in prices]
        currency = platform().account_currency if rate else prices[0].currency
        found.append(Thousand(provider.name, min(amounts), max(amounts), currency))
    return found


def _prices(project: Project, book: PriceBook, day: date) -> list[ListPrice]:
    """Return the prices of the countries that the project sends to; without such a list, all that hold today."""
    places = project.countries or [*(place for place in book.places if not place.startswith("+")), EVERYWHERE]
    return [price for place in places if (price := book.find("", place, day))]
