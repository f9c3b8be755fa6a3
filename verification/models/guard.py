"""The traffic guard's rules, the sends that it counts and its findings; block lists, safe lists, risk verdicts."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from django.conf import settings
from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Now
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from verification.core import countries
from verification.core.currencies import CURRENCY_LENGTH
from verification.models.fields import NETWORK_MAX_LENGTH, ExpiryField
from verification.models.messages import Message
from verification.models.prices import DECIMAL_PLACES, PRICE_DIGITS
from verification.models.projects import Project
from verification.models.shared import Expiring

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise


class GuardRule(models.TextChoices):
    PREFIX = "prefix", _("Many numbers with one prefix")
    MANUAL_PREFIX = "manual_prefix", _("Many numbers with one prefix (manual sends)")
    CONVERSION = "conversion", _("Few verified codes in a country")
    LOW_CONVERSION = "low_conversion", _("Country under watch")
    NETWORK_COUNTRIES = "network_countries", _("Client network requesting many countries")
    WRONG_CODES = "wrong_codes", _("Many wrong codes in the project")
    SAME_GUESS = "same_guess", _("Same code tried in many sessions")
    NETWORK = "network", _("Client network guessing codes")
    NETWORK_REFUSED = "network_refused", _("Client network blocked from checking codes")
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
    names that the SQL functions give the figures, and ``{span}`` is their ``minutes`` in words. ``effect``
    is the consequence, without the end of the sentence.
    """

    traffic: GuardedTraffic
    refuses: bool
    subject: GuardSubject
    meaning: StrOrPromise
    counted: StrOrPromise
    effect: StrOrPromise


_NUMBERS = _(
    "{numbers} unverified numbers that differ only in the last 4 digits requested a code within {span}"
    " (limit: {limit})."
)
_CONVERSION = _("{verified} of {sends} SMS and calls in {span} were verified ({percent} %; minimum {limit} %).")

GUARD_RULES = {
    GuardRule.PREFIX: GuardRuleInfo(
        GuardedTraffic.SENDS,
        refuses=True,
        subject=GuardSubject.PREFIX,
        meaning=_("Too many unverified numbers with one prefix, which is typical of SMS pumping."),
        counted=_NUMBERS,
        effect=_("SMS and calls to {subject} are refused"),
    ),
    GuardRule.MANUAL_PREFIX: GuardRuleInfo(
        GuardedTraffic.SENDS,
        refuses=True,
        subject=GuardSubject.PREFIX,
        meaning=_(
            "Too many unverified numbers with one prefix in manual sends. These are only observed unless the"
            " project enforces them."
        ),
        counted=_NUMBERS,
        effect=_("Manual SMS and calls to {subject} are refused"),
    ),
    GuardRule.CONVERSION: GuardRuleInfo(
        GuardedTraffic.SENDS,
        refuses=True,
        subject=GuardSubject.COUNTRY,
        meaning=_("So few codes sent to this country were verified that the traffic is probably not genuine."),
        counted=_CONVERSION,
        effect=_("SMS and calls to the country {subject} are refused"),
    ),
    GuardRule.LOW_CONVERSION: GuardRuleInfo(
        GuardedTraffic.SENDS,
        refuses=False,
        subject=GuardSubject.COUNTRY,
        meaning=_("Fewer codes than usual were verified. Nothing is refused."),
        counted=_CONVERSION,
        effect=_("Traffic to the country {subject} is under watch"),
    ),
    GuardRule.NETWORK_COUNTRIES: GuardRuleInfo(
        GuardedTraffic.SENDS,
        refuses=True,
        subject=GuardSubject.NETWORK,
        meaning=_("One client network requested codes for many countries, and hardly any were verified."),
        counted=_(
            "One client network caused {sends} SMS and calls to {countries} countries within a day, of which"
            " {verified} were verified (limit: {limit} countries)."
        ),
        effect=_("SMS and calls requested by {subject} are refused"),
    ),
    GuardRule.WRONG_CODES: GuardRuleInfo(
        GuardedTraffic.CHECKS,
        refuses=False,
        subject=GuardSubject.PROJECT,
        meaning=_("More wrong codes than correct ones: someone is guessing codes."),
        counted=_("{wrong} wrong and {right} correct codes were entered in {span}."),
        effect=_("Someone is guessing codes in the {subject}: all callers are treated as suspicious"),
    ),
    GuardRule.SAME_GUESS: GuardRuleInfo(
        GuardedTraffic.CHECKS,
        refuses=False,
        subject=GuardSubject.GUESS,
        meaning=_("The same code tried in many sessions, to get around the attempt limit per session."),
        counted=_("The same wrong code was tried in {sessions} sessions in {span}."),
        effect=_("Someone is guessing codes across many sessions: all callers are treated as suspicious"),
    ),
    GuardRule.NETWORK: GuardRuleInfo(
        GuardedTraffic.CHECKS,
        refuses=False,
        subject=GuardSubject.NETWORK,
        meaning=_("One client network entered wrong codes for many recipients."),
        counted=_("Wrong codes were entered for {recipients} recipients in {span}."),
        effect=_("Callers from {subject} are treated as suspicious"),
    ),
    GuardRule.NETWORK_REFUSED: GuardRuleInfo(
        GuardedTraffic.CHECKS,
        refuses=True,
        subject=GuardSubject.NETWORK,
        meaning=_("One client network guessed so often that its code checks are refused."),
        counted=_("Too many wrong codes came from one client network within {span}."),
        effect=_("Code checks from {subject} are refused"),
    ),
    GuardRule.STRANGERS: GuardRuleInfo(
        GuardedTraffic.CHECKS,
        refuses=True,
        subject=GuardSubject.PROJECT,
        meaning=_(
            "Too many wrong codes that were not followed by the correct one: a subnet that entered some had"
            " to wait before its next check."
        ),
        counted=_(
            "{wrong} wrong codes not followed by the correct one came from client networks within {span}"
            " (limit: {limit})."
        ),
        effect=_(
            "Someone is guessing codes from many client networks in the {subject}: further checks from these"
            " networks are refused"
        ),
    ),
}

REFUSES = tuple(rule for rule, info in GUARD_RULES.items() if info.refuses)
REFUSES_SENDS = tuple(rule for rule in REFUSES if GUARD_RULES[rule].traffic is GuardedTraffic.SENDS)
ABOUT_CALLERS = tuple(
    rule
    for rule, info in GUARD_RULES.items()
    if info.traffic is GuardedTraffic.CHECKS or info.subject is GuardSubject.NETWORK
)
ABOUT_COUNTRIES = tuple(rule for rule, info in GUARD_RULES.items() if info.subject is GuardSubject.COUNTRY)


class GuardedSend(models.Model):
    """An SMS or a call as the traffic guard counts it.

    The row is deleted with its message, and at once where the message failed at every provider: a message that costs
    nothing counts in no limit.
    """

    message = models.OneToOneField(
        Message, primary_key=True, on_delete=models.CASCADE, related_name="guarded_send", db_constraint=False
    )
    project = models.ForeignKey(Project, on_delete=models.DO_NOTHING, db_index=False, db_constraint=False)
    recipient = models.ForeignKey(
        "verification.Recipient", on_delete=models.DO_NOTHING, db_index=False, db_constraint=False
    )
    prefix = models.CharField(max_length=16, help_text="The number without its last 4 digits.")
    country = models.CharField(max_length=3, help_text="ISO 3166, empty for a network of no country.")
    network = models.CharField(
        max_length=NETWORK_MAX_LENGTH,
        default="",
        db_default="",
        help_text="The caller's, as of wrong codes; empty where many callers share it or it is not known.",
    )
    is_manual = models.BooleanField()
    is_handed = models.BooleanField(
        default=False, db_default=False, help_text="Its code was handed over by an identity system."
    )
    created_at = models.DateTimeField()
    verified_at = models.DateTimeField(null=True, help_text="When session/verify proved the number after this send.")

    class Meta:
        indexes = (
            models.Index(
                name="guarded_send_of_prefix",
                fields=("project", "prefix", "created_at"),
                condition=Q(verified_at__isnull=True),
            ),
            models.Index(name="guarded_send_of_project", fields=("project", "created_at")),
            models.Index(  # for session/verify
                name="guarded_send_of_recipient",
                fields=("recipient",),
                condition=Q(verified_at__isnull=True),
            ),
            models.Index(
                name="guarded_send_of_network", fields=("project", "network", "-created_at"), condition=~Q(network="")
            ),
        )

    def __str__(self) -> str:
        return f"guarded send {self.pk}"


class GuardBlock(models.Model):
    """The last finding of a rule about one subject: while it runs, the subject is refused or suspicious.

    A subject has one row for each rule; earlier findings are in the decision log. Once a finding is over or lifted,
    only later traffic is counted.
    """

    project = models.ForeignKey(
        Project, verbose_name=_("project"), on_delete=models.CASCADE, related_name="guard_blocks", db_index=False
    )
    rule = models.CharField(_("rule"), max_length=20, choices=GuardRule.choices)
    subject = models.CharField(
        _("subject"), max_length=64, help_text="A prefix, country or network; empty for the project."
    )
    level = models.PositiveSmallIntegerField(
        _("level"), help_text=_("1 for the first time, 2 for the first repeat, and so on.")
    )
    since = models.DateTimeField(_("since"))
    until = models.DateTimeField()
    figures = models.JSONField(help_text="What was counted, and the limits it was compared with.")
    refused = models.PositiveIntegerField(default=0, help_text="Requests refused since, or that would have been.")
    is_announced = models.BooleanField(default=False, help_text="Whether it is in the log and its alert went out.")
    lifted_at = models.DateTimeField(_("lifted at"), null=True)
    lifted_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+", db_index=False
    )

    class Meta:
        ordering = ("-since",)
        verbose_name = _("block")
        verbose_name_plural = _("blocks")
        constraints = (
            models.UniqueConstraint(name="guard_block_once", fields=("project", "subject", "rule")),
            models.CheckConstraint(name="guard_block_rule", condition=Q(rule__in=GuardRule.values)),
            models.CheckConstraint(name="guard_block_ends_later", condition=Q(until__gt=F("since"))),
        )
        indexes = (
            models.Index(name="guard_block_to_announce", fields=("project",), condition=Q(is_announced=False)),
            models.Index(
                name="guard_block_about_callers", fields=("project", "until"), condition=Q(rule__in=ABOUT_CALLERS)
            ),
        )

    def __str__(self) -> str:
        subject = countries.named(self.subject) if self.rule in ABOUT_COUNTRIES else self.subject
        return f"{self.get_rule_display()}: {subject or self.project}"


class ListKind(models.TextChoices):
    BLOCK = "block", _("Block")
    SAFE = "safe", _("Safe")


class ListSubject(models.TextChoices):
    """The part of a request that an entry's value is matched with."""

    RECIPIENT = "recipient", _("Recipient")
    PREFIX = "prefix", _("Number prefix")
    DOMAIN = "domain", _("E-mail domain")
    COUNTRY = "country", _("Country")
    CLIENT = "client", _("IP address or network")


class ListEntry(models.Model):
    """One line of a block list or safe list. Without a project it holds for all of them."""

    project = models.ForeignKey(
        "verification.Project",
        verbose_name=_("project"),
        null=True,
        blank=True,
        on_delete=models.CASCADE,
        related_name="list_entries",
    )
    kind = models.CharField(_("list"), max_length=5, choices=ListKind.choices, default=ListKind.BLOCK)
    subject = models.CharField(_("subject"), max_length=9, choices=ListSubject.choices)
    value = models.CharField(_("value"), max_length=254)
    note = models.CharField(_("note"), max_length=200, blank=True)
    expires_at = ExpiryField(_("expires at"), null=True, blank=True)
    created_at = models.DateTimeField(_("created at"), db_default=Now())

    objects = Expiring["ListEntry"].as_manager()

    class Meta:
        ordering = ("-created_at", "-id")
        verbose_name = _("list entry")
        verbose_name_plural = _("list entries")
        constraints = (
            models.UniqueConstraint(
                name="list_entry_once", fields=("project", "kind", "subject", "value"), nulls_distinct=False
            ),
            models.CheckConstraint(name="list_entry_kind", condition=Q(kind__in=ListKind.values)),
            models.CheckConstraint(name="list_entry_subject", condition=Q(subject__in=ListSubject.values)),
        )

    def __str__(self) -> str:
        is_country = self.subject == ListSubject.COUNTRY  # any other value may be a person's
        subject = countries.named(self.value) if is_country else self.get_subject_display().lower()
        return gettext("{kind} list, {subject}").format(kind=self.get_kind_display(), subject=subject)


RISK_REASON_MAX_LENGTH = 200  # characters of what a check says; the rest is cut off


class RiskVerdict(models.Model):
    """One question to one service, for the message that it was asked for. It goes with the message.

    A verdict other than ``unknown`` holds for the recipient for a day. The price is the project's: services tell none.
    """

    message = models.ForeignKey(Message, on_delete=models.CASCADE, related_name="risk_verdicts", db_constraint=False)
    project = models.ForeignKey(Project, on_delete=models.DO_NOTHING, db_index=False, db_constraint=False)
    recipient = models.ForeignKey(
        "verification.Recipient", on_delete=models.DO_NOTHING, db_index=False, db_constraint=False
    )
    check_name = models.CharField(max_length=20)
    verdict = models.CharField(max_length=9, help_text="allow, challenge, deny or unknown.")
    reason = models.CharField(max_length=RISK_REASON_MAX_LENGTH, blank=True)
    latency_ms = models.PositiveIntegerField()
    price = models.DecimalField(max_digits=PRICE_DIGITS, decimal_places=DECIMAL_PLACES, null=True)
    currency = models.CharField(max_length=CURRENCY_LENGTH, blank=True)
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        indexes = (
            models.Index(name="risk_verdict_of_recipient", fields=("recipient", "-created_at")),
            models.Index(name="risk_verdict_of_project", fields=("project", "created_at")),
        )

    def __str__(self) -> str:
        return f"{self.check_name}: {self.verdict}"
