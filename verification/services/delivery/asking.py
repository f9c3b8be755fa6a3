"""One call to one provider, whatever its adapter does, and what its failure says about it."""

from __future__ import annotations

import logging

from providers.base import Adapter, Connection, Outcome, OutgoingMessage, Result
from providers.door.deadline import within
from providers.errors import ProviderError
from verification import sql
from verification.models.messages import ERROR_MAX_LENGTH
from verification.services.gateways.accounts import LiveProvider, forget_providers

log = logging.getLogger(__name__)


def ask(provider: LiveProvider, sender: Adapter | Connection, outgoing: OutgoingMessage, *, seconds: float) -> Result:
    """Its answer, or why there is none within ``seconds``: for names, connection, TLS and all requests together."""
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
        # A fault of the adapter's own: we cannot know how far it came. Its text may hold anything, so only its kind
        # is kept.
        log.error("message %s: the adapter of %s failed with %s", outgoing.id, provider.name, type(error).__name__)
        return Result(Outcome.UNKNOWN, error=f"The adapter failed ({type(error).__name__}).")


def note_fault(provider: LiveProvider, result: Result) -> None:
    """Count a failure, and set the provider aside where it keeps failing."""
    is_set_aside = sql.call(
        "note_provider_failure",
        provider=provider.id,
        reason=sql.text(result.error, ERROR_MAX_LENGTH),
        wait_seconds=result.retry_after if result.outcome is Outcome.RATE_LIMITED else None,
        is_probe=provider.open_until is not None,
    ).note_provider_failure
    if is_set_aside:
        forget_providers()  # so that no other thread of this process asks it for the rest of a second
        log.warning("%s is set aside for a while: %s", provider.name, result.error)
