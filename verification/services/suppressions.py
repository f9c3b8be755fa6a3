"""Recipients to whom nothing more goes over a channel. Receipts put them here; owners take them out again."""

from __future__ import annotations

from django.db.models.functions import Now

from verification.models import Suppression


def lift(suppression: Suppression) -> bool:
    """Let messages go there again. False if it was lifted before."""
    return bool(Suppression.objects.filter(pk=suppression.pk, lifted_at=None).update(lifted_at=Now()))
