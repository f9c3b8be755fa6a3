"""The vendor's balance as the scorecard shows it: a chart of what is kept, and the day on which it is used up."""

from __future__ import annotations

from datetime import UTC, datetime, time, timedelta
from decimal import Decimal
from typing import Any

from django.utils.translation import gettext as _

from verification.admin.base.charts import Number, Series, draw
from verification.core.dates import DAY, DAY_OF_YEAR, written_date
from verification.core.numbers import grouped
from verification.models import Provider, VendorBalance
from verification.services.providers import balances
from verification.services.providers.balances import Forecast

ONE_DAY = timedelta(days=1)


def balance_shown(provider: Provider) -> dict[str, Any] | None:
    """Return what the scorecard tells of the balance; None of a provider that tells none."""
    rows = balances.history(provider)
    found = balances.forecast(rows)
    if found is None:
        return {"is_awaited": True} if balances.tells_balance(provider) else None
    unit = found.balance.unit
    return {
        "chart": _chart(rows),
        "left": f"{_written(found.balance.amount)} {unit}",
        "day": written_date(found.balance.day, DAY),
        "outlook": _outlook(found),
        "is_short": found.until is not None and found.until - found.balance.day < timedelta(days=balances.RATE_DAYS),
        "rows": [(written_date(row.day, DAY), _written(row.amount)) for row in reversed(rows)],
        "unit": unit,
    }


def _outlook(found: Forecast) -> str:
    if found.a_day is None:
        return _("How long it lasts is told once there are balances of two days.")
    if not found.a_day:
        return _("Nothing of it was spent in the last week.")
    a_day = _("{written} {unit} a day").format(written=_written(found.a_day), unit=found.balance.unit)
    if found.until is None:
        return _("At this week's rate, {a_day}, it lasts for more than ten years.").format(a_day=a_day)
    return _("At this week's rate, {a_day}, it lasts until {until}.").format(
        a_day=a_day, until=written_date(found.until, DAY)
    )


def _chart(rows: list[VendorBalance]) -> Any:
    """Draw a bar for each day since the first; days on which the vendor told nothing have none."""
    told = {row.day: row for row in rows}
    days = [rows[0].day + number * ONE_DAY for number in range((rows[-1].day - rows[0].day).days + 1)]
    values = [float(max(told[day].amount, Decimal(0))) if day in told else None for day in days]
    return draw(
        "balance",
        _("Balance, {unit}").format(unit=rows[-1].unit),
        [datetime.combine(day, time.min, UTC) for day in days],
        [Series(_("Balance"), "ww-verified", values, is_bar=True)],
        label=lambda at: written_date(at, DAY_OF_YEAR),
        step=ONE_DAY,
        written=_number,
    )


def _number(value: Number) -> str:
    return "–" if value is None else grouped(value, places=2).removesuffix(".00")


def _written(amount: Decimal) -> str:
    return grouped(amount, places=2)
