"""The failures of a provider. Their messages are for the owner: no secrets, no codes, no full recipients."""

from __future__ import annotations

from providers.outcomes import Outcome


def sentence(reason: str) -> str:
    """Return a reason as a sentence for a form or a problem document. Of a log line it is a part."""
    return f"{reason[:1].upper()}{reason[1:].rstrip('.')}."


class ProviderError(Exception):
    """A call did not end in acceptance.

    ``outcome`` says what dispatch may do next. ``retry_after`` is in seconds. ``is_suppressed`` says that no message
    will ever reach the recipient, or that they want none.
    """

    def __init__(
        self,
        message: str,
        outcome: Outcome = Outcome.TEMPORARY,
        *,
        provider_status: str = "",
        retry_after: float | None = None,
        is_suppressed: bool = False,
    ) -> None:
        super().__init__(message)
        self.outcome = outcome
        self.provider_status = provider_status
        self.retry_after = retry_after
        self.is_suppressed = is_suppressed

    @property
    def sentence(self) -> str:
        return sentence(str(self))


class NotConnected(ProviderError):
    """The request never left: refused connection, unknown host, failed TLS handshake. Safe to try again."""


class NoAnswer(ProviderError):
    """The request left and no readable answer came. The message may have been sent."""

    def __init__(self, message: str) -> None:
        super().__init__(message, Outcome.UNKNOWN)


class AddressBlocked(ProviderError):
    """The outbound guard does not let us connect there."""

    def __init__(self, message: str) -> None:
        super().__init__(message, Outcome.MISCONFIGURED)


class SettingsInvalid(ValueError):
    """Settings that an adapter does not accept. ``errors`` maps a setting's name to one sentence."""

    def __init__(self, errors: dict[str, str]) -> None:
        super().__init__("; ".join(f"{name}: {text}" for name, text in errors.items()))
        self.errors = errors


class HookForged(Exception):
    """A hook call whose signature, secret or freshness does not hold."""


class HookUnreadable(Exception):
    """A verified hook call whose body makes no sense."""
