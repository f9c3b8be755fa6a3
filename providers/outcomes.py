"""How a call to a provider may end."""

from enum import StrEnum


class Outcome(StrEnum):
    """What became of one call. Dispatch's whole retry policy hangs on this word."""

    ACCEPTED = "accepted"
    NOT_APPLICABLE = "not_applicable"  # this provider cannot carry this message at all; nothing was asked of it
    REFUSED = "refused"  # about the recipient: no other provider of the channel will do better
    NO_ACCOUNT = "no_account"  # the recipient is not on this messenger; remembered for a day
    MISCONFIGURED = "misconfigured"  # credentials, sender, text template: the owner must act
    OUT_OF_FUNDS = "out_of_funds"
    RATE_LIMITED = "rate_limited"  # with ``retry_after`` where the provider tells it
    TEMPORARY = "temporary"  # surely not sent: may be tried again, here or elsewhere
    UNKNOWN = "unknown"  # may have been sent: never again at this provider
