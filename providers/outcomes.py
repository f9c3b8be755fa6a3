"""How a call to a provider may end."""

from enum import StrEnum


class Outcome(StrEnum):
    """What became of one call. Dispatch's whole retry policy hangs on this word.

    A refusal is judged by whose fault it is. The recipient's is ``REFUSED`` or ``NO_ACCOUNT`` and ends the message.
    Ours is ``MISCONFIGURED`` or ``OUT_OF_FUNDS``; it counts against the provider and the owner is told. What depends on
    where a message goes is ``DECLINED`` and counts against nobody: else whoever asks for codes to such numbers could
    have the provider set aside for everybody.
    """

    ACCEPTED = "accepted"
    NOT_APPLICABLE = "not_applicable"  # this provider cannot carry this message at all; nothing was asked of it
    REFUSED = "refused"  # about the recipient: no other provider of the channel will do better
    DECLINED = "declined"  # a route, a country or a list of its own, or for no clear reason: another one may take it
    NO_ACCOUNT = "no_account"  # the recipient is not on this messenger; remembered for a day
    MISCONFIGURED = "misconfigured"  # credentials, sender, text template: the owner must act
    OUT_OF_FUNDS = "out_of_funds"
    RECIPIENT_LIMITED = "recipient_limited"  # too much to this recipient; otherwise as the next, but nobody's fault
    RATE_LIMITED = "rate_limited"  # with ``retry_after`` where the provider tells it
    TEMPORARY = "temporary"  # surely not sent: may be tried again, here or elsewhere
    UNKNOWN = "unknown"  # may have been sent: never again at this provider
