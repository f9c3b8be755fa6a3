"""The price of a message: what the vendor told, or else the provider's price list."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import NamedTuple

from providers.base import Outcome, OutgoingMessage, Result
from providers.parsing import gsm, prices
from verification.core.caching import Memory
from verification.models import ChannelType, Price, PricePer
from verification.models.prices import DECIMAL_PLACES

EVERYWHERE = ""  # the place of a price that holds where no other does
# Attempts that the vendor charges for, or may.
CHARGED = frozenset({Outcome.ACCEPTED, Outcome.UNKNOWN, Outcome.UNCLEAR})
_STEP = Decimal(1).scaleb(-DECIMAL_PLACES)  # the smallest part of a unit of money that is kept


class ListPrice(NamedTuple):
    """One line of a price list."""

    valid_from: date
    amount: Decimal
    currency: str
    is_per_segment: bool

    def of(self, segments: int) -> Decimal:
        """Return the price of one message that is billed as so many SMS."""
        return self.amount * segments if self.is_per_segment else self.amount


@dataclass(frozen=True, slots=True)
class PriceBook:
    """A provider's price list. ``places`` are prefixes, countries and :data:`EVERYWHERE`, each newest first."""

    places: dict[str, tuple[ListPrice, ...]] = field(default_factory=dict)
    longest_prefix: int = 0  # characters, with the plus

    def find(self, address: str, country: str, day: date) -> ListPrice | None:
        """Return the price that holds on a day: of the longest prefix, else of the country, else everywhere's."""
        for end in range(min(self.longest_prefix, len(address)), 1, -1):
            if found := self._at(address[:end], day):
                return found
        return (self._at(country, day) if country else None) or self._at(EVERYWHERE, day)

    def _at(self, place: str, day: date) -> ListPrice | None:
        return next((price for price in self.places.get(place, ()) if price.valid_from <= day), None)


NO_PRICES = PriceBook()


class AttemptCost(NamedTuple):
    """The cost of one attempt, as its row keeps it. ``price`` is None if nobody knows it, and then is never 0."""

    segments: int | None = None
    price: Decimal | None = None
    currency: str | None = None


NO_COST = AttemptCost()


def book(rows: Iterable[Price]) -> PriceBook:
    places: dict[str, list[ListPrice]] = defaultdict(list)
    for row in rows:
        is_per_segment = row.per == PricePer.SEGMENT
        places[row.place].append(ListPrice(row.valid_from, row.amount, row.currency, is_per_segment))
    return PriceBook(
        {place: tuple(sorted(prices, reverse=True)) for place, prices in places.items()},
        max((len(place) for place in places if place.startswith("+")), default=0),
    )


class _Books(Memory):
    """The price lists of this process, each read once for its number."""

    def forget(self) -> None:
        self._books: dict[int, tuple[int, PriceBook]] = {}

    def get(self, provider_id: int, number: int) -> PriceBook:
        known = self._books.get(provider_id)
        if known is None or known[0] != number:
            known = self._books[provider_id] = number, book(Price.objects.filter(provider=provider_id))
        return known[1]


_books = _Books()


def book_of(provider_id: int, number: int) -> PriceBook:
    """Return the prices of a provider whose ``price_list`` is ``number``. Only another number is read anew."""
    return _books.get(provider_id, number) if number else NO_PRICES


def segments_of(message: OutgoingMessage) -> int:
    """Return the number of SMS that a message is billed as; anything else is one."""
    return gsm.segments(message.text) if message.channel == ChannelType.SMS else 1


def cost_of(own: PriceBook, message: OutgoingMessage, result: Result) -> AttemptCost:
    """Return the cost of an attempt that ended with ``result``. The vendor's own word comes before the list."""
    if result.outcome not in CHARGED:
        return NO_COST
    segments = segments_of(message)
    # An adapter may be of the operator's own making: a price that no row can hold is none.
    if (charged := result.price) and (charged := prices.price(charged.amount, charged.currency)):
        return AttemptCost(segments, charged.amount, charged.currency)
    found = own.find(message.to, message.country, datetime.now(UTC).date()) if own.places else None
    if found is None:
        return AttemptCost(segments)
    return AttemptCost(segments, found.of(segments).quantize(_STEP), found.currency)
