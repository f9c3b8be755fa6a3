"""The suppression list: recipients to whom nothing more goes over a channel.

Reports of providers put recipients on it, and owners take them off.
"""

from __future__ import annotations

import logging

from django.db import transaction
from django.db.models.functions import Now

from providers.base import Consent
from verification import sql
from verification.core import crypto
from verification.core.addresses import NumberType, stored, vouched
from verification.models import Message, NoAccount, Provider, Suppression

log = logging.getLogger(__name__)

REASON_MAX_LENGTH = 200
OPTED_OUT = "The recipient sent an opt-out keyword, such as STOP."
NO_REASON = "The provider reports that nothing more may be sent to this recipient."


def suppress(*, project_id: int, recipient_id: int, channel: str, reason: str = "") -> None:
    """Send nothing more to the recipient over the channel, until the owner lifts it."""
    Suppression.objects.get_or_create(
        recipient_id=recipient_id,
        channel=channel,
        lifted_at=None,
        defaults={"project_id": project_id, "reason": sql.text(reason or NO_REASON, REASON_MAX_LENGTH)},
    )


def lift(suppression: Suppression) -> bool:
    """Let messages go there again. Return False if it was lifted before."""
    return bool(Suppression.objects.filter(pk=suppression.pk, lifted_at=None).update(lifted_at=Now()))


def apply_consent(provider: Provider, consent: Consent) -> None:
    """End or resume messages to a user who wrote a keyword to the provider's sender, over the provider's channel.

    A provider of a project speaks for that project, and the number is suppressed though it was never sent to. The
    sender of a system provider is shared, and nobody can tell whose messages the user means. So the keyword counts for
    every project that has sent to the number over this provider; and so does one from a number that no plan knows.
    """
    phone = vouched(consent.phone)
    is_known = bool(phone) and stored(phone).number_type is not NumberType.UNKNOWN
    own = provider.project_id if is_known else None
    projects = _senders(provider, phone) if own is None else [own]
    for project_id in projects:
        if consent.is_given:
            _lift_all(project_id, phone, provider.channel)
        else:
            _suppress_number(project_id, phone, provider.channel)
    word = "resumed" if consent.is_given else "ended"
    log.info("A user %s messages of %s by a keyword, for %s projects.", word, provider.name, len(projects))


def _senders(provider: Provider, phone: str) -> list[int]:
    sent = Message.objects.filter(recipient__address=phone, attempts__provider=provider)
    return sorted(set(sent.values_list("project_id", flat=True)))


@transaction.atomic
def _suppress_number(project_id: int, phone: str, channel: str) -> None:
    forgotten = crypto.forgotten_address(project_id, phone)
    recipient = sql.call("lock_recipient", project=project_id, address=phone, forgotten=forgotten)
    suppress(project_id=project_id, recipient_id=recipient.id, channel=channel, reason=OPTED_OUT)


def _lift_all(project_id: int, phone: str, channel: str) -> None:
    """Lift every suppression of the number, whatever its reason: its user holds the phone and wants messages."""
    names = (phone, crypto.forgotten_address(project_id, phone))
    live = Suppression.objects.filter(recipient__project_id=project_id, channel=channel, lifted_at=None)
    live.filter(recipient__address__in=names).update(lifted_at=Now())
    noted = NoAccount.objects.filter(recipient__project_id=project_id, provider__channel=channel)
    noted.filter(recipient__address=phone).delete()
