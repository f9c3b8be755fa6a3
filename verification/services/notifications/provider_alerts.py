"""Alerts about a provider that refuses messages, as its owner may have to act."""

from __future__ import annotations

import logging

from django.utils import timezone

from providers.base import Outcome, Result
from verification.core.caching import Cooldown
from verification.services.notifications import alerts
from verification.services.providers.active import LiveProvider

log = logging.getLogger(__name__)

DAY_SECONDS = 24 * 60 * 60  # an alert of a day is remembered for that long; the next day's has another key

_WORDS = {
    Outcome.MISCONFIGURED: (
        "rejects our requests",
        "The problem is your account and not the recipient: its credentials, the sender, the text, or our IP address, "
        "which the provider does not allow. If five recipients in a row are answered so, Watchword pauses the provider "
        "for a while. Correct its settings or ask the provider.",
    ),
    Outcome.OUT_OF_FUNDS: (
        "is out of funds",
        "If five recipients in a row are answered so, Watchword pauses the provider for a while. Top up the account.",
    ),
    Outcome.DECLINED: (
        "rejects some messages",
        "It may not serve that country or route, or it gives no clear reason. Watchword keeps using it, unless it "
        "rejects nearly everybody. The Messages page shows which messages it rejected.",
    ),
    Outcome.UNCLEAR: (
        "gives answers that Watchword cannot read",
        "They say neither yes nor no, so each message may have been sent. Compare its settings with your account, "
        "above all what means that a message was accepted.",
    ),
}

KIND = "provider"  # of the alert; its key begins with the provider's id
MAX_REMEMBERED = 10_000  # alerts of a day that a process remembers; it raises any others again, which changes nothing
# By provider, outcome and day: the alerts that this process raised. It only spares the database: the row is unique.
_alerted = Cooldown(MAX_REMEMBERED)


def alert_owner(project_id: int, provider: LiveProvider, result: Result) -> None:
    """Tell the owner once a day, for each kind of refusal.

    A system provider is the operator's matter, and the log tells them.
    """
    today = timezone.now().date()
    if _alerted.left((provider.id, result.outcome, today)):
        return
    title, advice = _WORDS[result.outcome]
    if provider.is_system:
        fields = {"provider": provider.id, "provider_name": provider.name}
        answer = {"outcome": result.outcome.value, "error": result.error}
        log.error("a system provider needs attention", extra=fields | answer)
    else:
        said = result.error.rstrip(".")
        alerts.raise_alert(
            project_id=project_id,
            kind=KIND,
            key=f"{provider.id} {result.outcome.value} {today}",
            title=f"{provider.name} {title}",
            detail=f'The provider said: "{said}". {advice} Meanwhile Watchword uses the next provider of the channel; '
            "if there is none, messages fail.",
        )
    _alerted.begin((provider.id, result.outcome, today), seconds=DAY_SECONDS)
