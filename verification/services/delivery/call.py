"""Make one call to one provider, and count its failures."""

from __future__ import annotations

import logging
from typing import Any

from providers.base import Adapter, Connection, Outcome, OutgoingMessage, Result
from providers.errors import ProviderError
from providers.http.deadline import within
from verification import sql
from verification.models.messages import ERROR_MAX_LENGTH
from verification.services.delivery.policy import FAULTS, FAVOURS, IN_VAIN, POLICY
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
        return Result(Outcome.UNCLEAR, error=f"The adapter failed ({type(error).__name__}).")


def record_failure(provider: LiveProvider, recipient_id: int, result: Result) -> None:
    """Count a call in vain, and set the provider aside if it fails for everybody or asks to be left alone.

    The sandbox is never set aside, as it fails where a test wants it to.
    """
    if provider.adapter.is_simulation:
        return
    policy = POLICY[result.outcome]
    wait_seconds = result.retry_after if policy.is_paused else None
    is_probe = provider.open_until is not None
    if is_probe and not policy.is_fault and wait_seconds is None:
        sql.call("give_back_probe", provider=provider.id)  # it told nothing of the provider
        forget_providers()
        return
    if result.outcome not in IN_VAIN and wait_seconds is None:
        return
    is_set_aside = sql.value(
        "note_provider_failure",
        provider=provider.id,
        recipient=recipient_id,
        outcome=result.outcome.value,
        reason=sql.text(result.error, ERROR_MAX_LENGTH),
        wait_seconds=wait_seconds,
        is_probe=is_probe,
        faults=FAULTS,
        in_vain=IN_VAIN,
        favours=FAVOURS,
    )
    if is_set_aside:
        forget_providers()  # else this process's other threads go by what it was for up to a second more
        fault = {"outcome": result.outcome.value, "error": result.error}
        log.warning("Watchword pauses a provider after repeated failures", extra=log_fields(provider) | fault)


def log_fields(provider: LiveProvider) -> dict[str, Any]:
    """Return the fields by which a line of the log is found."""
    return {"provider": provider.id, "provider_name": provider.name}
