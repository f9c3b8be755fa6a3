"""The rules of the traffic guard, as one table: what each looks at, what it does, and its words for owners.

A rule makes a *finding* about a *subject*. ``sql/protection`` judges by the rules; everything else reads this table.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from django.db import models
from django.utils.translation import gettext_lazy as _

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise


class GuardRule(models.TextChoices):
    PREFIX = "prefix", _("Many numbers of one prefix")
    MANUAL_PREFIX = "manual_prefix", _("Many numbers of one prefix, by manual sends")
    CONVERSION = "conversion", _("A country where few codes are verified")
    LOW_CONVERSION = "low_conversion", _("A country to watch")
    WRONG_CODES = "wrong_codes", _("Many wrong codes in the project")
    SAME_GUESS = "same_guess", _("One code tried on many sessions")
    NETWORK = "network", _("A client network that guesses")
    NETWORK_REFUSED = "network_refused", _("A client network that is kept from checking")
    STRANGERS = "strangers", _("Wrong codes from many client networks")


class GuardSubject(Enum):
    """The kind of subject that a rule is about."""

    PREFIX = "prefix"
    COUNTRY = "country"
    NETWORK = "network"
    GUESS = "guess"
    PROJECT = "project"


class GuardedTraffic(Enum):
    """The traffic that a rule looks at: SMS and calls, or the checks of codes."""

    SENDS = "sends"
    CHECKS = "checks"


@dataclass(frozen=True, slots=True)
class GuardRuleInfo:
    """One rule. A rule that does not refuse makes its subject suspicious: such callers are asked for a challenge.

    ``meaning`` is a sentence of the decision log. ``counted`` tells the figures of a finding; its placeholders have the
    names that the SQL functions give the figures. ``effect`` is the consequence, without the end of the sentence.
    """

    traffic: GuardedTraffic
    refuses: bool
    subject: GuardSubject
    meaning: StrOrPromise
    counted: StrOrPromise
    effect: StrOrPromise


_NUMBERS = _(
    "{numbers} unverified numbers that differ only in their last 4 digits asked for a code within {minutes} minutes;"
    " the limit is {limit}."
)
_CONVERSION = _(
    "Of {sends} SMS and calls in {minutes} minutes {verified} were verified: {percent} %, where {limit} % are asked."
)

GUARD_RULES = {
    GuardRule.PREFIX: GuardRuleInfo(
        GuardedTraffic.SENDS,
        refuses=True,
        subject=GuardSubject.PREFIX,
        meaning=_("More unverified numbers of one prefix than allowed: the mark of SMS pumping."),
        counted=_NUMBERS,
        effect=_("SMS and calls to {subject} are refused"),
    ),
    GuardRule.MANUAL_PREFIX: GuardRuleInfo(
        GuardedTraffic.SENDS,
        refuses=True,
        subject=GuardSubject.PREFIX,
        meaning=_(
            "More unverified numbers of one prefix than allowed, by manual sends. These are only observed unless"
            " the project says so."
        ),
        counted=_NUMBERS,
        effect=_("Manual SMS and calls to {subject} are refused"),
    ),
    GuardRule.CONVERSION: GuardRuleInfo(
        GuardedTraffic.SENDS,
        refuses=True,
        subject=GuardSubject.COUNTRY,
        meaning=_("So few of the codes sent to this country were verified that nobody may want them."),
        counted=_CONVERSION,
        effect=_("SMS and calls to the country {subject} are refused"),
    ),
    GuardRule.LOW_CONVERSION: GuardRuleInfo(
        GuardedTraffic.SENDS,
        refuses=False,
        subject=GuardSubject.COUNTRY,
        meaning=_("Fewer codes than usual were verified; nothing is refused."),
        counted=_CONVERSION,
        effect=_("Traffic to the country {subject} is watched"),
    ),
    GuardRule.WRONG_CODES: GuardRuleInfo(
        GuardedTraffic.CHECKS,
        refuses=False,
        subject=GuardSubject.PROJECT,
        meaning=_("More wrong codes than right ones: codes are being guessed."),
        counted=_("{wrong} wrong and {right} right codes were entered in {minutes} minutes."),
        effect=_("Codes are being guessed in the {subject}: all its callers are suspected"),
    ),
    GuardRule.SAME_GUESS: GuardRuleInfo(
        GuardedTraffic.CHECKS,
        refuses=False,
        subject=GuardSubject.GUESS,
        meaning=_("One value tried on many sessions, to get around the tries that each allows."),
        counted=_("One and the same wrong code was tried on {sessions} sessions in {minutes} minutes."),
        effect=_("Codes are being guessed over many sessions: all callers are suspected"),
    ),
    GuardRule.NETWORK: GuardRuleInfo(
        GuardedTraffic.CHECKS,
        refuses=False,
        subject=GuardSubject.NETWORK,
        meaning=_("One client network entered wrong codes for many recipients."),
        counted=_("Wrong codes were entered for {recipients} recipients in {minutes} minutes."),
        effect=_("Callers from {subject} are suspected of guessing"),
    ),
    GuardRule.NETWORK_REFUSED: GuardRuleInfo(
        GuardedTraffic.CHECKS,
        refuses=True,
        subject=GuardSubject.NETWORK,
        meaning=_("One client network guessed so much that its checks are refused."),
        counted=_("Too many wrong codes came from one client network within {minutes} minutes."),
        effect=_("Checks from {subject} are refused"),
    ),
    GuardRule.STRANGERS: GuardRuleInfo(
        GuardedTraffic.CHECKS,
        refuses=True,
        subject=GuardSubject.PROJECT,
        meaning=_(
            "More wrong codes than right ones explain: a subnet that entered some had to wait with its next check."
        ),
        counted=_(
            "{wrong} wrong codes more than right ones explain came from client networks within {minutes} minutes;"
            " the limit is {limit}."
        ),
        effect=_(
            "Codes are being guessed from many client networks in the {subject}: further checks from where wrong"
            " codes came are refused"
        ),
    ),
}

REFUSES = tuple(rule for rule, info in GUARD_RULES.items() if info.refuses)
REFUSES_SENDS = tuple(rule for rule in REFUSES if GUARD_RULES[rule].traffic is GuardedTraffic.SENDS)
ABOUT_GUESSING = tuple(rule for rule, info in GUARD_RULES.items() if info.traffic is GuardedTraffic.CHECKS)
ABOUT_COUNTRIES = tuple(rule for rule, info in GUARD_RULES.items() if info.subject is GuardSubject.COUNTRY)
