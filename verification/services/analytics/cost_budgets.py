"""Budgets in money: what a channel's messages of the day or month have cost, and the alert as a budget runs out.

A price is known once the provider has answered, so no request can hold a budget in money. The workers sum the day and
the month after each count of the figures, and the project's configuration carries whether a budget is used up.
"""

from __future__ import annotations

from collections.abc import Collection
from datetime import date
from decimal import Decimal
from typing import Any

from django.db.models import Q
from django.utils import timezone

from verification.models import Alert, Channel, DailyChannelCost
from verification.services.analytics import costs
from verification.services.analytics.months import Month
from verification.services.analytics.ranges import Range, last_days
from verification.services.notifications import alerts
from verification.services.records.batches import run_each

KIND = "daily_cost_budget"  # of the alerts
MONTH_KIND = "monthly_cost_budget"
PARTS = (50, 80, 100)  # percent of a budget at which its owner is told, as of budgets in messages


def watch(only: Channel | None = None) -> int:
    """Sum the costs of every channel that has a budget in money, and return the number of new alerts.

    Today's are summed, and where a channel has a budget of the month, the month's. ``only`` is a channel whose budget
    is new: its owner does not wait for the workers' next count.
    """
    now = timezone.now()
    has_budget = Q(daily_cost_budget__gt=0) | Q(monthly_cost_budget__gt=0)
    chosen = Channel.objects.filter(has_budget, project__is_enabled=True).select_related("project")
    channels = list(chosen.filter(pk=only.pk) if only else chosen)
    if not channels:
        return 0
    today = _sums(channels, last_days(now, 1))
    monthly = [row for row in channels if row.monthly_cost_budget]
    month = _sums(monthly, Month(now.date().replace(day=1)).span(now)) if monthly else {}
    none = costs.Cost(costs.account_currency())

    def watch_one(row: Channel) -> int:
        return _watch_one(row, today.get(_key(row), none), month.get(_key(row), none), now.date())

    return sum(run_each(channels, watch_one, job=KIND))


def _watch_one(channel: Channel, day: costs.Cost, month: costs.Cost, today: date) -> int:
    """Keep a channel's sums where the project's configuration finds them, and return the number of new alerts."""
    row = DailyChannelCost(
        project=channel.project,
        channel=channel.type,
        day=today,
        amount=day.amount,
        month_amount=month.amount,
        currency=day.currency,
    )
    DailyChannelCost.objects.bulk_create(
        [row],
        update_conflicts=True,
        unique_fields=("project", "channel", "day"),
        update_fields=("amount", "month_amount", "currency"),
    )
    return _alert_of_day(channel, day.amount, day.currency, today) + _alert_of_month(
        channel, month.amount, month.currency, today
    )


def spent_today(projects: Collection[int]) -> dict[tuple[int, str], DailyChannelCost]:
    """Return today's sums by project and channel, as the workers have last written them."""
    rows = DailyChannelCost.objects.filter(project__in=projects, day=timezone.now().date())
    return {(row.project_id, row.channel): row for row in rows}


def sum_of_month(row: DailyChannelCost | None) -> Decimal | None:
    """Return the month's sum; None until it is summed: a row made for a limit of the day alone has 0."""
    return None if row is None or row.month_amount < row.amount else row.month_amount


def _sums(channels: Collection[Channel], span: Range) -> dict[tuple[Any, ...], costs.Cost]:
    return costs.grouped(sorted({row.project_id for row in channels}), span, ("project", "channel"))


def _key(channel: Channel) -> tuple[int, str]:
    return channel.project_id, channel.type


def _alert_of_day(channel: Channel, amount: Decimal, currency: str, day: date) -> int:
    budget = channel.daily_cost_budget or 0
    return _alert(
        channel,
        KIND,
        f"{day}",
        amount,
        budget,
        title="today's cost limit",
        detail=f"The channel {channel} spent {amount:,.2f} of {budget:,} {currency} today (UTC).",
        until="midnight UTC",
    )


def _alert_of_month(channel: Channel, amount: Decimal, currency: str, day: date) -> int:
    budget = channel.monthly_cost_budget or 0
    return _alert(
        channel,
        MONTH_KIND,
        f"{day:%Y-%m}",
        amount,
        budget,
        title="this month's cost limit",
        detail=f"The channel {channel} spent {amount:,.2f} of {budget:,} {currency} this month (UTC).",
        until="the end of the month (UTC)",
    )


def _alert(
    channel: Channel, kind: str, period: str, amount: Decimal, budget: int, *, title: str, detail: str, until: str
) -> int:
    """Alert once for each part of the budget and period, and return the number of new alerts."""
    if not budget:
        return 0
    keys = {f"{channel.type}:{period}:{part}": part for part in PARTS if 100 * amount >= part * budget}
    known = set(
        Alert.objects.filter(project=channel.project, kind=kind, key__in=keys).values_list("key", flat=True)
        if keys
        else ()
    )
    for key in keys.keys() - known:
        part = keys[key]
        ends = "Watchword sends nothing more" if part == PARTS[-1] else "At 100 % Watchword sends nothing more"
        alerts.raise_alert(
            project_id=channel.project_id,
            kind=kind,
            key=key,
            title=f"{channel}: {part} % of {title} used",
            detail=f"{detail} {ends} over it until {until}. If this is your own traffic, raise the limit on the"
            " channel's page.",
        )
    return len(keys.keys() - known)
