"""Puts on record what became of a message, whatever the provider said and wherever the database is."""

from __future__ import annotations

import time
from typing import Any

from django.db import IntegrityError, InterfaceError, OperationalError, connection

from providers.base import Result
from verification import sql
from verification.models import MessageStatus
from verification.models.messages import (
    ERROR_MAX_LENGTH,
    PROVIDER_MESSAGE_ID_MAX_LENGTH,
    PROVIDER_STATUS_MAX_LENGTH,
)
from verification.services.gateways.accounts import LiveProvider

RECORD_SECONDS = 15.0  # how long an outcome is kept for a database that is away
RECORD_PAUSE_SECONDS = 0.2


def attempt_of(provider: LiveProvider, result: Result, *, latency: float) -> dict[str, Any]:
    """The columns of one call to one provider, as :func:`finish` takes them. ``latency`` is in seconds."""
    identity = result.provider_message_id
    return {
        "provider": provider.id,
        "provider_name": provider.name,
        "outcome": result.outcome.value,
        "provider_message_id": identity and sql.text(identity, PROVIDER_MESSAGE_ID_MAX_LENGTH),
        "provider_status": sql.text(result.provider_status, PROVIDER_STATUS_MAX_LENGTH),
        "attempt_error": sql.text(result.error, ERROR_MAX_LENGTH),
        "latency_ms": round(latency * 1000),
    }


_NO_ATTEMPT = {
    "provider": None,
    "provider_name": None,
    "outcome": None,
    "provider_message_id": None,
    "provider_status": None,
    "attempt_error": None,
    "latency_ms": None,
}


def finish(
    message: Any,
    status: MessageStatus | None,
    *,
    error: str | None = None,
    seconds: float | None = None,
    **attempt: Any,
) -> None:
    """Record the attempt just made, if any, and the status that follows, if it changes.

    ``seconds`` is how long until the next try, or for the receipt, as ``finish_message`` has it. What is forgotten is
    sent again: so a database that restarts is waited for, and a provider that was deleted meanwhile is on record by its
    name alone. Raises Django's database errors once ``RECORD_SECONDS`` are over.
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
                **{**_NO_ATTEMPT, **attempt},
            )
            return
        except (OperationalError, InterfaceError):
            if connection.in_atomic_block or time.monotonic() > give_up_at:
                raise
            time.sleep(RECORD_PAUSE_SECONDS)
        except IntegrityError:
            if connection.in_atomic_block or attempt.get("provider") is None:
                raise
            attempt["provider"] = None
