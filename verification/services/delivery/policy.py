"""The policy of delivery: what each outcome of a call to a provider leads to. docs/delivery.md shows the same table."""

from __future__ import annotations

from dataclasses import dataclass

from providers.errors import Outcome


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """The consequences of one outcome, for the message and for the provider."""

    next_provider: bool = False  # the message is offered to the next provider; if not, this answer decides it.
    again: bool = False  # with no provider left, the message waits and is offered to all of them once more.
    may_have_sent: bool = False  # this provider is never asked again for this message.
    # The breaker counts True against the provider and False in its favour. None is nobody's fault: of many recipients
    # it still tells, if the provider accepts nothing else.
    is_fault: bool | None = None
    is_paused: bool = False  # the provider is set aside for as long as it asked for, if it asked
    tells_owner: bool = False  # the owner may have to act, and gets an alert


POLICY: dict[Outcome, Policy] = {
    Outcome.ACCEPTED: Policy(may_have_sent=True, is_fault=False),
    Outcome.REFUSED: Policy(is_fault=False),
    Outcome.NO_ACCOUNT: Policy(is_fault=False),
    Outcome.OPTED_OUT: Policy(next_provider=True),
    Outcome.NOT_APPLICABLE: Policy(next_provider=True),
    Outcome.DECLINED: Policy(next_provider=True, tells_owner=True),
    Outcome.POSTPONED: Policy(next_provider=True, again=True),
    Outcome.RECIPIENT_LIMITED: Policy(next_provider=True, again=True),
    Outcome.RATE_LIMITED: Policy(next_provider=True, again=True, is_fault=False, is_paused=True),
    Outcome.TEMPORARY: Policy(next_provider=True, again=True, is_fault=True),
    Outcome.MISCONFIGURED: Policy(next_provider=True, is_fault=True, tells_owner=True),
    Outcome.OUT_OF_FUNDS: Policy(next_provider=True, is_fault=True, tells_owner=True),
    Outcome.UNKNOWN: Policy(next_provider=True, may_have_sent=True, is_fault=True),
    Outcome.UNCLEAR: Policy(next_provider=True, may_have_sent=True, tells_owner=True),
}

FAULTS = [outcome.value for outcome, policy in POLICY.items() if policy.is_fault]
# The outcomes by which the breaker judges a provider. A limit of its rate says neither that it works nor that it fails.
FAVOURS = [outcome.value for outcome, policy in POLICY.items() if policy.is_fault is False and not policy.is_paused]
IN_VAIN = [
    outcome.value
    for outcome, policy in POLICY.items()
    if policy.is_fault is not False and outcome is not Outcome.NOT_APPLICABLE
]
# The outcomes that end a message as failed: they are about its recipient.
ABOUT_THE_RECIPIENT = [
    outcome.value for outcome, policy in POLICY.items() if not policy.next_provider and outcome is not Outcome.ACCEPTED
]
