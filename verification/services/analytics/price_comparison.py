"""What a range has cost against the time before, and what other providers would have asked for the same messages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

from django.db.models import Sum
from django.utils import timezone

from verification.core.addresses import usual_number
from verification.models import Provider
from verification.services.analytics import costs, ranges
from verification.services.analytics.costs import Cost, Rates, Where
from verification.services.analytics.ranges import Range
from verification.services.analytics.report import DIMENSIONS, rows_of
from verification.services.providers.prices import PriceBook, book_of

DAYS = 90  # that are looked back at: a provider of last year says little of today's
LEAST_SENT = 20  # sessions of a country, below which a share says nothing


@dataclass(frozen=True, slots=True)
class Experience:
    """One provider's traffic in one country: the messages that it accepted, and the sessions whose code it sent."""

    accepted: int = 0
    sent: int = 0
    verified: int = 0

    @property
    def is_enough(self) -> bool:
        return self.sent >= LEAST_SENT and self.accepted > 0


def experience_of(
    projects: Sequence[int], now: datetime, lately: Range, where: Where | None = None
) -> dict[tuple[int, str], Experience]:
    """Return what is known of each provider in each country, by both. What was never used is not in it.

    What it did ``lately`` comes before what it did in :data:`DAYS`, where that is enough.
    """
    known = _experience(projects, ranges.last_days(now, DAYS), None)
    return known | {key: seen for key, seen in _experience(projects, lately, where).items() if seen.is_enough}


def _experience(projects: Sequence[int], span: Range, where: Where | None) -> dict[tuple[int, str], Experience]:
    sums: dict[tuple[int, str], list[int]] = {}
    for rows in rows_of(projects, span, {**(where or {}), "is_manual": False}):
        found = rows.order_by().values_list("provider_id", "country")
        for provider, country, *counts in found.annotate(
            Sum("messages_accepted"), Sum("sessions_sent"), Sum("sessions_verified")
        ):
            known = sums.setdefault((provider, country), [0, 0, 0])
            sums[provider, country] = [one + other for one, other in zip(known, counts, strict=True)]
    return {key: Experience(*counts) for key, counts in sums.items() if counts[0]}


@dataclass(slots=True)
class Offer:
    """A provider's price for messages of a range, beside what the same ones have cost.

    ``compared`` messages have both prices known; of ``left_out`` ones, one is not, or the provider does not serve them.
    The last four say what is known of it where it would carry them: of ``known`` messages, those to countries where the
    project has used it enough. ``verified`` of ``known`` would be of users who are verified, as its own messages there
    were. ``used`` counts its messages there.
    """

    provider: str
    provider_id: int
    project_id: int | None  # None for a system provider
    channel: str
    currency: str
    would_cost: Decimal = Decimal(0)
    did_cost: Decimal = Decimal(0)
    compared: int = 0
    left_out: int = 0
    known: int = 0
    known_cost: Decimal = Decimal(0)
    verified: float = 0.0
    sessions_verified: float = 0.0  # of a hundred sessions, summed over the known messages
    used: int = 0

    @property
    def conversion(self) -> float | None:
        """The verified of a hundred sessions where it is known; None where it is not."""
        return round(self.sessions_verified / self.known, 1) if self.known else None

    @property
    def per_verified(self) -> Decimal | None:
        """The estimated cost of a verified user where it is known; None where it is not."""
        return self.known_cost / Decimal(self.verified) if self.verified else None

    @property
    def saved(self) -> Decimal:
        """The money that it would have saved; below 0 where it is dearer."""
        return self.did_cost - self.would_cost


def offers(
    projects: Sequence[int], span: Range, where: Where | None = None, *, with_system: bool = False
) -> list[Offer]:
    """Return an offer of each provider that has a price list and serves these projects, the cheapest saving first.

    A system provider's list is the operator's: it is told ``with_system`` alone, which is for the operator.
    The list is taken as it holds on the range's last day. A country's numbers are priced like a usual mobile number.
    """
    narrowed = {name: value for name, value in (where or {}).items() if name != "provider_id"}
    traffic = costs.grouped(projects, span, ("project", "channel", "country"), narrowed)
    rates = Rates(costs.account_currency())
    day = min(timezone.now(), span.until - timedelta(seconds=1)).date()
    found: dict[int, Offer] = {}
    senders = list({owner for owner, _, _ in traffic})
    known = experience_of(senders, timezone.now(), span, narrowed) if senders else {}
    for provider in Provider.objects.serving(senders).filter(price_list__gt=0).order_by("pk"):
        if provider.is_system and not with_system:
            continue
        book = book_of(provider.pk, provider.price_list)
        for (owner, channel, country), did in traffic.items():
            if channel != provider.channel or provider.project_id not in (None, owner):
                continue
            offer = found.setdefault(
                provider.pk, Offer(provider.name, provider.pk, provider.project_id, channel, rates.account)
            )
            would = None if did.unknown else _price(provider, book, country, did, rates, day)
            if would is None:
                offer.left_out += did.sends
                continue
            offer.would_cost += would
            offer.did_cost += did.amount
            offer.compared += did.sends
            _learn(offer, did.sends, would, known.get((provider.pk, country), Experience()))
    compared = [offer for offer in found.values() if offer.compared]
    return sorted(compared, key=lambda offer: (offer.channel, -offer.saved, offer.provider))


def _learn(offer: Offer, sends: int, would: Decimal, seen: Experience) -> None:
    """Add what is known of the provider in the country of these messages."""
    offer.used += seen.accepted
    if seen.is_enough:
        offer.known += sends
        offer.known_cost += would
        offer.verified += sends * seen.verified / seen.accepted
        offer.sessions_verified += sends * 100 * seen.verified / seen.sent


def as_dict(offer: Offer) -> dict[str, Any]:
    """The offer in the words of docs/cost.md, for programs."""
    return {
        "provider": offer.provider,
        "channel": offer.channel,
        "currency": offer.currency,
        "would_cost": str(round(offer.would_cost, costs.SUM_PLACES)),
        "did_cost": str(round(offer.did_cost, costs.SUM_PLACES)),
        "messages_compared": offer.compared,
        "messages_left_out": offer.left_out,
        "messages_known": offer.known,
        "conversion_percent": offer.conversion,
        "cost_per_verified": None if offer.per_verified is None else str(round(offer.per_verified, costs.SHOWN_PLACES)),
    }


def _price(provider: Provider, book: PriceBook, country: str, did: Cost, rates: Rates, day: Any) -> Decimal | None:
    """Return what the messages of one country would have cost; None where that is not known."""
    number = usual_number(country)
    if provider.only_prefixes and not number.startswith(tuple(provider.only_prefixes)):
        return None
    if number.startswith(tuple(provider.except_prefixes)):
        return None
    price = book.find(number, country, day)
    if price is None:
        return None
    units = did.segments if price.is_per_segment else did.sends
    return rates.into_account(price.amount * units, price.currency, day)


@dataclass(frozen=True, slots=True)
class Money:
    """The cost of a range. ``by`` has the cost of each value of a dimension that cost something."""

    cost: Cost
    before: Cost
    by: dict[str, dict[Any, Cost]]
    over_time: dict[datetime, Cost]
    offers: list[Offer]

    @property
    def is_empty(self) -> bool:
        """Nothing was sent, neither in the range nor before."""
        return not (self.cost.sends or self.before.sends)

    def of(self, dimension: str, key: Any) -> Cost:
        return self.by[dimension].get(key, Cost(self.cost.currency))

    def at(self, moment: datetime) -> Cost:
        return self.over_time.get(moment, Cost(self.cost.currency))


def money_of(projects: Sequence[int], span: Range, where: Where | None = None, *, with_system: bool = False) -> Money:
    """Sum the costs of these projects, or only those that have the values of ``where``."""
    rows = costs.grouped(projects, span, DIMENSIONS, where)
    before = costs.total(projects, span.before, where)
    whole = Cost(before.currency)
    by: dict[str, dict[Any, Cost]] = {name: {} for name in DIMENSIONS}
    for keys, cost in rows.items():
        whole.merge(cost)
        for name, key in zip(DIMENSIONS, keys, strict=True):
            by[name].setdefault(key, Cost(before.currency)).merge(cost)
    by_others = offers(projects, span, where, with_system=with_system)
    return Money(whole, before, by, costs.over_time(projects, span, where), by_others)
