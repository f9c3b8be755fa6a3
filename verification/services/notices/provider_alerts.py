"""Alerts about a provider that refuses messages, as its owner may have to act."""

from __future__ import annotations

import logging
from datetime import date

from django.utils import timezone

from providers.base import Outcome, Result
from verification.services.gateways.accounts import LiveProvider
from verification.services.notices import alerts

log = logging.getLogger(__name__)

_WORDS = {
    Outcome.MISCONFIGURED: (
        "refuses what we send",
        "It means us and not the recipient: the account, its credentials, the sender, the text or an address of ours."
        " Five such answers in a row set the provider aside for a while. Correct its settings, or ask the provider.",
    ),
    Outcome.OUT_OF_FUNDS: (
        "is out of funds",
        "Five such answers in a row set the provider aside for a while. Top the account up.",
    ),
    Outcome.DECLINED: (
        "does not take some messages",
        "It may serve no such country or route, or gives no clear reason. It goes on being asked. The page Messages"
        " shows which ones it declined.",
    ),
}

# (provider, outcome) → the day on which this process raised the alert. It only spares the database: the row is unique.
_told_of: dict[tuple[int, Outcome], date] = {}


def tell_owner(project_id: int, provider: LiveProvider, result: Result) -> None:
    """Tell the owner once a day, for each kind of refusal.

    A system provider is the operator's matter, and the log tells them.
    """
    today = timezone.now().date()
    if _told_of.get((provider.id, result.outcome)) == today:
        return
    title, advice = _WORDS[result.outcome]
    if provider.is_system:
        log.error("%s %s: %s", provider.name, title, result.error)
    else:
        alerts.raise_alert(
            project_id=project_id,
            kind="provider",
            key=f"{provider.id} {result.outcome.value} {today}",
            title=f"{provider.name} {title}",
            detail=f"It answered: {result.error.rstrip('.')}. {advice} Meanwhile the next provider of the channel has"
            " its turn; where there is none, messages fail.",
        )
    _told_of[provider.id, result.outcome] = today
