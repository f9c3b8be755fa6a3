"""Who codes go to. The recipient's row is the lock under which everything about them is counted."""

from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from verification.models.channels import ChannelType
from verification.models.projects import LANGUAGE_MAX_LENGTH


class Recipient(models.Model):
    """A phone number or e-mail address as one project knows it."""

    project = models.ForeignKey("verification.Project", on_delete=models.CASCADE, related_name="recipients")
    address = models.CharField(max_length=254, help_text="Canonical: E.164, or the lower-cased e-mail address.")
    language = models.CharField(max_length=LANGUAGE_MAX_LENGTH, blank=True)
    verified_channel = models.CharField(max_length=20, choices=ChannelType.choices, blank=True)
    verified_at = models.DateTimeField(null=True, help_text="The last success; wrong codes before it do not count.")
    reached_channel = models.CharField(max_length=20, choices=ChannelType.choices, blank=True)
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        constraints = (
            models.UniqueConstraint(name="recipient_once", fields=("project", "address")),
            models.CheckConstraint(name="recipient_address", condition=~Q(address="")),
        )

    def __str__(self) -> str:
        return f"recipient {self.pk}"


class Subscription(models.Model):
    """A recipient's account on a bot, bound by proof. ``account_id`` is the messenger's own id for the user."""

    recipient = models.ForeignKey(Recipient, on_delete=models.CASCADE, related_name="subscriptions")
    provider = models.ForeignKey("verification.Provider", on_delete=models.CASCADE, related_name="subscriptions")
    account_id = models.CharField(max_length=64)
    is_active = models.BooleanField(default=True)
    bound_at = models.DateTimeField(db_default=Now())

    class Meta:
        constraints = (
            models.UniqueConstraint(name="subscription_once", fields=("provider", "recipient")),
            models.UniqueConstraint(
                name="subscription_one_recipient_per_account",
                fields=("provider", "account_id"),
                condition=Q(is_active=True),
            ),
        )

    def __str__(self) -> str:
        return f"subscription {self.pk}"
