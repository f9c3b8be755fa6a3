"""The pages behind an alert: what it is about, and the figures of its day."""

from __future__ import annotations

from django.urls import reverse
from django.utils.translation import gettext as _

from verification.admin.base.display import page_address
from verification.core.whole_numbers import whole_number
from verification.models import Alert, Channel, Provider
from verification.models.oversight import OUTAGE
from verification.services.analytics import cost_budgets
from verification.services.analytics.breaks import read_key
from verification.services.analytics.summary import ABOUT_PROVIDERS

ABOUT_CHANNELS = (OUTAGE, "channel_up", "daily_budget", cost_budgets.KIND)


def links_of(alert: Alert) -> list[tuple[str, str]]:
    """Return the title and the address of each page, the nearest first."""
    return [*_subject(alert), (_("The figures of that day"), _figures(alert))]


def _subject(alert: Alert) -> list[tuple[str, str]]:
    if alert.kind in ABOUT_PROVIDERS:
        number = whole_number(alert.key.partition(" ")[0]) or 0  # no provider has the number 0
        provider = Provider.objects.filter(project=alert.project_id, pk=number).first()
        if provider:
            found = read_key(alert.key)
            query = {"country": found.country} if found else None
            scorecard = reverse("admin:verification_provider_scorecard", args=(provider.pk,), query=query)
            return [
                (_("Scorecard of {provider}").format(provider=provider), scorecard),
                (_("Its settings"), page_address(provider)),
            ]
    if alert.kind in ABOUT_CHANNELS:
        channel = Channel.objects.filter(project=alert.project_id, type=alert.key.partition(":")[0].partition(" ")[0])
        return [(_("The channel {channel}").format(channel=row), page_address(row)) for row in channel]
    if alert.kind == "guard":
        return [(_("Traffic guard"), reverse("admin:verification_guardblock_changelist"))]
    return []


def _figures(alert: Alert) -> str:
    day = f"{alert.created_at:%Y-%m-%d}"
    return reverse("admin:verification_figures", query={"from": day, "to": day, "project": alert.project_id})
