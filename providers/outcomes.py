"""The ways in which a call to a provider ends."""

from enum import StrEnum


class Outcome(StrEnum):
    """The outcome of one call. An adapter chooses it; the table in ``services/delivery/policy.py`` says what follows.

    Adapters judge a refusal by whose fault it is. The recipient's fault is ``REFUSED`` or ``NO_ACCOUNT`` and ends the
    message. Our fault is ``MISCONFIGURED`` or ``OUT_OF_FUNDS``: it counts against the provider, and the owner is told.

    A refusal that depends on where a message goes is ``DECLINED`` and counts against nobody. Otherwise a caller who
    asks for codes to such numbers could have the provider set aside for everybody.
    """

    ACCEPTED = "accepted"
    NOT_APPLICABLE = "not_applicable"  # this provider cannot carry this message at all; nothing was asked of it
    REFUSED = "refused"  # the recipient's fault: no other provider of the channel will do better
    DECLINED = "declined"  # a route, a country, the vendor's own list, or no clear reason: another provider may take it
    NO_ACCOUNT = "no_account"  # the recipient is not on this messenger; dispatch remembers that for a day
    MISCONFIGURED = "misconfigured"  # credentials, sender, text template: the owner must act
    OUT_OF_FUNDS = "out_of_funds"
    RECIPIENT_LIMITED = "recipient_limited"  # too many messages to this recipient: nobody's fault
    RATE_LIMITED = "rate_limited"  # too many messages from us; with ``retry_after`` if the provider tells it
    TEMPORARY = "temporary"  # surely not sent: may be tried again, here or elsewhere
    UNKNOWN = "unknown"  # may have been sent: never again at this provider
