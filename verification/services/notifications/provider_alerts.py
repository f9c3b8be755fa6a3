"""Alerts about a provider that refuses messages, as its owner may have to act."""

from __future__ import annotations

import logging
from datetime import timedelta
from typing import NamedTuple

from django.utils import timezone

from providers.base import Outcome, Result
from verification.core.caching import Cooldown
from verification.models import DeliveryAttempt, NoAccount, Provider
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

OPT_OUTS_READ = 50  # the newest calls, among which opt-outs are compared with other refusals
OPT_OUTS_MIN = 3  # recipients who have opted out, before the owner is told
_OPT_OUTS = (
    "refuses most recipients as opted out",
    "Of the last {refused} recipients whom it refused, {opted_out} are on its list of opt-outs. If they did not opt "
    "out, the account's sender may be of the wrong kind: ask the provider. Watchword remembers each opt-out for a day, "
    "for this provider alone, and asks the others of the channel first.",
)

_REPORTS_ENDED = (
    "sends no more delivery reports",
    "The service has ended the subscription of this provider's webhook address. Until it is subscribed again, no "
    "message is known to have arrived: each ends as expired, and fallbacks send a second one. Subscribe the address "
    "again, or turn reports off for this provider.",
)
_REFUSALS = {Outcome.REFUSED.value, Outcome.DECLINED.value, Outcome.OPTED_OUT.value, Outcome.MISCONFIGURED.value}

KIND = "provider"  # of the alert; its key begins with the provider's id
MAX_REMEMBERED = 10_000  # alerts of a day that a process remembers; it raises any others again, which changes nothing
# By provider, outcome and day: the alerts that this process raised. It only spares the database: the row is unique.
_alerted = Cooldown(MAX_REMEMBERED)


def alert_owner(project_id: int, provider: LiveProvider, result: Result) -> None:
    """Tell the owner once a day, for each kind of refusal.

    A system provider is the operator's matter, and the log tells them.
    """
    subject = _Subject(project_id, provider.id, provider.name, provider.is_system)
    if _is_told(subject, result.outcome):
        return
    title, advice = _WORDS[result.outcome]
    said = result.error.rstrip(".")
    detail = (
        f'The provider said: "{said}". {advice} Meanwhile Watchword uses the next provider of the channel; '
        "if there is none, messages fail."
    )
    _tell(subject, result.outcome, title, detail, error=result.error)


def alert_opt_outs(project_id: int, provider_id: int, name: str, is_system: bool) -> None:
    """Tell the owner once a day if most of the recipients whom the provider refused of late have opted out there.

    Some vendors say so of everybody while the account's sender is of the wrong kind.
    """
    subject = _Subject(project_id, provider_id, name, is_system)
    if _is_told(subject, Outcome.OPTED_OUT):
        return
    since = timezone.now() - timedelta(seconds=DAY_SECONDS)
    newest = DeliveryAttempt.objects.filter(provider_id=provider_id, created_at__gt=since).order_by("-created_at")
    calls = newest.values_list("message__recipient_id", "outcome", "failed_at")[:OPT_OUTS_READ]
    refused = {recipient for recipient, outcome, failed_at in calls if outcome in _REFUSALS or failed_at is not None}
    noted = NoAccount.objects.filter(provider_id=provider_id, noted_at__gt=since, recipient_id__in=refused).count()
    if noted < OPT_OUTS_MIN or 2 * noted <= len(refused):
        return
    title, advice = _OPT_OUTS
    _tell(subject, Outcome.OPTED_OUT, title, advice.format(refused=len(refused), opted_out=noted))


def alert_reports_ended(provider: Provider) -> None:
    """Tell the owner that the service sends no more reports to the provider's address."""
    subject = _Subject(provider.project_id or 0, provider.pk, provider.name, provider.project_id is None)
    log.warning("A provider sends no more delivery reports.", extra={"provider": provider.pk})
    if not _is_told(subject, "reports_ended"):
        title, detail = _REPORTS_ENDED
        _tell(subject, "reports_ended", title, detail)


class _Subject(NamedTuple):
    """The provider that an alert is about, and the project whose owner is told."""

    project_id: int
    provider_id: int
    name: str
    is_system: bool


def _is_told(subject: _Subject, outcome: str) -> bool:
    return bool(_alerted.left((subject.provider_id, outcome, timezone.now().date())))


def _tell(subject: _Subject, outcome: str, title: str, detail: str, *, error: str = "") -> None:
    today = timezone.now().date()
    if subject.is_system:
        fields = {"provider": subject.provider_id, "provider_name": subject.name}
        answer = {"outcome": str(outcome), "error": error or title}
        log.error("a system provider needs attention", extra=fields | answer)
    else:
        alerts.raise_alert(
            project_id=subject.project_id,
            kind=KIND,
            key=f"{subject.provider_id} {outcome} {today}",
            title=f"{subject.name} {title}",
            detail=detail,
        )
    _alerted.begin((subject.provider_id, outcome, today), seconds=DAY_SECONDS)
