"""The ways in which a call to a provider ends: its outcome, or an error."""

from __future__ import annotations

from enum import StrEnum


class Outcome(StrEnum):
    """The outcome of one call. An adapter chooses it; the table in ``services/delivery/policy.py`` says what follows.

    Adapters judge a refusal by whose fault it is. The recipient's fault is ``REFUSED`` or ``NO_ACCOUNT`` and ends the
    message. Our fault is ``MISCONFIGURED`` or ``OUT_OF_FUNDS``: it counts against the provider, and the owner is told.

    A refusal that depends on where a message goes, or that no table lists, is nobody's fault: ``DECLINED``,
    ``POSTPONED`` or ``UNCLEAR``. Otherwise a caller who asks for codes to a few such numbers could have the provider
    set aside for everybody.
    """

    ACCEPTED = "accepted"
    NOT_APPLICABLE = "not_applicable"  # this provider cannot carry this message at all; nothing was asked of it
    REFUSED = "refused"  # the recipient's fault: no other provider of the channel will do better
    DECLINED = "declined"  # a route, a country, the vendor's own list, or no clear reason: another provider may take it
    NO_ACCOUNT = "no_account"  # the recipient is not on this messenger; dispatch remembers that for a day
    OPTED_OUT = "opted_out"  # on this provider's own list; dispatch remembers that, another provider may take it
    MISCONFIGURED = "misconfigured"  # credentials, sender, text template: the owner must act
    OUT_OF_FUNDS = "out_of_funds"
    POSTPONED = "postponed"  # surely not sent: this recipient cannot have it now, as their mailbox is full or greylists
    RECIPIENT_LIMITED = "recipient_limited"  # too many messages to this recipient: nobody's fault
    RATE_LIMITED = "rate_limited"  # too many messages from us; with ``retry_after`` if the provider tells it
    TEMPORARY = "temporary"  # surely not sent: may be tried again, here or elsewhere
    UNKNOWN = "unknown"  # no answer came, so it may have been sent: never again at this provider
    UNCLEAR = "unclear"  # an answer that says neither yes nor no: as UNKNOWN, but nobody's fault


# What a table of refusals says of a word or number that it lacks. A table tells a fault of the provider's or ours by
# listing it.
UNLISTED = (Outcome.DECLINED, "a reason that Watchword does not know")


def sentence(reason: str) -> str:
    """Return a reason as a sentence for a form or a problem document. Of a log line it is a part."""
    return f"{reason[:1].upper()}{reason[1:].rstrip('.')}."


class ProviderError(Exception):
    """A call did not end in acceptance.

    ``outcome`` says what dispatch may do next. ``retry_after`` is in seconds. ``is_suppressed`` says that no message
    will ever reach the recipient, or that they have complained.
    """

    def __init__(
        self,
        message: str,
        outcome: Outcome = UNLISTED[0],
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

    def __init__(self, message: str) -> None:
        super().__init__(message, Outcome.TEMPORARY)


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
