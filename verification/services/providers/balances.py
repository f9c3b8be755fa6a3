"""The balances of accounts at vendors: asked for once a day by the workers, and the day on which one is used up.

Only the workers ask, and only adapters whose check tells a balance. A vendor that is away is asked again hours later.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal, InvalidOperation

from django.utils import timezone

from providers import registry
from verification.models import Provider, Upkeep, VendorBalance
from verification.models.prices import UNIT_MAX_LENGTH
from verification.services.providers.accounts import check_provider, is_known

log = logging.getLogger(__name__)

RUN = "balances"  # name of its row in Upkeep
PERIOD = timedelta(hours=4)  # between two rounds; one asks only those that have told nothing on this day
KEPT_DAYS = 100  # as long as the figures by the hour
RATE_DAYS = 7  # the days whose spending tells how long a balance lasts: a whole week, as weekends differ
LARGEST = Decimal(10) ** 18  # an amount that no account has; the column holds it
FAR = timedelta(days=3_650)  # after which no day of running out is told


@dataclass(frozen=True, slots=True)
class Forecast:
    """A balance and its future. ``a_day`` is what the last week spent, and ``until`` the day on which all is spent.

    ``since`` is the day of the last top-up that is known, or None. The rate is None after less than two days, and
    ``until`` is None where nothing is spent.
    """

    balance: VendorBalance
    a_day: Decimal | None
    until: date | None
    since: date | None


def claim_run() -> list[tuple[str]]:
    """Claim the next round. The first worker that asks once it is due gets it."""
    return [(RUN,)] if Upkeep.objects.claim(RUN, period=PERIOD, now=timezone.now()) else []


def due() -> list[Provider]:
    """Return the enabled providers that can tell a balance and have told none on this day."""
    today = timezone.now().date()
    known = VendorBalance.objects.filter(day=today).values("provider")
    rows = Provider.objects.filter(is_enabled=True).exclude(pk__in=known).select_related("project").order_by("pk")
    return [row for row in rows if (row.project is None or row.project.is_enabled) and tells_balance(row)]


def tells_balance(provider: Provider) -> bool:
    return is_known(provider.type) and registry.adapter_class(provider.type).tells_balance


def ask(provider: Provider) -> VendorBalance | None:
    """Ask a vendor for the balance and keep it as the day's; None where it told none. Never raises for a vendor."""
    health = check_provider(provider)
    amount, unit = _read(health.balance or "")
    if amount is None:
        log.warning("provider %s returned no balance", provider.pk)
        return None
    row, _ = VendorBalance.objects.get_or_create(
        provider=provider, day=timezone.now().date(), defaults={"amount": amount, "unit": unit}
    )
    return row


def history(provider: Provider) -> list[VendorBalance]:
    """Return the balances that are kept, the earliest first: those in the unit of the last one."""
    rows = list(VendorBalance.objects.filter(provider=provider).order_by("day"))
    return [row for row in rows if row.unit == rows[-1].unit]


def forecast(rows: Sequence[VendorBalance]) -> Forecast | None:
    """Judge a history by what its last week spent. A day on which the balance rose counts as one of a top-up.

    What was spent on the day of a top-up cannot be told, so such days are left out of the rate.
    """
    if not rows:
        return None
    last = rows[-1]
    pairs = list(zip(rows, rows[1:], strict=False))
    since = next((later.day for earlier, later in reversed(pairs) if later.amount > earlier.amount), None)
    week = [
        (earlier.amount - later.amount, (later.day - earlier.day).days)
        for earlier, later in pairs
        if earlier.day >= last.day - timedelta(days=RATE_DAYS) and later.amount <= earlier.amount
    ]
    days = sum(span for _, span in week)
    if not days:
        return Forecast(last, None, None, since)
    a_day = sum((spent for spent, _ in week), Decimal(0)) / days
    if not a_day:
        return Forecast(last, a_day, None, since)
    lasts = max(last.amount, Decimal(0)) / a_day
    until = None if lasts > FAR.days else last.day + timedelta(days=int(lasts))
    return Forecast(last, a_day, until, since)


def purge() -> int:
    """Remove the balances that are kept no longer, and return their number."""
    return VendorBalance.objects.filter(day__lt=timezone.now().date() - timedelta(days=KEPT_DAYS)).delete()[0]


def _read(text: str) -> tuple[Decimal | None, str]:
    """Read a balance as adapters write it, such as "12.50 EUR". An adapter may be of the operator's own making."""
    number, _, unit = text.partition(" ")
    try:
        amount = Decimal(number)
    except InvalidOperation:
        return None, ""
    if not unit or len(unit) > UNIT_MAX_LENGTH or not amount.is_finite() or abs(amount) > LARGEST:
        return None, ""
    return amount, unit
