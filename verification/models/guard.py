"""The rows of the traffic guard: the sends that it counts, and its findings."""

from django.conf import settings
from django.db import models
from django.db.models import F, Q
from django.utils.translation import gettext_lazy as _

from verification.models.guard_rules import ABOUT_GUESSING, GuardRule
from verification.models.messages import Message
from verification.models.projects import Project


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
    is_manual = models.BooleanField()
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
        verbose_name = _("finding")
        verbose_name_plural = _("findings")
        constraints = (
            models.UniqueConstraint(name="guard_block_once", fields=("project", "subject", "rule")),
            models.CheckConstraint(name="guard_block_rule", condition=Q(rule__in=GuardRule.values)),
            models.CheckConstraint(name="guard_block_ends_later", condition=Q(until__gt=F("since"))),
        )
        indexes = (
            models.Index(name="guard_block_to_announce", fields=("project",), condition=Q(is_announced=False)),
            models.Index(
                name="guard_block_of_guessing", fields=("project", "until"), condition=Q(rule__in=ABOUT_GUESSING)
            ),
        )

    def __str__(self) -> str:
        return f"{self.get_rule_display()}: {self.subject or self.project}"
