"""The acts of users in the bots of messengers."""

from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from verification.models.fields import LANGUAGE_MAX_LENGTH


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
