"""The scorecard of a provider: how it did in a range and a country, beside the others that could have carried the same.

Sums are those of the named projects alone. Times aside are the provider's own, whoever's message opened its breaker.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import Q, Sum
from django.utils import timezone

from verification.models import BreakerOpening, HourlyFaults, Provider
from verification.services.analytics import report
from verification.services.analytics.ranges import Range
from verification.services.analytics.report import FigureSums

OPENINGS_TOLD = 50  # the latest of a range


@dataclass(frozen=True, slots=True)
class Card:
    """The record of one provider. ``asked`` counts its calls, also for messages that another carried in the end."""

    provider: Provider
    sums: FigureSums

    @property
    def asked(self) -> int:
        return self.sums.counts["attempts"]

    @property
    def accepted(self) -> float | None:
        """The accepted of a hundred calls."""
        return report.percent(self.sums.counts["attempts_accepted"], self.asked)

    @property
    def delivered(self) -> float | None:
        """The delivered of a hundred messages that it accepted."""
        return report.percent(self.sums.counts["messages_delivered"], self.sums.counts["messages_accepted"])

    @property
    def conversion(self) -> float | None:
        return self.sums.conversion

    def seconds(self, name: str, share: float = 0.5) -> float | None:
        return self.sums.seconds(name, share)


@dataclass(frozen=True, slots=True)
class Opening:
    """A time for which a provider was set aside; ``until`` is None while it lasts."""

    at: datetime
    until: datetime | None
    reason: str

    @property
    def minutes(self) -> float:
        return ((self.until or timezone.now()) - self.at).total_seconds() / 60


def cards(projects: Sequence[int], provider: Provider, span: Range, country: str | None = None) -> list[Card]:
    """Return the card of this provider first, then those of the others that serve its channel in these projects."""
    where: dict[str, Any] = {"channel": provider.channel} | ({} if country is None else {"country": country})
    found = report.grouped(projects, span, ("provider_id",), where)
    others = Provider.objects.serving(list(projects)).filter(channel=provider.channel).exclude(pk=provider.pk)
    rows = [provider, *others.in_order()]
    return [Card(each, found.get((each.pk,), FigureSums())) for each in rows]


def countries(projects: Sequence[int], provider: Provider, span: Range) -> list[str]:
    """Return the countries that it was asked for in a range, those with most calls first."""
    found = report.grouped(projects, span, ("country",), {"provider_id": provider.pk})
    return [key for (key,), _ in sorted(found.items(), key=lambda item: -item[1].counts["attempts"])]


def faults(
    projects: Sequence[int], provider: Provider, span: Range, country: str | None = None
) -> list[tuple[str, int]]:
    """Return the calls that it did not accept by their outcome, the most frequent first."""
    rows = HourlyFaults.objects.filter(
        project__in=projects, provider_id=provider.pk, hour__gte=span.since, hour__lt=span.until
    )
    rows = rows if country is None else rows.filter(country=country)
    return list(rows.order_by().values_list("outcome").annotate(sum=Sum("calls")).order_by("-sum", "outcome"))


def openings(provider: Provider, span: Range) -> list[Opening]:
    """Return the times aside that a range touches, the latest first."""
    rows = BreakerOpening.objects.filter(
        Q(closed_at=None) | Q(closed_at__gt=span.since), provider=provider, opened_at__lt=span.until
    )
    return [Opening(row.opened_at, row.closed_at, row.reason) for row in rows.order_by("-opened_at")[:OPENINGS_TOLD]]
