"""When what an alert tells of was over, where that is known."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta

from django.utils import timezone

from providers.base import Outcome
from verification.models import Alert, HourlyFaults, HourlyFigures, Provider
from verification.models.alerts import COLLAPSE, OUTAGE
from verification.services.analytics import impact
from verification.services.analytics.ranges import DAY, HOUR
from verification.services.notifications import balance_alerts, provider_alerts
from verification.services.providers import balances

LOOKED_AT = 7 * DAY  # after the alert, in which a provider accepts messages again
LATELY = timedelta(hours=2)  # since which a refusal says that it lasts: faults are counted by the hour
LASTING = (Outcome.OUT_OF_FUNDS, Outcome.MISCONFIGURED)  # that refuse all messages: others may be of one number


@dataclass(frozen=True, slots=True)
class AlertEnd:
    """``at`` is None while it lasts."""

    at: datetime | None


def end_of(alert: Alert) -> AlertEnd | None:
    """Return the end of what an alert tells of; None where nobody knows whether it is over."""
    if alert.ended_at or alert.kind in (OUTAGE, COLLAPSE):
        return AlertEnd(alert.ended_at)
    number, _space, rest = alert.key.partition(" ")
    provider = Provider.objects.filter(project=alert.project_id, pk=int(number)).first() if number.isdecimal() else None
    if provider is None:
        return None
    if alert.kind == balance_alerts.KIND:
        return _of_balance(provider, rest)
    outcome = rest.partition(" ")[0]
    return _of_refusals(alert, provider, outcome) if alert.kind == provider_alerts.KIND and outcome in LASTING else None


def _of_balance(provider: Provider, topped_up: str) -> AlertEnd | None:
    """Return the day of a later top-up than the last one that the alert knew."""
    found = balances.forecast(balances.history(provider))
    if found is None:
        return None
    is_over = found.since is not None and f"{found.since}" > topped_up
    return AlertEnd(datetime.combine(found.since, time.min, UTC) if found.since and is_over else None)


def _of_refusals(alert: Alert, provider: Provider, outcome: str) -> AlertEnd | None:
    """Return the end of the provider's pause, or the first hour in which it accepted messages there and refused none.

    There are the countries to which it refused some.
    """
    if opening := impact.opening_of(provider.pk, alert.created_at):
        return AlertEnd(opening.closed_at)
    first = alert.created_at.astimezone(UTC).replace(minute=0, second=0, microsecond=0)
    week = {"project": alert.project_id, "provider_id": provider.pk, "hour__gte": first, "hour__lt": first + LOOKED_AT}
    faults = list(HourlyFaults.objects.filter(**week, outcome=outcome).values_list("hour", "country"))
    hours = {hour for hour, _country in faults}
    accepted = HourlyFigures.objects.filter(
        **week, messages_accepted__gt=0, country__in={each for _hour, each in faults}
    )
    ended = accepted.exclude(hour__in=hours).order_by("hour").values_list("hour", flat=True).first()
    if ended or max(hours, default=first) + HOUR >= timezone.now() - LATELY:
        return AlertEnd(ended)
    return None
