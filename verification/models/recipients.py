"""The people that codes go to. The recipient's row is the lock under which everything about them is counted."""

from django.contrib.postgres.functions import RandomUUID
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _

from verification.core.addresses import mask
from verification.models.channels import ChannelType
from verification.models.fields import LANGUAGE_MAX_LENGTH, ExpiryField
from verification.models.projects import Project
from verification.models.shared import Expiring


class Mailbox(models.Func):
    """The mailbox behind an e-mail address, as far as addresses tell: without a tag, and at Gmail without dots.

    Null for what is no e-mail address. ``mailbox_of`` writes it; this is the rule that the rows are held against.
    """

    template = (
        "CASE WHEN %(expressions)s ~ '@(gmail|googlemail)[.]com$'"
        " THEN replace(split_part(split_part(%(expressions)s, '@', 1), '+', 1), '.', '') || '@gmail.com'"
        " WHEN position('@' in %(expressions)s) > 0 THEN"
        " split_part(split_part(%(expressions)s, '@', 1), '+', 1) || '@' || split_part(%(expressions)s, '@', 2) END"
    )
    output_field = models.CharField(max_length=254)


class Recipient(models.Model):
    """A phone number or e-mail address as one project knows it."""

    project = models.ForeignKey(
        "verification.Project",
        verbose_name=_("project"),
        on_delete=models.CASCADE,
        related_name="recipients",
        db_index=False,
        db_constraint=False,
    )
    address = models.CharField(
        _("address"), max_length=254, help_text="Canonical: E.164, or the lower-cased e-mail address."
    )
    mailbox = models.CharField(
        max_length=254,
        null=True,
        help_text="Whose limits of sends it shares; null for a phone number.",
    )
    language = models.CharField(_("language"), max_length=LANGUAGE_MAX_LENGTH, blank=True)
    verified_channel = models.CharField(_("verified channel"), max_length=20, choices=ChannelType.choices, blank=True)
    verified_at = models.DateTimeField(null=True, help_text="The last success; wrong codes before it do not count.")
    known_at = models.DateTimeField(
        null=True, help_text="When the customer's server last proved them: by a redeemed token, or by its report."
    )
    known_since = models.DateTimeField(null=True, help_text="Since when it has done so without a gap.")
    created_at = models.DateTimeField(db_default=Now())
    forgotten_at = models.DateTimeField(
        null=True,
        help_text="When they were erased; the address is a hash since then, and what is left goes a day later.",
    )

    erased_hash = models.CharField(
        max_length=64,
        null=True,
        help_text="Of the erased, by the platform's limit alone: the keyed hash of the address in all projects.",
    )

    class Meta:
        verbose_name = _("recipient")
        verbose_name_plural = _("recipients")
        indexes = (
            models.Index(name="recipient_of_all_projects", fields=("address",)),
            models.Index(name="recipient_of_project", fields=("project", "-id")),
            models.Index(name="recipient_forgotten", fields=("forgotten_at",), condition=Q(forgotten_at__isnull=False)),
            models.Index(name="recipient_erased", fields=("erased_hash",), condition=Q(erased_hash__isnull=False)),
        )
        constraints = (models.UniqueConstraint(name="recipient_once", fields=("project", "address")),)

    rules = {
        "recipient_address": ~Q(address=""),
        "recipient_mailbox": Q(mailbox=Mailbox("address")) | Q(mailbox=None) & ~Q(address__contains="@"),
    }

    def __str__(self) -> str:
        return _("Recipient {number}").format(number=self.pk)


class Subscription(models.Model):
    """A recipient's account on a bot, bound by proof. ``account_id`` is the messenger's own id for the user."""

    recipient = models.ForeignKey(Recipient, on_delete=models.CASCADE, related_name="subscriptions")
    provider = models.ForeignKey("verification.Provider", on_delete=models.CASCADE, related_name="subscriptions")
    account_id = models.CharField(max_length=64)
    is_active = models.BooleanField(default=True)
    bound_at = models.DateTimeField(db_default=Now())

    class Meta:
        verbose_name = _("subscription")
        verbose_name_plural = _("subscriptions")
        constraints = (models.UniqueConstraint(name="subscription_once", fields=("provider", "recipient")),)
        # Not unique: a bot of all projects knows an account as a recipient of each.
        indexes = (models.Index(name="subscription_of_account", fields=("provider", "account_id")),)

    def __str__(self) -> str:
        return f"subscription {self.pk}"


class NoAccount(models.Model):
    """A provider said that the recipient is not on its messenger, or has opted out there. It holds for 24 hours.

    What arrives over the provider, and a code that can have come over it alone, takes the note back.
    """

    recipient = models.ForeignKey(Recipient, on_delete=models.CASCADE)
    provider = models.ForeignKey("verification.Provider", on_delete=models.CASCADE)
    noted_at = models.DateTimeField(db_default=Now())

    class Meta:
        constraints = (models.UniqueConstraint(name="no_account_once", fields=("recipient", "provider")),)

    def __str__(self) -> str:
        return f"no account of {self.recipient_id}"


class Suppression(models.Model):
    """A recipient to whom nothing more goes over a channel: a hard bounce, a complaint, STOP. Can be lifted."""

    project = models.ForeignKey(
        "verification.Project", verbose_name=_("project"), on_delete=models.CASCADE, related_name="suppressions"
    )
    recipient = models.ForeignKey(
        Recipient, verbose_name=_("recipient"), on_delete=models.CASCADE, related_name="suppressions"
    )
    channel = models.CharField(_("channel"), max_length=20, choices=ChannelType.choices)
    reason = models.CharField(_("reason"), max_length=200)
    created_at = models.DateTimeField(_("created at"), db_default=Now())
    lifted_at = models.DateTimeField(_("lifted at"), null=True, blank=True)

    class Meta:
        ordering = ("-created_at",)
        verbose_name = _("suppression")
        verbose_name_plural = _("suppressions")
        constraints = (
            models.UniqueConstraint(
                name="suppression_once", fields=("recipient", "channel"), condition=Q(lifted_at__isnull=True)
            ),
        )

    def __str__(self) -> str:
        return _("Suppression {number}").format(number=self.pk)


class TestLogin(models.Model):
    """A recipient with a fixed code, to whom nothing is ever sent: for app reviewers and automated tests."""

    __test__ = False  # not a test class, whatever its name says

    project = models.ForeignKey(
        Project, verbose_name=_("project"), on_delete=models.CASCADE, related_name="test_logins"
    )
    to = models.CharField(_("recipient"), max_length=254, help_text=_("The phone number (E.164) or e-mail address."))
    code_encrypted = models.BinaryField(_("code encrypted"), editable=False)
    revision = models.UUIDField(
        db_default=RandomUUID(),
        editable=False,
        help_text=_("Changes with every edit, which ends the sessions of the old code."),
    )
    expires_at = ExpiryField(_("expires at"), null=True, blank=True)
    created_at = models.DateTimeField(_("created at"), db_default=Now(), editable=False)

    objects = Expiring["TestLogin"].as_manager()

    class Meta:
        ordering = ("to",)
        verbose_name = _("test login")
        verbose_name_plural = _("test logins")
        constraints = (models.UniqueConstraint(name="test_login_once", fields=("project", "to")),)

    def __str__(self) -> str:
        """Masked, as the panel keeps it with what was done, and shows it in its messages."""
        return mask(self.to)


class BotChat(models.Model):
    """A chat that a bot is in: the session whose link brought the user there, until they have proved their number."""

    provider = models.ForeignKey("verification.Provider", on_delete=models.CASCADE)
    account_id = models.CharField(max_length=64)
    session = models.ForeignKey("verification.Session", null=True, on_delete=models.CASCADE)
    language = models.CharField(max_length=LANGUAGE_MAX_LENGTH, blank=True)
    started_at = models.DateTimeField(db_default=Now())

    class Meta:
        constraints = (models.UniqueConstraint(name="bot_chat_once", fields=("provider", "account_id")),)

    def __str__(self) -> str:
        return f"chat {self.pk}"


class BotUpdate(models.Model):
    """An act of a user in a bot, as its messenger reported it. The row is the queue: a worker acts on it.

    Messengers repeat their reports for a day; by the messenger's own ``key`` for it each counts once. ``due_at`` is
    when a worker may take it, or the end of the lease of the worker that has it. It is null once it was acted on, and
    then the user's account and ``event``, which may hold their phone number, are wiped.
    """

    provider = models.ForeignKey("verification.Provider", on_delete=models.CASCADE, db_index=False)
    key = models.CharField(max_length=200)
    account_id = models.CharField(max_length=64, blank=True)
    event = models.JSONField(null=True)
    tries = models.PositiveSmallIntegerField(default=0, db_default=0)
    due_at = models.DateTimeField(null=True, db_default=Now())
    received_at = models.DateTimeField(db_default=Now())

    class Meta:
        constraints = (
            models.UniqueConstraint(name="bot_update_once", fields=("provider", "key")),
            models.CheckConstraint(
                name="bot_update_wiped_when_done",
                condition=Q(due_at__isnull=False, event__isnull=False)
                | Q(due_at=None, event__isnull=True, account_id=""),
            ),
        )
        indexes = (
            models.Index(name="bot_update_due", fields=("provider", "id"), condition=Q(due_at__isnull=False)),
            models.Index(
                name="bot_update_of_chat",
                fields=("provider", "account_id", "id"),
                condition=Q(due_at__isnull=False),
            ),
            models.Index(name="bot_update_age", fields=("received_at",)),
        )

    def __str__(self) -> str:
        return f"update {self.pk}"
