"""The owner's log of why traffic was refused, or only observed. Callers of the API are never told which rule it was."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass

from django.db import DatabaseError, InterfaceError

from verification import sql
from verification.errors import Refusal
from verification.models import GuardRule

log = logging.getLogger(__name__)

SUBJECT_MAX_LENGTH = 120


@dataclass(frozen=True, slots=True)
class Rule:
    """How a rule is written for owners: its name, and what its line in the log means."""

    title: str
    meaning: str


RULES = {
    "country": Rule("Country not allowed", "The project lists the countries that it sends to; this is none of them."),
    "number_type": Rule(
        "Type of number", "Numbers of this type get no messages: premium rate, pagers, VoIP unless allowed, and so on."
    ),
    "block_list": Rule("Block list", "An entry of the project's block list, or of the platform's, matched."),
    "kill_switch": Rule("Switched off", "The operator has stopped this traffic for the time being."),
    "daily_budget": Rule("Daily budget", "The channel's budget of the day is used up."),
    "secret_key_network": Rule(
        "Secret key from elsewhere", "A valid secret key was used from outside the project's networks. Was it stolen?"
    ),
    "platform_recipient_limit": Rule(
        "Too many SMS to one person", "All projects together have sent this recipient as many SMS as a day allows."
    ),
    "prefix": Rule(
        GuardRule.PREFIX.label, "More unverified numbers of one prefix than allowed: the mark of SMS pumping."
    ),
    "manual_prefix": Rule(
        GuardRule.MANUAL_PREFIX.label, "As above, by manual sends, which are only observed unless the project says so."
    ),
    "conversion": Rule(
        GuardRule.CONVERSION.label, "So few of the codes sent to this country were verified that nobody may want them."
    ),
    "low_conversion": Rule(GuardRule.LOW_CONVERSION.label, "Fewer codes than usual were verified; nothing is refused."),
    "wrong_codes": Rule(GuardRule.WRONG_CODES.label, "More wrong codes than right ones: codes are being guessed."),
    "same_guess": Rule(
        GuardRule.SAME_GUESS.label, "One value tried on many sessions, to get around the tries that each allows."
    ),
    "network": Rule(GuardRule.NETWORK.label, "One client network entered wrong codes for many recipients."),
    "network_refused": Rule(
        GuardRule.NETWORK_REFUSED.label, "One client network guessed so much that its checks are refused."
    ),
    "strangers": Rule(
        GuardRule.STRANGERS.label,
        "More wrong codes than right ones explain: a subnet that entered some had to wait with its next check.",
    ),
}


def note(*, project_id: int, rule: str, subject: str, figures: Mapping[str, object], is_refusal: bool = True) -> None:
    """Count one decision of ``rule``, best one of :data:`RULES`, about ``subject`` in this hour's row.

    ``subject`` is what an owner may read: a prefix, a country, a client network, a recipient through
    :func:`verification.addresses.mask`. ``figures`` is JSON: what the rule saw, and its limit; the last ones are kept.
    ``is_refusal`` is false for a finding by which no request was refused. What the traffic guard refuses is noted by
    the SQL function that refuses it. In a transaction it is undone with it, so note after the transaction that refuses.
    """
    sql.call(
        "note_decision",
        project=project_id,
        rule=rule,
        subject=subject[:SUBJECT_MAX_LENGTH],
        country="",
        refused=int(is_refusal),
        figures=sql.json(figures),
    )


def note_refusal(refusal: Refusal) -> None:
    """Note the decision behind a refusal, if one was made. For whoever answers it, after its transaction is undone.

    Never raises: the refusal stands, whatever becomes of the log.
    """
    if refusal.decision is None:
        return
    try:
        note(**refusal.decision)
    except (DatabaseError, InterfaceError) as error:
        log.warning("A decision of rule %s was not noted: %s", refusal.decision["rule"], type(error).__name__)
