"""The table of what the same messages would cost at other providers."""

from __future__ import annotations

from dataclasses import dataclass

from django.utils.translation import gettext as _

from verification.admin.figures.money import signed
from verification.admin.figures.words import percent
from verification.core.formats import grouped
from verification.models import ChannelType
from verification.services.analytics.costs import SHOWN_PLACES
from verification.services.analytics.price_comparison import Offer


@dataclass(frozen=True, slots=True)
class OfferRow:
    """The cost of the same messages at another provider, as a row of a table."""

    offer: Offer
    channel: str
    would_cost: str
    did_cost: str
    saved: str
    conversion: str
    per_verified: str
    trial: str  # the address of the page that tries it with a part of the messages; empty where the user may not


def offer_row(offer: Offer, trial: str = "") -> OfferRow:
    saved = round(offer.saved, 2)
    return OfferRow(
        offer,
        str(ChannelType(offer.channel).label),
        grouped(round(offer.would_cost, 2)),
        grouped(round(offer.did_cost, 2)),
        signed(-saved),
        _known(offer),
        "–" if offer.per_verified is None else grouped(round(offer.per_verified, SHOWN_PLACES)),
        trial,
    )


def _known(offer: Offer) -> str:
    """Return the conversion that is known of the provider for such messages, or that it is not known."""
    if offer.conversion is None:
        return _("rarely used here") if offer.used else _("never used here")
    if offer.known == offer.compared:
        return percent(offer.conversion)
    return _("{share} (known for {number})").format(share=percent(offer.conversion), number=grouped(offer.known))
