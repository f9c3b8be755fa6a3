"""The prices that services write into answers and reports."""

from __future__ import annotations

import re
from decimal import Decimal, InvalidOperation

from providers.base import MessagePrice

MOST = Decimal(1_000_000_000)  # of any currency for one message: more is a mistake
PLACES = 8  # decimal places that are kept; services write six at the most
NUMBER_MAX_LENGTH = 40  # characters of a price: longer ones are no prices

_CURRENCY = re.compile(r"[A-Z]{3}")


def price(amount: object, currency: object, *, times: int = 1) -> MessagePrice | None:
    """Return ``times`` an amount as a price; None for whatever is none. Services write a charge with a minus too."""
    if not isinstance(currency, str) or not _CURRENCY.fullmatch(currency.upper()):
        return None
    if (
        isinstance(amount, bool)
        or not isinstance(amount, int | float | str | Decimal)
        or len(str(amount)) > NUMBER_MAX_LENGTH
    ):
        return None
    try:
        number = abs(Decimal(str(amount).strip())) * times
    except InvalidOperation:
        return None
    if not number.is_finite() or number >= MOST:
        return None
    return MessagePrice(round(number, PLACES), currency.upper())
