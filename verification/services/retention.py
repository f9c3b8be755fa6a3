"""How long rows are kept. A live session and its rows are never touched."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.db.models import QuerySet
from django.utils import timezone

from verification import sql
from verification.errors import Misuse
from verification.models import (
    Alert,
    DailySpend,
    Decision,
    GuardBlock,
    IdempotentRequest,
    ListEntry,
    Message,
    Recipient,
    SeenHook,
    Session,
    WrongCode,
)
from verification.services.idempotency import KEPT

DEFAULT_DAYS = 30
MIN_DAYS = 1  # the API owes 409 and 410 for a day, and the day's limits are counted from rows
AUDIT_KEPT = timedelta(days=400)  # a year, and time to look back at it; the database keeps the last 90 days anyway
HOOKS_SEEN = timedelta(days=2)  # vendors repeat a call for about a day
BATCH = 5_000  # rows of one statement, so that no lock is held for long


def purge(*, days: int = DEFAULT_DAYS) -> dict[str, int]:
    """Delete what is older than ``days``: sessions with their tokens, messages with their attempts, and recipients
    of whom nothing is left and no bot is bound. Returns the number of rows by kind. Raises :class:`Misuse`."""
    if days < MIN_DAYS:
        raise Misuse(f"Rows are kept for at least {MIN_DAYS} day.")
    now = timezone.now()
    before = now - timedelta(days=days)
    return {
        "messages": _delete(Message.objects.filter(created_at__lt=before, finished_at__isnull=False)),
        "sessions": _delete(Session.objects.filter(created_at__lt=before, messages=None)),
        "wrong_codes": _delete(WrongCode.objects.filter(created_at__lt=before)),
        "guard_blocks": _delete(GuardBlock.objects.filter(until__lt=before)),
        "idempotent_requests": _delete(IdempotentRequest.objects.filter(created_at__lt=now - KEPT)),
        "seen_hooks": _delete(SeenHook.objects.filter(seen_at__lt=now - HOOKS_SEEN)),
        "decisions": _delete(Decision.objects.filter(last_at__lt=before)),
        "alerts": _delete(Alert.objects.filter(created_at__lt=before)),
        "list_entries": _delete(ListEntry.objects.filter(expires_at__lt=before)),
        "daily_spends": _delete(DailySpend.objects.filter(day__lt=before.date())),
        "recipients": _delete(
            Recipient.objects.filter(created_at__lt=before, sessions=None, messages=None, subscriptions=None)
        ),
        "audit_entries": sql.call("purge_audit", before=now - AUDIT_KEPT).deleted,
    }


def _delete(rows: QuerySet[Any]) -> int:
    """Delete in batches. Counts the rows themselves, not what goes with them."""
    total = 0
    while batch := list(rows.order_by().values_list("pk", flat=True)[:BATCH]):
        rows.model._default_manager.filter(pk__in=batch).delete()
        total += len(batch)
    return total
