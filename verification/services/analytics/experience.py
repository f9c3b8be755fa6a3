"""What a project knows of its providers in each country from messages that it has sent over them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Sum

from verification.services.analytics import ranges
from verification.services.analytics.report import rows_of

DAYS = 90  # that are looked back at: a provider of last year says little of today's
LEAST_SENT = 20  # sessions of a country, below which a share says nothing


@dataclass(frozen=True, slots=True)
class Experience:
    """One provider's traffic in one country: the messages that it accepted, and the sessions whose code it sent."""

    accepted: int = 0
    sent: int = 0
    verified: int = 0

    @property
    def is_enough(self) -> bool:
        return self.sent >= LEAST_SENT and self.accepted > 0


def of_providers(projects: Sequence[int], now: datetime) -> dict[tuple[int, str], Experience]:
    """Return what is known of each provider in each country, by both. What was never used is not in it."""
    sums: dict[tuple[int, str], list[int]] = {}
    for rows in rows_of(projects, ranges.last_days(now, DAYS), {"is_manual": False}):
        found = rows.order_by().values_list("provider_id", "country")
        for provider, country, *counts in found.annotate(
            Sum("messages_accepted"), Sum("sessions_sent"), Sum("sessions_verified")
        ):
            known = sums.setdefault((provider, country), [0, 0, 0])
            sums[provider, country] = [one + other for one, other in zip(known, counts, strict=True)]
    return {key: Experience(*counts) for key, counts in sums.items() if counts[0]}
