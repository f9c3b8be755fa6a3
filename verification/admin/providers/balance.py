"""The vendor's balance as the scorecard shows it: a chart of the last days, and the day on which it is used up."""

from __future__ import annotations

from datetime import UTC, datetime, time, timedelta
from decimal import Decimal
from typing import Any

from django.utils.translation import gettext as _

from verification.admin.base.charts import Number, Series, draw
from verification.core.formats import DAY, DAY_OF_YEAR, grouped, written_date
from verification.models import Provider, VendorBalance
from verification.services.providers import balances
from verification.services.providers.balances import Forecast

ONE_DAY = timedelta(days=1)


def balance_context(provider: Provider) -> dict[str, Any] | None:
    """Return the scorecard's context for the balance; None for a provider that reports none."""
    rows = balances.history(provider)
    forecast = balances.forecast(rows)
    if forecast is None:
        return {"is_awaited": True} if balances.tells_balance(provider) else None
    unit = forecast.balance.unit
    return {
        "chart": _chart(rows),
        "left": f"{_format(forecast.balance.amount)} {unit}",
        "day": written_date(forecast.balance.day, DAY),
        "outlook": _outlook(forecast),
        "is_short": forecast.until is not None
        and forecast.until - forecast.balance.day < timedelta(days=balances.RATE_DAYS),
        "rows": [(written_date(row.day, DAY), _format(row.amount)) for row in reversed(rows)],
        "unit": unit,
    }


def _outlook(forecast: Forecast) -> str:
    if forecast.a_day is None:
        return _("The forecast appears once there are balances from two days.")
    if not forecast.a_day:
        return _("Nothing was spent in the last week.")
    a_day = _("{written} {unit} per day").format(written=_format(forecast.a_day), unit=forecast.balance.unit)
    if forecast.until is None:
        return _("At this week's rate of {a_day}, the balance lasts more than ten years.").format(a_day=a_day)
    return _("At this week's rate of {a_day}, the balance lasts until {until}.").format(
        a_day=a_day, until=written_date(forecast.until, DAY)
    )


def _chart(rows: list[VendorBalance]) -> Any:
    """Draw a bar for each day since the first; days without a report have none."""
    by_day = {row.day: row for row in rows}
    days = [rows[0].day + number * ONE_DAY for number in range((rows[-1].day - rows[0].day).days + 1)]
    values = [float(max(by_day[day].amount, Decimal(0))) if day in by_day else None for day in days]
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


def _format(amount: Decimal) -> str:
    return grouped(amount, places=2)
