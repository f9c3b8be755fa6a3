"""Dispatch: claim due messages by a lease, and take each through a round of its providers."""

from __future__ import annotations

import threading
from typing import Any

from verification import sql
from verification.core import metrics, tracing
from verification.models import MessageStatus
from verification.services.delivery import record
from verification.services.delivery.fairness import Allowance, Shares
from verification.services.delivery.round import ROUND_SECONDS, Round, receipt_seconds
from verification.services.providers.latency import CALL_SECONDS
from verification.services.records import traceparents
from verification.sql.rows import ClaimedMessage

NOTE_SECONDS = 2  # the time for a claim's own statements, before the first call and after the last one
# How long a claim holds. The last call may begin at the end of the round. A worker that dies loses its messages after
# this time, and another worker's sweep claims them within a second or two.
LEASE_SECONDS = ROUND_SECONDS + int(CALL_SECONDS) + NOTE_SECONDS
TOLERATED_DEATHS = 1  # workers that may die with a message before it is no longer tried

_stopping = threading.Event()
_shares = Shares()  # of the threads of this process that are woken to deliver


def start_offering(shares: Shares | None = None) -> None:
    """Offer messages to providers. Projects share the threads of this process that call :func:`deliver`."""
    global _shares
    _shares = shares or Shares()
    _stopping.clear()


def stop_offering() -> None:
    """Ask no further provider: this process is about to end. Messages that no provider took are given back."""
    _stopping.set()


def deliver(message_id: int, *, is_connected: bool = False) -> bool:
    """Deliver this message, and return whether there was anything to deliver.

    If it is taken, if the wake-up is late, or if its project is at its share, deliver the freshest due message instead.
    With ``is_connected``, take the message also if it was handed over and is not due yet.
    """
    claimed = _claim(message_id, _shares, is_connected=is_connected)
    for message in claimed:
        deliver_claimed(message, _shares, is_connected=is_connected)
    return bool(claimed)


def claim_due(*, limit: int, idle_seconds: float, shares: Shares | None = None) -> list[ClaimedMessage]:
    """Claim up to ``limit`` messages, the freshest first. Each is to be delivered with the same ``shares``.

    These are the messages due for their next try, for which there is no wake-up, and those due for ``idle_seconds``.
    """
    return _claim(None, shares or Shares(), limit=limit, idle_seconds=idle_seconds)


def deliver_claimed(message: ClaimedMessage, shares: Shares | None = None, *, is_connected: bool = False) -> None:
    """Offer a claimed message to its providers. Never raises for what they do.

    With ``shares``, this thread goes on with other messages while there may be some whose wake-ups were passed over.
    """
    while True:
        may_be_more = False
        try:
            parent = traceparents.of_message(message.id)
            with tracing.span("deliver", "CONSUMER", parent=parent, **_log_fields(message)):
                _send_or_close(message)
        finally:
            if shares:
                may_be_more = shares.end(message)
        if not shares or not may_be_more or _stopping.is_set():
            return
        following = _claim(message.id, shares, is_connected=is_connected)  # it is done, so the freshest is claimed
        if not following:
            return
        [message] = following


def _claim(
    message_id: int | None, shares: Shares, *, limit: int = 1, idle_seconds: float = 0, is_connected: bool = False
) -> list[ClaimedMessage]:
    def take(allowed: Allowance) -> list[ClaimedMessage]:
        return sql.call_many(
            ClaimedMessage,
            "claim_messages",
            message=message_id,
            limit=allowed.messages,
            lease_seconds=LEASE_SECONDS,
            idle_seconds=idle_seconds,
            is_connected=is_connected,
            full_projects=allowed.full_projects,
            others_only=allowed.others_only,
        )

    claimed = shares.claim(limit, take)
    metrics.count_claims(len(claimed), by="sweep" if message_id is None else "wake-up")
    return claimed


def _log_fields(message: ClaimedMessage) -> dict[str, Any]:
    return {"message": message.id, "project": message.project_id, "channel": message.channel, "claims": message.claims}


def _send_or_close(message: ClaimedMessage) -> None:
    may_be_sent = bool(message.unknown_at or message.lost_leases)
    if (message.is_over and may_be_sent) or message.lost_leases > TOLERATED_DEATHS:
        error = record.LOST_OUTCOME if message.lost_leases else None
        record.await_receipt(message, for_seconds=receipt_seconds(message), error=error)
    elif message.is_over:
        error = "Its session or its own time ended, or its user got in, before Watchword could send it."
        record.close(message, MessageStatus.EXPIRED, error=error)
    else:
        Round(message, stopping=_stopping).run()
