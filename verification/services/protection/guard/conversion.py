"""The conversion of SMS and calls: how many were sent, verified and refused, by country and by prefix."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db.models import Count, Sum
from django.utils import timezone

from verification.models import Decision, GuardBlock, GuardedSend, GuardRule
from verification.models.guard import REFUSES_SENDS

PREFIXES_SHOWN = 20  # the worst ones; the others are seldom of interest


@dataclass(frozen=True, slots=True)
class ConversionFigures:
    """The SMS and calls to a country or a prefix, manual sends left out, and what the traffic guard refused."""

    subject: str
    sends: int
    verified: int
    refused: int

    @property
    def percent(self) -> int | None:
        """The conversion: how many of a hundred sends were proved by session/verify. None without a send."""
        return 100 * self.verified // self.sends if self.sends else None

    def as_dict(self) -> dict[str, Any]:
        return {
            "subject": self.subject,
            "sends": self.sends,
            "verified": self.verified,
            "percent": self.percent,
            "refused": self.refused,
        }


def by_country(projects: Any, *, hours: int) -> list[ConversionFigures]:
    """Return the figures of each country, those with most unverified or refused sends first."""
    since = timezone.now() - timedelta(hours=hours)
    noted = Decision.objects.filter(project__in=projects, rule__in=REFUSES_SENDS, refused__gt=0, last_at__gte=since)
    return _figures(projects, "country", noted.order_by().values_list("country").annotate(Sum("refused")), since)


def by_prefix(projects: Any, *, hours: int) -> list[ConversionFigures]:
    """Return the figures of the prefixes with most unverified or refused sends."""
    since = timezone.now() - timedelta(hours=hours)
    findings = GuardBlock.objects.filter(project__in=projects, rule=GuardRule.PREFIX, since__gte=since)
    refused = findings.order_by().values_list("subject").annotate(Sum("refused"))
    return _figures(projects, "prefix", refused, since)[:PREFIXES_SHOWN]


def _figures(projects: Any, subject: str, refusals: Any, since: datetime) -> list[ConversionFigures]:
    """Count by ``subject``, a column of the guarded sends. ``refusals`` are pairs of a subject and a number."""
    sends = (
        GuardedSend.objects.filter(project__in=projects, created_at__gte=since, is_manual=False)
        .values_list(subject)
        .annotate(Count("pk"), Count("verified_at"))
    )
    refused = dict(refusals)
    counts = {name: (total, verified) for name, total, verified in sends}
    lines = [
        ConversionFigures(name, *counts.get(name, (0, 0)), refused.get(name, 0))
        for name in counts.keys() | refused.keys()
    ]
    return sorted(lines, key=lambda line: (line.verified - line.sends - line.refused, line.subject))
