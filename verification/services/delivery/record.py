"""Record what became of a claimed message: an attempt, a retry, the wait for a receipt, or the end."""

from __future__ import annotations

import time
from datetime import datetime
from decimal import Decimal
from typing import NamedTuple

from django.db import IntegrityError, InterfaceError, OperationalError, connection

from providers.base import OutgoingMessage, Result
from verification import sql
from verification.core import request_ids
from verification.models import Choice, Message, MessageStatus
from verification.models.messages import (
    ERROR_MAX_LENGTH,
    PROVIDER_MESSAGE_ID_MAX_LENGTH,
    PROVIDER_STATUS_MAX_LENGTH,
)
from verification.services.providers.active import LiveProvider
from verification.services.providers.prices import cost_of
from verification.sql.rows import ClaimedMessage

RECORD_SECONDS = 15.0  # how long a worker tries to record an outcome while the database is away
RECORD_PAUSE_SECONDS = 0.2  # between two such tries
# Of a message whose claim ended without a word: its worker died, or could not write down the answer.
LOST_OUTCOME = "Watchword could not record whether it was sent; it may or may not have arrived."


class Attempt(NamedTuple):
    """One call to one provider, as ``finish_message`` takes it; all None where no call was made."""

    provider: int | None = None
    provider_name: str | None = None
    outcome: str | None = None
    provider_message_id: str | None = None
    provider_status: str | None = None
    attempt_error: str | None = None
    latency_ms: int | None = None
    choice: str | None = None
    segments: int | None = None
    price: Decimal | None = None
    currency: str | None = None


NO_ATTEMPT = Attempt()


class Times(NamedTuple):
    """A message's times, for the metrics."""

    channel: str
    created_at: datetime
    sent_at: datetime | None
    finished_at: datetime | None


def times_of(message_id: int) -> Times | None:
    """Return the message's times; None where it was erased, or the database is away: a count may be lost."""
    with sql.unless_away():
        row = Message.objects.filter(pk=message_id).values_list(*Times._fields).first()
        return row and Times(*row)
    return None


def request_of(message_id: int) -> str:
    """Return the id of the request that made the message, or else its session, for a line of the log.

    It is empty where none is kept, or it is not told.
    """
    with sql.unless_away():
        of_both = ("request", "caller_request", "session__request", "session__caller_request")
        row = Message.objects.filter(pk=message_id).values_list(*of_both).first()
        if row:
            return request_ids.format_request_id(*row[:2]) or request_ids.format_request_id(*row[2:])
    return ""


def attempt_of(
    provider: LiveProvider, outgoing: OutgoingMessage, result: Result, *, latency: float, choice: Choice
) -> Attempt:
    """Return the attempt to send ``outgoing`` that ended with ``result``.

    ``latency`` is in seconds, ``choice`` is why it was made.
    """
    identity = result.provider_message_id
    cost = cost_of(provider.prices, outgoing, result)
    return Attempt(
        provider=provider.id,
        provider_name=provider.name,
        outcome=result.outcome.value,
        provider_message_id=identity and sql.text(identity, PROVIDER_MESSAGE_ID_MAX_LENGTH),
        provider_status=sql.text(result.provider_status, PROVIDER_STATUS_MAX_LENGTH),
        attempt_error=sql.text(result.error, ERROR_MAX_LENGTH),
        latency_ms=round(latency * 1000),
        choice=choice.value,
        segments=cost.segments,
        price=cost.price,
        currency=cost.currency,
    )


def record_attempt(message: ClaimedMessage, attempt: Attempt) -> None:
    """Record a call that did not decide the message, which stays claimed."""
    _record(message, None, attempt=attempt)


def give_back(message: ClaimedMessage, *, in_seconds: float) -> None:
    """End the claim; any worker may claim the message again ``in_seconds`` from now. A lost claim changes nothing."""
    _record(message, MessageStatus.SENDING, seconds=in_seconds)


def await_receipt(
    message: ClaimedMessage, *, for_seconds: float, attempt: Attempt = NO_ATTEMPT, error: str | None = None
) -> None:
    """Record that the message was sent, or may have been. Without a receipt within ``for_seconds`` it expires."""
    _record(message, MessageStatus.SENT, attempt=attempt, error=error, seconds=for_seconds)


def close(
    message: ClaimedMessage, status: MessageStatus, *, attempt: Attempt = NO_ATTEMPT, error: str | None = None
) -> None:
    """Record the message's final status: success, failed or expired."""
    _record(message, status, attempt=attempt, error=error)


def _record(
    message: ClaimedMessage,
    status: MessageStatus | None,
    *,
    attempt: Attempt = NO_ATTEMPT,
    error: str | None = None,
    seconds: float | None = None,
) -> None:
    """Call ``finish_message``. Raises Django's database errors once ``RECORD_SECONDS`` are over.

    An outcome that is not recorded leads to a second send. So a database that restarts is waited for, and a call to a
    provider that was deleted meanwhile is recorded by the provider's name alone.
    """
    give_up_at = time.monotonic() + RECORD_SECONDS
    while True:
        try:
            sql.call(
                "finish_message",
                message=message.id,
                claims=message.claims,
                status=status.value if status else None,
                error=sql.text(error, ERROR_MAX_LENGTH) if error else None,
                retry_seconds=seconds,
                **attempt._asdict(),
            )
            return
        except (OperationalError, InterfaceError):
            if connection.in_atomic_block or time.monotonic() > give_up_at:
                raise
            connection.close_if_unusable_or_obsolete()  # or each try would go over the one that broke
            time.sleep(RECORD_PAUSE_SECONDS)
        except IntegrityError:
            if connection.in_atomic_block or attempt.provider is None:
                raise
            attempt = attempt._replace(provider=None)
