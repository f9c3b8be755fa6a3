"""Messages and the attempts to send them: the channel, the provider, the outcome."""

from typing import Any

from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _

from verification.core.currencies import CURRENCY_LENGTH
from verification.models.channels import ChannelType
from verification.models.fields import LANGUAGE_MAX_LENGTH, NETWORK_MAX_LENGTH
from verification.models.prices import DECIMAL_PLACES, PRICE_DIGITS, SUM_DIGITS
from verification.models.shared import CHOICE_MAX_LENGTH, Choice, Requested

ERROR_MAX_LENGTH = 500
PROVIDER_MESSAGE_ID_MAX_LENGTH = 255
PROVIDER_STATUS_MAX_LENGTH = 100
TRACEPARENT_LENGTH = 55  # characters; the W3C fixes them


def unlink_carried(collector: Any, field: Any, sub_objs: Any, using: str) -> None:
    """Unlink the messages of a provider that is deleted: those that its attempts name.

    No index holds a message's provider alone, so Django's own ``SET_NULL`` would read every message there is.
    """
    providers = [row.pk for row in collector.data[field.remote_field.model]]
    carried = DeliveryAttempt.objects.using(using).filter(provider__in=providers).values("message")
    rows = Message.objects.using(using).filter(pk__in=carried, provider__in=providers).order_by("pk").only("pk")
    collector.add_field_update(field, None, list(rows))


unlink_carried.lazy_sub_objs = True  # type: ignore[attr-defined]  # Django reads no message before it calls


class MessageStatus(models.TextChoices):
    """Forward only: a message never goes back, and the last three are final."""

    QUEUED = "queued", _("Queued")
    SENDING = "sending", _("Sending")
    SENT = "sent", _("Sent")
    SUCCESS = "success", _("Delivered")
    FAILED = "failed", _("Failed")
    EXPIRED = "expired", _("Expired")


LOST = (MessageStatus.FAILED, MessageStatus.EXPIRED)
FINAL = (MessageStatus.SUCCESS, *LOST)


class Message(Requested):
    """One message to one recipient. The row is the truth; a wake-up over the broker is a hint.

    ``due_at`` is when a worker may take it next. That is the time of a retry; or, while ``claimed_at`` is set, the end
    of a worker's lease; or, once the message was sent, the end of the wait for its receipt.
    A message that no provider accepted or may have accepted is no longer ``is_counted``. Its request and ``subnet`` are
    kept where they are not its session's: of a send that was asked for later, and of a manual send.
    """

    id = models.BigIntegerField(_("id"), primary_key=True)
    # Each foreign key is in an index of the class below, or needs none: every update of a row writes all indexes.
    project = models.ForeignKey(
        "verification.Project", verbose_name=_("project"), on_delete=models.CASCADE, db_index=False, db_constraint=False
    )
    recipient = models.ForeignKey(
        "verification.Recipient",
        on_delete=models.CASCADE,
        related_name="messages",
        db_index=False,
        db_constraint=False,
    )
    mailbox = models.BigIntegerField(
        null=True, help_text="Whose limits of sends it counts in, as key_of_mailbox; null for those of the recipient."
    )
    session = models.ForeignKey(
        "verification.Session",
        null=True,
        blank=True,
        on_delete=models.CASCADE,
        related_name="messages",
        db_index=False,
        db_constraint=False,
    )
    channel = models.CharField(_("channel"), max_length=20, choices=ChannelType.choices)
    language = models.CharField(_("language"), max_length=LANGUAGE_MAX_LENGTH)
    status = models.CharField(max_length=8, choices=MessageStatus.choices, default=MessageStatus.QUEUED)
    error = models.CharField(max_length=ERROR_MAX_LENGTH, null=True, blank=True)
    is_test = models.BooleanField(default=False)
    is_counted = models.BooleanField(default=True)
    is_budgeted = models.BooleanField(
        default=False, db_default=False, help_text="Counted in its channel's budget of the day."
    )
    code_encrypted = models.BinaryField(
        null=True, help_text="The code of a manual send, until it is sent and nothing falls back from it."
    )
    callback_url = models.CharField(max_length=2048, blank=True)
    connection = models.ForeignKey(  # of a message of its own; the id stays when the connection is removed
        "verification.IdentityConnection",
        verbose_name=_("connection"),
        null=True,
        blank=True,
        on_delete=models.DO_NOTHING,
        related_name="+",
        db_index=False,
        db_constraint=False,
    )
    fallback_of = models.ForeignKey(
        "self",
        null=True,
        blank=True,
        on_delete=models.DO_NOTHING,
        related_name="+",
        db_index=False,
        db_constraint=False,
        help_text="The first message with this code, where an identity system handed the code over.",
    )
    pinned_provider = models.ForeignKey(
        "verification.Provider", null=True, blank=True, on_delete=models.SET_NULL, related_name="+", db_index=False
    )
    provider = models.ForeignKey(
        "verification.Provider",
        null=True,
        blank=True,
        on_delete=unlink_carried,
        related_name="messages",
        db_index=False,
        db_constraint=False,
    )
    provider_message_id = models.CharField(max_length=PROVIDER_MESSAGE_ID_MAX_LENGTH, null=True, blank=True)
    claims = models.SmallIntegerField(default=0, help_text="How often a worker took it.")
    lost_leases = models.SmallIntegerField(default=0, help_text="How often a worker died with it.")
    claimed_at = models.DateTimeField(null=True)
    is_handed_over = models.BooleanField(
        default=False, db_default=False, help_text="Left to a worker with a connection to its provider."
    )
    subnet = models.CharField(max_length=NETWORK_MAX_LENGTH, default="", db_default="")
    traceparent = models.CharField(  # null wherever no traces are sent
        max_length=TRACEPARENT_LENGTH, null=True, help_text="The span of the request, as W3C Trace Context writes it."
    )
    created_at = models.DateTimeField(_("created at"), db_default=Now())
    due_at = models.DateTimeField(db_default=Now())
    fallback_at = models.DateTimeField(null=True, help_text="When the next channel is tried unless it has arrived.")
    expires_at = models.DateTimeField()
    sent_at = models.DateTimeField(null=True)
    finished_at = models.DateTimeField(null=True)
    verified_at = models.DateTimeField(
        null=True, help_text="When the customer's server reported that the user got in. Of a session its token tells."
    )

    class Meta:
        ordering = ("-created_at",)
        verbose_name = _("message")
        verbose_name_plural = _("messages")
        indexes = (
            models.Index(name="message_of_session", fields=("session",), condition=Q(session__isnull=False)),
            models.Index(name="message_of_recipient", fields=("recipient", "-created_at")),
            models.Index(
                name="message_of_mailbox",
                fields=("mailbox", "created_at"),
                condition=Q(mailbox__isnull=False, is_counted=True),
            ),
            models.Index(name="message_of_project", fields=("project", "-created_at")),
            models.Index(name="message_of_request", fields=("caller_request",), condition=~Q(caller_request="")),
            models.Index(name="message_newest", fields=("-created_at",)),
            models.Index(  # for the deletion of a provider
                name="message_pinned",
                fields=("pinned_provider",),
                condition=Q(pinned_provider__isnull=False),
            ),
            # Written only where a message ends so. With the id in it, the newest are found without their rows.
            models.Index(
                name="message_lost_of_project",
                fields=("project", "status", "-created_at"),
                include=("id",),
                condition=Q(status__in=LOST),
            ),
            models.Index(
                name="message_due",
                fields=("-created_at",),
                condition=Q(status__in=(MessageStatus.QUEUED, MessageStatus.SENDING)),
            ),
            models.Index(
                name="message_expires",
                fields=("expires_at",),
                condition=Q(status__in=(MessageStatus.QUEUED, MessageStatus.SENDING)),
            ),
            models.Index(name="message_falls_back", fields=("fallback_at",), condition=Q(fallback_at__isnull=False)),
            models.Index(
                name="message_lost",
                fields=("finished_at",),
                condition=Q(status__in=LOST, sent_at__isnull=True),
            ),
            models.Index(name="message_awaits_receipt", fields=("due_at",), condition=Q(status=MessageStatus.SENT)),
            models.Index(
                name="message_by_provider_id",
                fields=("provider", "provider_message_id"),
                condition=Q(provider_message_id__isnull=False),
            ),
        )

    rules = {
        "message_claims": Q(claims__gte=0, lost_leases__gte=0),
        "message_status": Q(status__in=MessageStatus.values),
        "message_finished_when_final": Q(status__in=FINAL, finished_at__isnull=False)
        | Q(~Q(status__in=FINAL), finished_at__isnull=True),
        "message_code_wiped_when_sent": Q(code_encrypted=None)
        | Q(status__in=(MessageStatus.QUEUED, MessageStatus.SENDING))
        | Q(fallback_at__isnull=False),  # the next channel will need it
        "message_expires_later": Q(expires_at__gt=F("created_at")),
        "message_of_its_recipients_project": Q(project=F("recipient__project")),
    }

    def __str__(self) -> str:
        return _("Message {number}").format(number=self.pk)


class DeliveryAttempt(models.Model):
    """One call to one provider for one message."""

    message = models.ForeignKey(Message, on_delete=models.CASCADE, related_name="attempts", db_constraint=False)
    provider = models.ForeignKey(
        "verification.Provider", null=True, on_delete=models.SET_NULL, related_name="attempts", db_index=False
    )
    provider_name = models.CharField(max_length=80)
    outcome = models.CharField(max_length=20)
    provider_message_id = models.CharField(max_length=PROVIDER_MESSAGE_ID_MAX_LENGTH, null=True)
    provider_status = models.CharField(max_length=PROVIDER_STATUS_MAX_LENGTH, blank=True)
    error = models.CharField(max_length=ERROR_MAX_LENGTH, blank=True)
    latency_ms = models.IntegerField()
    choice = models.CharField(
        max_length=CHOICE_MAX_LENGTH,
        choices=Choice.choices,
        blank=True,
        default="",
        db_default="",
        help_text="Why this provider was tried.",
    )
    segments = models.PositiveSmallIntegerField(null=True, help_text="SMS that it is billed as; null if not sent.")
    price = models.DecimalField(
        max_digits=PRICE_DIGITS, decimal_places=DECIMAL_PLACES, null=True, help_text="At the time; null if not known."
    )
    currency = models.CharField(max_length=CURRENCY_LENGTH, null=True)
    failed_at = models.DateTimeField(
        null=True, help_text="When the provider reported that what it took could not be delivered."
    )
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        ordering = ("id",)
        verbose_name = _("delivery attempt")
        verbose_name_plural = _("delivery attempts")
        indexes = (
            models.Index(name="attempt_of_provider", fields=("provider", "-created_at")),
            models.Index(
                name="attempt_by_provider_id",
                fields=("provider_message_id",),
                condition=Q(provider_message_id__isnull=False),
            ),
        )

    rules = {"attempt_latency": Q(latency_ms__gte=0)}

    def __str__(self) -> str:
        return f"{self.provider_name}: {self.outcome}"


class DailySpend(models.Model):
    """Messages of one project over one channel on one day (UTC), which a daily budget is held against."""

    project = models.ForeignKey("verification.Project", on_delete=models.CASCADE)
    channel = models.CharField(max_length=20, choices=ChannelType.choices)
    day = models.DateField()
    messages = models.IntegerField()

    class Meta:
        constraints = (models.UniqueConstraint(name="daily_spend_once", fields=("project", "channel", "day")),)

    rules = {"daily_spend_messages": Q(messages__gte=0)}

    def __str__(self) -> str:
        return f"{self.messages} on {self.day}"


class DailyChannelCost(models.Model):
    """The cost of one project's messages over one channel on one day (UTC), as far as prices are known.

    The workers write it for channels with a budget in money. Requests read it with the project's configuration.
    """

    project = models.ForeignKey("verification.Project", on_delete=models.CASCADE)
    channel = models.CharField(max_length=20, choices=ChannelType.choices)
    day = models.DateField()
    amount = models.DecimalField(max_digits=SUM_DIGITS, decimal_places=DECIMAL_PLACES)
    month_amount = models.DecimalField(
        max_digits=SUM_DIGITS,
        decimal_places=DECIMAL_PLACES,
        default=0,
        db_default=0,
        help_text="Of the calendar month up to this day.",
    )
    currency = models.CharField(max_length=CURRENCY_LENGTH)

    class Meta:
        constraints = (models.UniqueConstraint(name="daily_channel_cost_once", fields=("project", "channel", "day")),)

    def __str__(self) -> str:
        return f"{self.amount} {self.currency} on {self.day}"


class IdempotentRequest(models.Model):
    """The answer of a manual send under the ``Idempotency-Key`` it came with. It goes with its message.

    The body's digest is keyed, as a body may hold a code. Without ``api_key`` it answered an identity system, by the
    key of whose call a repetition is known.
    """

    project = models.ForeignKey("verification.Project", on_delete=models.CASCADE)
    key = models.CharField(max_length=255)
    api_key = models.ForeignKey("verification.ApiKey", null=True, on_delete=models.CASCADE)
    body_digest = models.BinaryField(max_length=32)
    answer_encrypted = models.BinaryField(null=True)
    message = models.ForeignKey(Message, null=True, on_delete=models.CASCADE, related_name="idempotent_requests")
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        constraints = (models.UniqueConstraint(name="idempotent_request_once", fields=("project", "key")),)

    def __str__(self) -> str:
        return f"idempotent request {self.pk}"
