"""The vendor's balance as the scorecard shows it: a chart of what is kept, and the day on which it is used up."""

from __future__ import annotations

from datetime import UTC, datetime, time, timedelta
from decimal import Decimal
from typing import Any

from verification.models import Provider, VendorBalance
from verification.panel.frame.charts import Number, Series, draw
from verification.services.gateways import balances
from verification.services.gateways.balances import Forecast

DAY = timedelta(days=1)


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
        "day": f"{found.balance.day:%-d %B %Y}",
        "outlook": _outlook(found),
        "is_short": found.until is not None and found.until - found.balance.day < timedelta(days=balances.RATE_DAYS),
        "rows": [(f"{row.day:%-d %b %Y}", _written(row.amount)) for row in reversed(rows)],
        "unit": unit,
    }


def _outlook(found: Forecast) -> str:
    if found.a_day is None:
        return "How long it lasts is told once there are balances of two days."
    if not found.a_day:
        return "Nothing of it was spent in the last week."
    a_day = f"{_written(found.a_day)} {found.balance.unit} a day"
    if found.until is None:
        return f"At this week's rate, {a_day}, it lasts for more than ten years."
    return f"At this week's rate, {a_day}, it lasts until {found.until:%-d %B %Y}."


def _chart(rows: list[VendorBalance]) -> Any:
    """Draw a bar for each day since the first; days on which the vendor told nothing have none."""
    told = {row.day: row for row in rows}
    days = [rows[0].day + number * DAY for number in range((rows[-1].day - rows[0].day).days + 1)]
    values = [float(max(told[day].amount, Decimal(0))) if day in told else None for day in days]
    return draw(
        "balance",
        f"Balance, {rows[-1].unit}",
        [datetime.combine(day, time.min, UTC) for day in days],
        [Series("Balance", "ww-verified", values, is_bar=True)],
        label=lambda at: f"{at:%-d %b}",
        step=DAY,
        written=_number,
    )


def _number(value: Number) -> str:
    return "–" if value is None else f"{value:,.2f}".removesuffix(".00")


def _written(amount: Decimal) -> str:
    return f"{amount:,.2f}"
