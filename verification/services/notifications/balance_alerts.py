"""Alerts about a vendor's balance that will soon be used up, and the round in which the workers ask for balances."""

from __future__ import annotations

import logging
from datetime import timedelta

from django.utils import timezone

from verification.models import Provider
from verification.models.project_settings.notices import Alerts
from verification.services.notifications import alerts
from verification.services.providers import balances
from verification.services.providers.balances import Forecast
from verification.services.records.batches import run_each

log = logging.getLogger(__name__)

KIND = "balance"
# A system provider has no project whose setting would hold, so the usual number of days does.
USUAL_DAYS: int = Alerts._meta.get_field("balance_alert_days").default


def run() -> int:
    """Ask every provider that is due for its balance, and return the number that told one. A failure stops no other."""

    def ask(provider: Provider) -> bool:
        if not balances.ask(provider):
            return False
        alert_owner(provider)
        return True

    told = run_each(balances.due(), ask, job=KIND)  # an adapter may be of the operator's own making, and fail
    balances.purge()
    return sum(told)


def alert_owner(provider: Provider) -> None:
    """Alert once for each top-up when the balance lasts less than the project's number of days.

    A system provider is the operator's matter, and the log tells them.
    """
    found = balances.forecast(balances.history(provider))
    days = provider.project.balance_alert_days if provider.project else USUAL_DAYS
    if found is None or found.until is None or not days:
        return
    if found.until >= timezone.now().date() + timedelta(days=days):
        return
    title = f"The balance at {provider.name} runs out on {format_forecast(found)}"
    if provider.project is None:
        log.error("%s, at the last week's rate.", title)
        return
    alerts.raise_alert(
        project_id=provider.project.pk,
        kind=KIND,
        key=f"{provider.pk} {found.since or ''}".strip(),
        title=title,
        detail=f"{found.balance.amount.normalize():f} {found.balance.unit} left; the last week cost "
        f"{round(found.a_day or 0, 2)} {found.balance.unit} a day. Top up the account: without funds the "
        "vendor rejects messages, and Watchword uses the channel's next provider, if there is one. You get "
        "this alert once after each top-up; the setting balance_alert_days says how early.",
    )


def format_forecast(found: Forecast) -> str:
    return f"{found.until:%-d %B}" if found.until else "–"
