"""The settings of what a project tells by itself: events to the customer's server, alerts to its people."""

from django.core.validators import MaxValueValidator
from django.db import models
from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _

from verification.models.fields import EventField, ListField, QuietHoursField, TimeZoneField
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
            _("What your server is told: {events}. Empty means nothing."), events=", ".join(EventType.values)
        ),
    )
    event_url = models.URLField(
        _("call with events"),
        max_length=URL_MAX_LENGTH,
        blank=True,
        default="",
        db_default="",
        help_text=_("An https address that is called with each of these events, signed like a callback."),
    )
    event_recipients = models.BooleanField(
        _("whole recipients"),
        default=False,
        db_default=False,
        help_text=_("Events name the whole phone number or e-mail address. Otherwise they show a part of it."),
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
        verbose_name=_("mail alerts to"),
        most=MAX_ALERT_EMAILS,
        help_text=_("Who gets a mail about findings, spent budgets and the like. Empty means the project's members."),
    )
    alert_by_webhook = models.BooleanField(
        _("alerts by webhook"),
        default=True,
        db_default=True,
        help_text=_("Send each alert to the webhook address, if there is one."),
    )
    alert_url = models.URLField(
        _("call with alerts"),
        max_length=URL_MAX_LENGTH,
        blank=True,
        help_text=_("An https address that is called with each alert, signed like a callback."),
    )
    balance_alert_days = models.PositiveSmallIntegerField(
        _("balance lasts less than"),
        default=7,
        validators=[MaxValueValidator(MAX_BALANCE_DAYS)],
        help_text=_(
            "Days: an alert tells when a provider's balance would be used up sooner, at the last week's rate."
            " 0 is no alert."
        ),
    )
    alert_quiet_hours = QuietHoursField(
        _("quiet hours"),
        max_length=11,
        blank=True,
        default="",
        help_text=_(
            "Such as 22:00-07:00. Mails and chats then wait until they end, but for a channel over which nothing"
            " gets out. The call goes at once."
        ),
    )
    alert_time_zone = TimeZoneField(
        _("time zone"),
        max_length=40,
        default="UTC",
        help_text=_("Of quiet hours and the digest, such as Europe/Berlin."),
    )
    alert_digest = models.BooleanField(
        _("weekly digest"),
        default=False,
        help_text=_("On Monday from 9: verified users, conversion, cost and the worst provider of the last week."),
    )

    class Meta:
        abstract = True
