"""Budgets in money: what a channel's messages of the day have cost, and the alert as a budget runs out.

A price is known once the provider has answered, so no request can hold a budget in money. The workers sum the day after
each count of the figures, and the project's configuration carries whether a budget is used up.
"""

from __future__ import annotations

from collections.abc import Collection
from datetime import date
from decimal import Decimal

from django.utils import timezone

from verification.models import Alert, Channel, DailyChannelCost
from verification.services.analytics import costs
from verification.services.analytics.ranges import last_days
from verification.services.notifications import alerts

KIND = "daily_cost_budget"  # of the alerts
PARTS = (50, 80, 100)  # percent of a budget at which its owner is told, as of budgets in messages


def watch() -> int:
    """Sum today's costs of every channel that has a budget in money, and return the number of new alerts."""
    now = timezone.now()
    channels = list(Channel.objects.filter(daily_cost_budget__gt=0, project__is_enabled=True).select_related("project"))
    if not channels:
        return 0
    found = costs.grouped(sorted({row.project_id for row in channels}), last_days(now, 1), ("project", "channel"))
    none = costs.Cost(costs.account_currency())
    today = [(row, found.get((row.project_id, row.type), none)) for row in channels]
    DailyChannelCost.objects.bulk_create(
        (
            DailyChannelCost(
                project=row.project, channel=row.type, day=now.date(), amount=cost.amount, currency=cost.currency
            )
            for row, cost in today
        ),
        update_conflicts=True,
        unique_fields=("project", "channel", "day"),
        update_fields=("amount", "currency"),
    )
    return sum(_alert(row, cost.amount, cost.currency, now.date()) for row, cost in today)


def spent_today(projects: Collection[int]) -> dict[tuple[int, str], DailyChannelCost]:
    """Return today's sums by project and channel, as the workers have last written them."""
    rows = DailyChannelCost.objects.filter(project__in=projects, day=timezone.now().date())
    return {(row.project_id, row.channel): row for row in rows}


def _alert(channel: Channel, amount: Decimal, currency: str, day: date) -> int:
    """Alert once for each part of the budget and day, and return the number of new alerts."""
    budget = channel.daily_cost_budget or 0
    keys = {f"{channel.type}:{day}:{part}": part for part in PARTS if 100 * amount >= part * budget}
    known = set(
        Alert.objects.filter(project=channel.project, kind=KIND, key__in=keys).values_list("key", flat=True)
        if keys
        else ()
    )
    for key in keys.keys() - known:
        part = keys[key]
        ends = "Nothing more goes" if part == PARTS[-1] else "At the whole of it, nothing more goes"
        alerts.raise_alert(
            project_id=channel.project_id,
            kind=KIND,
            key=key,
            title=f"{part} % of today's budget in money for {channel} is used",
            detail=f"{amount:,.2f} of {budget:,} {currency} of the day (UTC) were spent on the channel {channel}."
            f" {ends} over it until midnight UTC. If this is your own traffic, raise the budget on the channel's page.",
        )
    return len(keys.keys() - known)
