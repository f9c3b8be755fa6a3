"""The costs of a month: spent so far, the forecast, the budgets, and what each country, provider and project cost."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any

from django.http import HttpRequest, HttpResponse, HttpResponseBadRequest
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils import timezone, translation
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from verification.admin.base.charts import Chart, Series, draw
from verification.admin.base.csv_export import LANGUAGE, harmless
from verification.admin.base.current_project import current_project_ids, follow_address
from verification.admin.base.database_router import database_for, reading
from verification.admin.figures.money import amount, has_at_least, money_cell
from verification.admin.figures.tiles import Tile
from verification.core.errors import UserError
from verification.core.formats import DAY_OF_YEAR, grouped, written_date
from verification.models import Channel
from verification.services.analytics import cost_budgets, costs, months
from verification.services.analytics.costs import Cost
from verification.services.analytics.months import DIMENSIONS, Month, Spending
from verification.services.analytics.ranges import DAY
from verification.services.analytics.summary import names_of

CHANNELS_SHOWN = 8  # links to the pages where a limit is set; more are on the list of channels
ROWS_SHOWN = 20  # of one table, those that cost most: the file has them all
TITLES = {
    "country": gettext_lazy("Country"),
    "provider_id": gettext_lazy("Provider"),
    "channel": gettext_lazy("Channel"),
    "project": gettext_lazy("Project"),
}


@dataclass(frozen=True, slots=True)
class CostRow:
    """What one country, provider, channel or project cost in the month."""

    name: str
    is_country: bool
    cost: str
    share: float | None
    before: str
    messages: int
    per_verified: str
    figures: str  # the address of its figures in the month; none of what has no name


@dataclass(frozen=True, slots=True)
class MoneyBudget:
    """A channel's budget in money, of the day or of the month, and what of it is spent; None until it is summed."""

    channel: Channel
    period: str
    spent: Decimal | None
    limit: int

    @property
    def percent(self) -> int:
        return min(100, round(100 * (self.spent or 0) / self.limit))

    @property
    def words(self) -> str:
        if self.spent is None:
            return _("being counted; limit {limit}").format(limit=grouped(self.limit))
        return _("{spent} of {limit}").format(spent=grouped(self.spent, places=2), limit=grouped(self.limit))


def costs_view(request: HttpRequest, model_admin: Any) -> HttpResponse:
    if redirect := follow_address(request):
        return redirect
    now, ids = timezone.now(), current_project_ids(request)
    wrong = ""
    try:
        month = months.month_of(request.GET.get("month", ""), now)
        month.span(now)
    except UserError as error:
        month, wrong = Month(now.date().replace(day=1)), str(error)
    if "csv" in request.GET:
        return HttpResponseBadRequest(wrong, content_type="text/plain") if wrong else _file(ids, month, now)
    with reading(database_for(request)):
        spent = months.spending(ids, month, now)
        context = _context(spent, ids, now)
    context |= {"wrong": wrong, "invoice": reverse("admin:verification_invoice")}
    page = model_admin.page_context(request, _("Costs"), opts=None, **context)
    return TemplateResponse(request, "admin/verification/costs.html", page, status=400 if wrong else 200)


def _context(spent: Spending, ids: list[int], now: datetime) -> dict[str, Any]:
    month = spent.month
    is_present, channels = month.until > now.date(), _channels(ids)
    chart = _chart(spent, now)
    days = [(written_date(day, DAY_OF_YEAR), money_cell(cost.known, cost.unknown)) for day, cost in _by_day(spent)]
    tables = [table for name in TITLES if (table := _table(spent, name, now))]
    sums = (cell for table in tables for row in table["rows"] for cell in (row.cost, row.before, row.per_verified))
    return {
        "month": written_date(month.first, "F Y"),
        "this": str(month),
        "earlier": str(month.before),
        "later": "" if is_present else f"{month.until:%Y-%m}",
        "is_present": is_present,
        "currency": spent.total.currency,
        "is_empty": not (spent.total.sends or spent.total_before.sends),
        "money": {"cost": spent.total},
        "tiles": _tiles(spent, is_present=is_present),
        "charts": [chart] if chart else [],
        "days": days,
        "tables": tables,
        "has_at_least": has_at_least([*(cost for _day, cost in days), *sums]),
        "budgets": _budgets(ids, channels) if is_present else [],
        "channels": channels[:CHANNELS_SHOWN],
        "is_of_many": len(ids) > 1,
    }


def _tiles(spent: Spending, *, is_present: bool) -> list[Tile]:
    total, currency = spent.total, spent.total.currency
    before = amount(spent.total_before.known) if spent.total_before.sends else _("nothing sent")
    verified = sum(spent.verified["channel"].values())
    note = _("at least; some messages have no price") if total.unknown and total.known is not None else ""
    tiles = [
        Tile(
            _("Spent so far, {currency}").format(currency=currency)
            if is_present
            else _("Spent, {currency}").format(currency=currency),
            amount(total.known),
            _("same days last month: {amount}").format(amount=before)
            if is_present
            else _("month before: {amount}").format(amount=before),
            note,
        )
    ]
    if is_present:
        forecast = spent.forecast
        tiles.append(
            Tile(
                _("Month forecast, {currency}").format(currency=currency),
                "–" if forecast is None else grouped(round(forecast, 2)),
                _("needs a week of traffic") if forecast is None else _("based on recent weekdays"),
            )
        )
    per = total.per(verified)
    tiles.append(Tile(_("Per verified user, {currency}").format(currency=currency), amount(per), _("all channels")))
    tiles.append(
        Tile(
            _("Messages"),
            grouped(total.sends),
            _("{number} without a price").format(number=grouped(total.unknown))
            if total.unknown
            else _("all have prices"),
        )
    )
    return tiles


def _by_day(spent: Spending) -> list[tuple[date, Cost]]:
    return sorted(spent.days.items())


def _chart(spent: Spending, now: datetime) -> Chart | None:
    last = min(spent.month.until - DAY, now.date())
    days = [spent.month.first + n * DAY for n in range((last - spent.month.first).days + 1)]
    none = Cost(spent.total.currency)
    values = [float(spent.days.get(day, none).amount) for day in days]
    return draw(
        "costs",
        _("Cost by day, {currency}").format(currency=spent.total.currency),
        [datetime.combine(day, time.min, UTC) for day in days],
        [Series(_("Cost"), "ww-verified", values, is_bar=True)],
        label=lambda at: written_date(at, DAY_OF_YEAR),
        step=DAY,
        written=lambda value: "–" if value is None else grouped(value, places=2 if value % 1 else 0),
    )


def _table(spent: Spending, name: str, now: datetime) -> dict[str, Any] | None:
    found = spent.by[name]
    if not found or (name == "project" and len(found) < 2):
        return None
    names = names_of(name, list(found))
    ordered = sorted(found.items(), key=lambda item: (-item[1].amount, -item[1].sends))
    whole = spent.total.amount
    days = {"from": spent.month.first, "to": min(spent.month.until - DAY, now.date())}
    rows = [
        CostRow(
            names[key],
            name == "country" and bool(key),
            money_cell(cost.known, cost.unknown),
            round(float(100 * cost.amount / whole), 1) if whole else None,
            _cell(spent.of(name, key)),
            cost.sends,
            money_cell(cost.per(spent.verified[name].get(key, 0)), cost.unknown),
            reverse("admin:verification_figures", query={**days, name: key}) if key else "",
        )
        for key, cost in ordered[:ROWS_SHOWN]
    ]
    return {"title": TITLES[name], "rows": rows, "number": len(found)}


def _cell(cost: Cost) -> str:
    return money_cell(cost.known, cost.unknown) if cost.sends else "–"


def _channels(ids: list[int]) -> list[Channel]:
    channels = Channel.objects.filter(project__in=ids, is_active=True).select_related("project")
    return list(channels.order_by("project__name", "position", "pk"))


def _budgets(ids: list[int], channels: list[Channel]) -> list[MoneyBudget]:
    today = cost_budgets.spent_today(ids)
    found = []
    for channel in channels:
        cost = today.get((channel.project_id, channel.type))
        if channel.monthly_cost_budget:
            spent = cost_budgets.sum_of_month(cost)
            found.append(MoneyBudget(channel, _("this month"), spent, channel.monthly_cost_budget))
        if channel.daily_cost_budget:
            spent = cost.amount if cost else None
            found.append(MoneyBudget(channel, _("today"), spent, channel.daily_cost_budget))
    return found


def _file(ids: list[int], month: Month, now: datetime) -> HttpResponse:
    """Return the costs of each day by project, channel, provider and country. The file is in English for programs."""
    response = HttpResponse(content_type="text/csv; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="costs-{month}.csv"'
    rows = csv.writer(response)
    heads = ("project", "channel", "provider", "country")
    rows.writerow(["day", *heads, "currency", "cost", "messages", "messages_without_price", "segments"])
    with translation.override(LANGUAGE):
        found = costs.daily(ids, month.span(now), DIMENSIONS)
        names = {name: names_of(name, list({key[1 + n] for key in found})) for n, name in enumerate(DIMENSIONS)}
        for (day, *keys), cost in sorted(found.items(), key=lambda item: (item[0][0], *map(str, item[0][1:]))):
            cells = [
                str(key) if name in ("channel", "country") else names[name][key]
                for name, key in zip(DIMENSIONS, keys, strict=True)
            ]
            known = "" if cost.known is None else f"{cost.amount:.{costs.FILE_PLACES}f}"
            rows.writerow(
                [f"{day}", *map(harmless, cells), cost.currency, known, cost.sends, cost.unknown, cost.segments]
            )
    return response
