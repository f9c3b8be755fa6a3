"""The decisions of the operator for all projects together."""

from django.db import models
from django.db.models import Q
from django.db.models.functions import Now
from django.utils.translation import gettext as _

from verification.currencies import CODE_LENGTH, USUAL_ACCOUNT
from verification.lazy_words import format_lazy, gettext_lazy
from verification.models.channels import ChannelType
from verification.models.prices import CurrencyField

ALL_SENDING = "all"


def ceiling_field(help_text: str) -> "models.PositiveIntegerField[int, int]":
    return models.PositiveIntegerField(
        default=0, help_text=format_lazy(gettext_lazy("{help_text} 0 means no ceiling."), help_text=help_text)
    )


class Platform(models.Model):
    """One row: the ceilings over what owners set, which hold at once whatever a project's own limits say."""

    sms_per_recipient_a_day = models.PositiveIntegerField(
        default=0,
        help_text=gettext_lazy(
            "SMS to one number in 24 hours from all projects together, once more than one sends there."
            " 0 switches the limit off."
        ),
    )
    max_daily_budget = ceiling_field(gettext_lazy("Messages a day over one channel of a project."))
    max_sends_per_day = ceiling_field(gettext_lazy("Messages to one recipient of a project in a day."))
    max_requests_per_second = ceiling_field(gettext_lazy("Session creates and manual sends of a project in a second."))
    max_creates_per_address = ceiling_field(gettext_lazy("Session creates from one client address in 10 minutes."))

    account_currency = CurrencyField(
        max_length=CODE_LENGTH,
        default=USUAL_ACCOUNT,
        help_text=gettext_lazy(
            "The currency that costs are summed in, such as EUR. Prices in others need an exchange rate."
        ),
    )

    class Meta:
        verbose_name = verbose_name_plural = "ceilings"
        constraints = (models.CheckConstraint(name="platform_one_row", condition=Q(id=1)),)

    def __str__(self) -> str:
        return _("All projects")


class KillSwitch(models.Model):
    """Sending that the operator has stopped for every project: all of it, or one channel. No row, and it flows."""

    subject = models.CharField(
        unique=True, max_length=20, choices=[(ALL_SENDING, gettext_lazy("All sending")), *ChannelType.choices]
    )
    reason = models.CharField(max_length=200, blank=True)
    since = models.DateTimeField(db_default=Now())

    class Meta:
        verbose_name_plural = gettext_lazy("kill switches")

    def __str__(self) -> str:
        return str(self.get_subject_display())
