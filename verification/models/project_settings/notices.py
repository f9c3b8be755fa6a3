"""The settings of what a project tells by itself: events to the customer's server, alerts to its people."""

from django.core.validators import MaxValueValidator
from django.db import models
from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _

from verification.models.fields import EventField, ListField, QuietHoursField, TimeZoneField, with_unit
from verification.models.shared import EVENT_TYPE_MAX_LENGTH, EventType, SettingGroup

MAX_ALERT_EMAILS = 20  # Addresses of an owner's choice, to which the operator's mail server sends.
MAX_BALANCE_DAYS = 90  # Days before an account runs out: a rate of one week says nothing of later ones.
URL_MAX_LENGTH = 2048  # Characters that every browser and proxy takes.


class Events(SettingGroup):
    title = "Events"

    events = ListField(
        EventField(max_length=EVENT_TYPE_MAX_LENGTH, choices=EventType.choices),
        verbose_name=_("events"),
        most=len(EventType),
        db_default=[],
        help_text=format_lazy(
            _("Events sent to your server: {events}. Leave empty for none."), events=", ".join(EventType.values)
        ),
    )
    event_url = models.URLField(
        _("event webhook URL"),
        max_length=URL_MAX_LENGTH,
        blank=True,
        default="",
        db_default="",
        help_text=_("An https URL that receives each of these events, signed with the project's webhook secret."),
    )
    event_recipients = models.BooleanField(
        _("full recipient addresses"),
        default=False,
        db_default=False,
        help_text=_("Include the full phone number or e-mail address in events. Otherwise it is masked."),
    )

    class Meta:
        abstract = True


class Alerts(SettingGroup):
    title = "Alerts"

    alert_by_mail = models.BooleanField(
        _("alerts by e-mail"), default=True, db_default=True, help_text=_("Send each alert by e-mail.")
    )
    alert_emails = ListField(
        models.EmailField(),
        verbose_name=_("alert e-mail addresses"),
        most=MAX_ALERT_EMAILS,
        help_text=_("Who gets alerts by e-mail. Leave empty for the project's members."),
    )
    alert_by_webhook = models.BooleanField(
        _("alerts by webhook"),
        default=True,
        db_default=True,
        help_text=_("Send each alert to the webhook URL below, if set."),
    )
    alert_url = models.URLField(
        _("alert webhook URL"),
        max_length=URL_MAX_LENGTH,
        blank=True,
        help_text=_("An https URL that receives each alert, signed with the project's webhook secret."),
    )
    balance_alert_days = with_unit(
        _("days"),
        models.PositiveSmallIntegerField(
            _("low-balance warning"),
            default=7,
            validators=[MaxValueValidator(MAX_BALANCE_DAYS)],
            help_text=_("Alert when a balance would last fewer than this many days at last week's rate. 0 = off."),
        ),
    )
    alert_quiet_hours = QuietHoursField(
        _("quiet hours"),
        max_length=11,
        blank=True,
        default="",
        help_text=_(
            "Such as 22:00-07:00. E-mails and chat messages are held until quiet hours end, except “channel"
            " down”. Webhooks are never held."
        ),
    )
    alert_time_zone = TimeZoneField(
        _("time zone"),
        max_length=40,
        default="UTC",
        help_text=_("For quiet hours and the digest, such as Europe/Berlin."),
    )
    alert_digest = models.BooleanField(
        _("weekly digest"),
        default=False,
        help_text=_("Sent on Mondays at 9:00: last week's verified users, conversion, cost and worst provider."),
    )

    class Meta:
        abstract = True
