"""Limits of a whole project or channel that are used up, or soon will be: beyond them its users get no codes."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from django.db import connection
from django.db.models import Max, Q, Sum
from django.utils import timezone

from verification.core.caching import cached_for
from verification.core.formats import grouped
from verification.models import Decision

NEAR = 0.8  # the part of a limit from which it is told
LOOK_SECONDS = 5.0  # what is spent is looked at no more often
OF_A_SECOND = ("requests_per_second", "hooks_per_second")  # rules about all of a project's calls in one second
RECENT = timedelta(minutes=1)  # a limit of a second counts as reached for so long after its last refusal
# What a channel has spent today and this month, beside its limits. Test projects wake nobody.
_SPENT = """
    SELECT p.id, p.name, channel.type, budget.name, budget.used, budget.allowed, budget.unit
    FROM verification_channel AS channel
    JOIN verification_project AS p ON p.id = channel.project_id
    LEFT JOIN verification_dailyspend AS spend
        ON spend.project_id = p.id AND spend.channel = channel.type AND spend.day = %(today)s
    LEFT JOIN verification_dailychannelcost AS cost
        ON cost.project_id = p.id AND cost.channel = channel.type AND cost.day = %(today)s
    CROSS JOIN LATERAL (VALUES
        ('daily_budget', spend.messages, least(channel.effective_budget, (
            SELECT nullif(max_daily_budget, 0) FROM verification_platform
        )), 'messages today'),
        ('daily_cost_budget', cost.amount, channel.daily_cost_budget, cost.currency || ' today'),
        ('monthly_cost_budget', cost.month_amount, channel.monthly_cost_budget, cost.currency || ' this month')
    ) AS budget (name, used, allowed, unit)
    WHERE channel.is_active AND p.is_enabled AND p.deleted_at IS NULL AND NOT p.is_sandbox
      AND budget.used > 0 AND budget.allowed > 0
"""


@dataclass(frozen=True, slots=True)
class UsedLimit:
    """One limit and what of it is used. ``limit`` is the setting's name, ``channel`` empty for the whole project."""

    project_id: int
    project: str
    channel: str
    limit: str
    share: float  # 1.0 and more: reached
    words: str

    @property
    def is_reached(self) -> bool:
        return self.share >= 1

    @property
    def setting(self) -> str:
        """The name by which ``setproject`` raises it."""
        return f"{self.channel}.{self.limit}" if self.channel else self.limit


@cached_for(LOOK_SECONDS)
def in_use() -> tuple[UsedLimit, ...]:
    """Return all limits of which something is used, the fullest first. Raises Django's database errors."""
    found = [*_of_channels(), *_of_a_second()]
    return tuple(sorted(found, key=lambda each: (-each.share, each.project_id, each.channel, each.limit)))


def told() -> tuple[UsedLimit, ...]:
    """Return those that an operator is told of."""
    return tuple(each for each in in_use() if each.share >= NEAR)


def _of_channels() -> list[UsedLimit]:
    with connection.cursor() as cursor:
        cursor.execute(_SPENT, {"today": timezone.now().date()})
        rows = cursor.fetchall()
    return [
        UsedLimit(
            project_id,
            project,
            channel,
            name,
            float(used / allowed),
            f"{grouped(used, places=0 if name == 'daily_budget' else 2)} of {grouped(allowed, places=0)} {unit}",
        )
        for project_id, project, channel, name, used, allowed, unit in rows
    ]


def _of_a_second() -> list[UsedLimit]:
    """Return those that refused somebody just now. What is left of a second is over before anybody reads it."""
    now = timezone.now()
    recent = Decision.objects.filter(
        Q(project__is_enabled=True, project__is_sandbox=False, project__deleted_at=None),
        rule__in=OF_A_SECOND,
        refused__gt=0,
        hour__gte=now - RECENT - timedelta(hours=1),
    )
    rows = (
        recent.order_by().values_list("project", "project__name", "rule").annotate(Sum("refused"), last=Max("last_at"))
    )
    return [
        UsedLimit(project_id, project, "", rule, 1.0, f"{grouped(refused)} calls refused within the hour")
        for project_id, project, rule, refused, last in rows
        if last >= now - RECENT
    ]
