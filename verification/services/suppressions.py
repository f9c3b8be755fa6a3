"""Recipients to whom nothing more goes over a channel. What providers tell puts them here; owners take them out."""

from __future__ import annotations

from django.db.models.functions import Now

from verification.models import Suppression

REASON_MAX_LENGTH = 200
NO_REASON = "The provider reports that nothing more may be sent there."


def suppress(*, project_id: int, recipient_id: int, channel: str, reason: str = "") -> None:
    """Nothing more goes to the recipient over the channel, until the owner lifts it."""
    Suppression.objects.get_or_create(
        recipient_id=recipient_id,
        channel=channel,
        lifted_at=None,
        defaults={"project_id": project_id, "reason": (reason or NO_REASON)[:REASON_MAX_LENGTH]},
    )


def lift(suppression: Suppression) -> bool:
    """Let messages go there again. False if it was lifted before."""
    return bool(Suppression.objects.filter(pk=suppression.pk, lifted_at=None).update(lifted_at=Now()))
