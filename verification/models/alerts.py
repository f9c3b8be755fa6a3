"""The rows that tell an owner: why traffic was refused, and what needs their attention."""

import uuid

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _

from verification.models.fields import NameField


class Decision(models.Model):
    """One rule against one subject in one hour: how often it refused traffic, or would have, and by which figures.

    ``subject`` names a masked recipient, a prefix, a country or a network, never a whole address. The hour's row
    counts the refusals. Past a number of subjects an hour, one row counts all others, so that nobody can fill the table
    by causing refusals. ``refused`` are the requests among ``count`` that were refused, not only observed or sent
    another way.
    """

    project = models.ForeignKey(
        "verification.Project", verbose_name=_("project"), on_delete=models.CASCADE, db_index=False
    )
    rule = models.CharField(max_length=40)
    subject = models.CharField(_("subject"), max_length=120)
    hour = models.DateTimeField()
    country = models.CharField(
        max_length=3, blank=True, default="", help_text="Whither, where the traffic guard refused."
    )
    count = models.PositiveIntegerField(default=1)
    refused = models.PositiveIntegerField(default=0)
    figures = models.JSONField(default=dict)
    first_at = models.DateTimeField(db_default=Now())
    last_at = models.DateTimeField(_("last at"), db_default=Now())

    class Meta:
        ordering = ("-last_at",)
        verbose_name = _("decision")
        verbose_name_plural = _("decisions")
        constraints = (
            models.UniqueConstraint(
                name="decision_once_an_hour", fields=("project", "rule", "hour", "subject", "country")
            ),
        )
        indexes = (
            models.Index(name="decision_of_project", fields=("project", "-last_at")),
            models.Index(name="decision_of_subject", fields=("subject", "project", "-last_at")),
        )

    def __str__(self) -> str:
        return _("Refusals: {subject}").format(subject=self.subject)


# The kinds of the alerts that last: nothing gets out over a channel; a provider hardly delivers to a country.
OUTAGE, COLLAPSE = "channel_down", "provider_country"
COLLAPSE_OVER = "provider_country_over"  # the kind of the alert that tells of the end


class Alert(models.Model):
    """An event that the owner should hear of, told once: ``key`` names the event, such as its day.

    An outage is told at its beginning, and its end by an alert of its own. While it lasts ``key`` is what it is about,
    such as a channel, so that it stands here once; with ``ended_at`` the key takes the time of the end.

    ``due_at`` is the next try to tell them, or the end of the lease of whoever is at it; null once told or given up.
    """

    project = models.ForeignKey(
        "verification.Project", verbose_name=_("project"), on_delete=models.CASCADE, related_name="alerts"
    )
    kind = models.CharField(max_length=40)
    key = models.CharField(max_length=120)
    title = models.CharField(_("title"), max_length=200)
    detail = models.TextField(_("detail"))
    tries = models.PositiveSmallIntegerField(default=0)
    error = models.CharField(max_length=200, blank=True, help_text="Why the last try failed.")
    due_at = models.DateTimeField(null=True)
    mailed_at = models.DateTimeField(null=True)
    posted_at = models.DateTimeField(null=True)
    told_services = ArrayField(
        models.BigIntegerField(), null=True, help_text="The ids of the alert services that took it."
    )
    read_at = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(null=True, help_text="Of an outage, when it was over.")
    created_at = models.DateTimeField(_("created at"), db_default=Now())

    class Meta:
        ordering = ("-created_at",)
        verbose_name = _("alert")
        verbose_name_plural = _("alerts")
        constraints = (models.UniqueConstraint(name="alert_once", fields=("project", "kind", "key")),)
        indexes = (
            models.Index(name="alert_of_project", fields=("project", "-created_at")),
            models.Index(name="alert_of_outage", fields=("kind",), condition=Q(kind=OUTAGE, ended_at__isnull=True)),
            models.Index(name="alert_due", fields=("due_at",), condition=Q(due_at__isnull=False)),
        )

    def __str__(self) -> str:
        return self.title


class AlertServiceKind(models.TextChoices):
    TELEGRAM = "telegram", _("Telegram")
    SLACK = "slack", _("Slack, Mattermost, Discord")
    APPRISE = "apprise", _("Other service (Apprise)")


class AlertService(models.Model):
    """A chat or service that a project's alerts are written to. ``secret`` is its token or address, encrypted."""

    uuid = models.UUIDField(_("uuid"), default=uuid.uuid4, unique=True, editable=False)
    project = models.ForeignKey(
        "verification.Project", verbose_name=_("project"), on_delete=models.CASCADE, related_name="alert_services"
    )
    kind = models.CharField(_("kind"), max_length=10, choices=AlertServiceKind.choices)
    name = NameField(_("name"), max_length=80)
    secret = models.BinaryField(_("secret"), editable=False)
    chat = models.CharField(_("chat"), max_length=40, blank=True, default="")
    is_enabled = models.BooleanField(_("active"), default=True)
    told_at = models.DateTimeField(null=True, editable=False)
    tried_at = models.DateTimeField(null=True, editable=False, help_text="The last try, whether or not it worked.")
    error = models.CharField(
        max_length=200,
        blank=True,
        default="",
        editable=False,
        help_text="Why the last one failed; empty if it did not.",
    )
    created_at = models.DateTimeField(_("created at"), db_default=Now(), editable=False)

    class Meta:
        ordering = ("name", "id")
        verbose_name = _("alert destination")
        verbose_name_plural = _("alert destinations")
        constraints = (
            models.CheckConstraint(name="alert_service_kind", condition=Q(kind__in=AlertServiceKind.values)),
        )

    def __str__(self) -> str:
        return self.name


class AlertWay(models.TextChoices):
    """The ways of alerting that are settings of the project and no :class:`AlertService`."""

    MAIL = "mail", _("E-mail")
    WEBHOOK = "webhook", _("Webhook")


class AlertOutcome(models.Model):
    """The end of a project's last alert by e-mail, or by webhook. A project has one row for each, once it was tried."""

    project = models.ForeignKey("verification.Project", on_delete=models.CASCADE, related_name="+")
    way = models.CharField(max_length=10, choices=AlertWay.choices)
    tried_at = models.DateTimeField()
    error = models.CharField(max_length=200, blank=True, default="", help_text="Why it failed; empty if it worked.")

    class Meta:
        constraints = (models.UniqueConstraint(name="alert_outcome_once", fields=("project", "way")),)

    def __str__(self) -> str:
        return f"{self.way}: {self.error or 'sent'}"
