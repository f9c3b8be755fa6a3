"""The decisions of the operator for all projects; what the service does for itself, and the processes that do it."""

import uuid
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now
from django.utils.text import format_lazy
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from verification.core.currencies import CURRENCY_LENGTH, USUAL_ACCOUNT
from verification.models.channels import ChannelType
from verification.models.prices import CurrencyField

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise

ALL_SENDING = "all"


def ceiling_field(name: "StrOrPromise", help_text: "StrOrPromise") -> "models.PositiveIntegerField[int, int]":
    return models.PositiveIntegerField(
        name, default=0, help_text=format_lazy(_("{help_text} 0 = no platform limit."), help_text=help_text)
    )


class Platform(models.Model):
    """One row: the ceilings over what owners set, which hold at once whatever a project's own limits say."""

    sms_per_recipient_a_day = models.PositiveIntegerField(
        _("SMS per recipient per day"),
        default=0,
        help_text=_(
            "SMS to one number in 24 hours from all projects together, if more than one sends to it. 0 = no limit."
        ),
    )
    max_daily_budget = ceiling_field(_("max daily budget"), _("Messages per day on one channel of a project."))
    max_sends_per_day = ceiling_field(_("max sends per day"), _("Messages to one recipient of a project per day."))
    max_requests_per_second = ceiling_field(
        _("max requests per second"), _("Sessions created and manual sends of a project per second.")
    )
    max_creates_per_address = ceiling_field(
        _("max sessions per IP address"), _("Sessions created from one IP address in 10 minutes.")
    )

    account_currency = CurrencyField(
        _("account currency"),
        max_length=CURRENCY_LENGTH,
        default=USUAL_ACCOUNT,
        help_text=_(
            "The currency in which costs are shown, such as EUR. Prices in other currencies need an exchange rate."
        ),
    )

    class Meta:
        verbose_name = _("platform limits")
        verbose_name_plural = _("platform limits")
        constraints = (models.CheckConstraint(name="platform_one_row", condition=Q(id=1)),)

    def __str__(self) -> str:
        return gettext("All projects")


class KillSwitch(models.Model):
    """Sending that the operator has stopped for every project: all of it, or one channel. No row, and it flows."""

    subject = models.CharField(
        _("subject"), unique=True, max_length=20, choices=[(ALL_SENDING, _("All sending")), *ChannelType.choices]
    )
    reason = models.CharField(_("reason"), max_length=200, blank=True)
    since = models.DateTimeField(_("since"), db_default=Now())

    class Meta:
        verbose_name_plural = _("kill switches")
        verbose_name = _("kill switch")

    def __str__(self) -> str:
        return str(self.get_subject_display())


class Runs(models.QuerySet["Upkeep"]):
    def claim(self, name: str, *, period: timedelta, now: datetime) -> bool:
        """Begin the next run: True for the first worker that asks once the last one began a ``period`` ago."""
        self.bulk_create([Upkeep(name=name, started_at=now - period)], ignore_conflicts=True)
        return bool(self.filter(name=name, started_at__lte=now - period).update(started_at=now))


class Upkeep(models.Model):
    """One kind of recurring work. Whoever moves ``started_at`` forward does the next run."""

    objects = Runs.as_manager()

    name = models.CharField(primary_key=True, max_length=40)
    started_at = models.DateTimeField()
    finished_at = models.DateTimeField(null=True)

    def __str__(self) -> str:
        return self.name


class WriteTrial(models.Model):
    """The one row by which processes try whether the database takes writes: ``sql/records/write_trial.sql``."""

    written_at = models.DateTimeField(primary_key=True)

    def __str__(self) -> str:
        return self.written_at.isoformat()


class Worker(models.Model):
    """A worker process. It moves ``seen_at`` forward while it runs, and takes its row away when it stops."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    host = models.CharField(max_length=255)
    pid = models.PositiveIntegerField()
    version = models.CharField(max_length=40)
    threads = models.PositiveIntegerField()
    kinds = ArrayField(models.CharField(max_length=20), help_text="What it works on: messages, connections.")
    started_at = models.DateTimeField(db_default=Now())
    seen_at = models.DateTimeField(db_default=Now(), db_index=True)

    def __str__(self) -> str:
        return f"{self.host}, process {self.pid}"
