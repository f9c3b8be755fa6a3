"""Events on their way to the customers' servers, and the calls that told them."""

from typing import Any

from django.db import models
from django.db.models import Q
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _

from verification.models.channels import ChannelType
from verification.models.messages import Message
from verification.models.sessions import Session
from verification.models.shared import EVENT_TYPE_MAX_LENGTH, EventType

REASON_MAX_LENGTH = 40  # characters: the name of a rule of the decision log
SUBJECT_MAX_LENGTH = 120  # characters of a masked recipient


class ClockNow(Now):
    """The time of the insert itself, where ``Now`` is that of the statement: ``events_complete_until`` relies on it."""

    def as_postgresql(self, compiler: Any, connection: Any, **context: Any) -> Any:
        return self.as_sql(compiler, connection, template="CLOCK_TIMESTAMP()", **context)


class WebhookEvent(models.Model):
    """An event for a customer's server: a manual send that ended, or what became of a session. The row is the queue.

    ``due_at`` is the next try, or the end of the lease of whoever is at it; null once delivered or given up.
    ``url`` is empty for the events of sessions: they go to the address that the project has at each try.
    ``channel`` and ``reason`` are a session's at that moment. ``subject`` is the masked recipient of a refused request
    that opened no session. ``tells_recipient`` is the project's choice when the event was written: one that is made
    later opens no recipient of before.
    """

    id = models.BigAutoField(primary_key=True)
    project = models.ForeignKey(
        "verification.Project", verbose_name=_("project"), on_delete=models.CASCADE, db_index=False, db_constraint=False
    )
    type = models.CharField(_("type"), max_length=EVENT_TYPE_MAX_LENGTH, choices=EventType.choices)
    message = models.OneToOneField(
        Message, verbose_name=_("message"), null=True, on_delete=models.CASCADE, related_name="event"
    )
    session = models.ForeignKey(
        Session, null=True, on_delete=models.CASCADE, related_name="events", db_index=False, db_constraint=False
    )
    channel = models.CharField(max_length=20, choices=ChannelType.choices, blank=True, default="", db_default="")
    reason = models.CharField(max_length=REASON_MAX_LENGTH, blank=True, default="", db_default="")
    subject = models.CharField(max_length=SUBJECT_MAX_LENGTH, blank=True, default="", db_default="")
    tells_recipient = models.BooleanField(default=False, db_default=False)
    url = models.CharField(max_length=2048, blank=True, default="", db_default="")
    tries = models.PositiveSmallIntegerField(_("attempts"), default=0, db_default=0)
    due_at = models.DateTimeField(null=True, db_default=ClockNow())
    delivered_at = models.DateTimeField(null=True)
    created_at = models.DateTimeField(_("created at"), db_default=ClockNow())

    class Meta:
        verbose_name = _("event")
        verbose_name_plural = _("events")
        ordering = ("-created_at",)
        indexes = (
            models.Index(name="event_due", fields=("project", "due_at"), condition=Q(due_at__isnull=False)),
            models.Index(name="event_of_project", fields=("project", "-created_at")),
            models.Index(name="event_newest", fields=("-created_at",)),
            models.Index(name="event_of_session", fields=("session",), condition=Q(session__isnull=False)),
            models.Index(
                name="event_refused",
                fields=("project", "-created_at"),
                condition=Q(type=EventType.SESSION_REFUSED),
            ),
        )

    rules = {
        "event_type": Q(type__in=EventType.values),
        "event_of_a_message_or_session": Q(type=EventType.MESSAGE_FINISHED, message__isnull=False, session=None)
        | (~Q(type=EventType.MESSAGE_FINISHED) & Q(message=None)),
    }

    def __str__(self) -> str:
        return _("Event {number}").format(number=self.webhook_id)

    @property
    def webhook_id(self) -> str:
        """The id under which the customer's server hears of it, the same at every try."""
        return f"evt_{self.pk}" if self.message_id is None else f"msg_{self.message_id}"


class WebhookAttempt(models.Model):
    """One call of a customer's server. ``status`` is the HTTP status, null where none came."""

    event = models.ForeignKey(WebhookEvent, on_delete=models.CASCADE, related_name="attempts")
    status = models.PositiveSmallIntegerField(null=True)
    error = models.CharField(max_length=200, blank=True)
    latency_ms = models.PositiveIntegerField()
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        verbose_name = _("webhook attempt")
        verbose_name_plural = _("webhook attempts")
        ordering = ("id",)

    def __str__(self) -> str:
        return f"attempt {self.pk}"
