"""Make one call to one provider, and count its failures."""

from __future__ import annotations

import logging
from typing import Any

from providers.base import Adapter, Connection, Outcome, OutgoingMessage, Result
from providers.errors import ProviderError
from providers.http.deadline import within
from verification import sql
from verification.models.messages import ERROR_MAX_LENGTH
from verification.services.delivery.policy import FAULTS, POLICY, TELLING
from verification.services.providers.active import LiveProvider, forget_providers

log = logging.getLogger(__name__)


def call_provider(
    provider: LiveProvider, sender: Adapter | Connection, outgoing: OutgoingMessage, *, seconds: float
) -> Result:
    """Return the provider's answer, or a result that tells why there is none. Never raises.

    ``seconds`` is the time for names, connection, TLS and all requests together.
    """
    try:
        with within(seconds):
            return sender.send(outgoing)
    except ProviderError as error:
        return Result(
            error.outcome,
            error=str(error),
            provider_status=error.provider_status,
            retry_after=error.retry_after,
            is_suppressed=error.is_suppressed,
        )
    except Exception as error:
        # The adapter has a fault, and we cannot know how far it came. The error's text may hold anything, so we keep
        # its kind alone.
        fault = {"message_id": outgoing.id, "error": type(error).__name__}
        log.error("the adapter of a provider failed", extra=log_fields(provider) | fault)
        return Result(Outcome.UNKNOWN, error=f"The adapter failed ({type(error).__name__}).")


def record_fault(provider: LiveProvider, result: Result) -> None:
    """Count a failure, and set the provider aside if it keeps failing or asks to be left alone.

    The sandbox is never set aside, as it fails where a test wants it to.
    """
    if provider.adapter.is_simulation:
        return
    is_set_aside = sql.value(
        "note_provider_failure",
        provider=provider.id,
        reason=sql.text(result.error, ERROR_MAX_LENGTH),
        wait_seconds=result.retry_after if POLICY[result.outcome].is_paused else None,
        is_probe=provider.open_until is not None,
        faults=FAULTS,
        telling=TELLING,
    )
    if is_set_aside:
        forget_providers()  # else this process's other threads ask it for up to a second more
        fault = {"outcome": result.outcome.value, "error": result.error}
        log.warning("Watchword pauses a provider after repeated failures", extra=log_fields(provider) | fault)


def log_fields(provider: LiveProvider) -> dict[str, Any]:
    """Return the fields by which a line of the log is found."""
    return {"provider": provider.id, "provider_name": provider.name}
