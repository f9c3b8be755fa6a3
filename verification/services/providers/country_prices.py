"""The price of an SMS to each country, by the price lists of a project's own providers."""

from __future__ import annotations

from datetime import UTC, datetime

import phonenumbers

from verification.models import ChannelType, Project, Provider
from verification.services.providers.prices import EVERYWHERE, ListPrice, PriceBook, book_of

MAX_PROVIDERS = 20  # whose lists are looked into, the first in order


def sms_prices(project: Project) -> dict[str, ListPrice]:
    """Return by country what one part of an SMS costs at the first provider whose list names the country or its prefix.

    A system provider's list is the operator's, and is not told.
    """
    day = datetime.now(UTC).date()
    found: dict[str, ListPrice] = {}
    rows = Provider.objects.filter(project=project, channel=ChannelType.SMS, is_enabled=True)
    for provider in rows.in_order()[:MAX_PROVIDERS]:
        book = book_of(provider.pk, provider.price_list)
        named = PriceBook(
            {place: rows for place, rows in book.places.items() if place != EVERYWHERE}, book.longest_prefix
        )
        for country in phonenumbers.SUPPORTED_REGIONS if named.places else ():
            prefix = f"+{phonenumbers.country_code_for_region(country)}"
            if country not in found and (price := named.find(prefix, country, day)):
                found[country] = price
    return found
