"""How messages leave: a project's channels, and the providers that serve them."""

import uuid

from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from verification.codes import generate_hook_secret

DEFAULT_PRIORITY = 100


class ChannelType(models.TextChoices):
    """The values of the API. Owners choose the names that people see."""

    SMS = "sms", "SMS"
    EMAIL = "email", "E-mail"
    MESSENGER_A = "messenger_a", "Telegram"
    MESSENGER_B = "messenger_b", "WhatsApp"
    VOICE = "voice", "Voice call"

    @classmethod
    def email_choices(cls) -> list[tuple[str, str]]:
        return [(cls.EMAIL.value, str(cls.EMAIL.label))]

    @classmethod
    def phone_choices(cls) -> list[tuple[str, str]]:
        return [choice for choice in cls.choices if choice[0] != cls.EMAIL]


class Channel(models.Model):
    """A delivery route that a project offers. A user sees its name, icon and link."""

    project = models.ForeignKey("verification.Project", on_delete=models.CASCADE, related_name="channels")
    type = models.CharField(max_length=20, choices=ChannelType.choices)
    name = models.CharField(max_length=50, blank=True, help_text="What users see. Empty means the usual name.")
    is_active = models.BooleanField(default=True)
    position = models.PositiveSmallIntegerField(default=0, help_text="The project's order; the lowest comes first.")
    image_url = models.URLField(blank=True, help_text="The icon. Empty means ours.")
    link = models.URLField(blank=True, help_text="Where users are sent for this channel. Empty means the site.")
    daily_budget = models.PositiveIntegerField(
        null=True,
        blank=True,
        help_text="Messages a day (UTC) at the most; a hard stop. Empty means no budget.",
    )

    class Meta:
        ordering = ("position", "id")
        constraints = (
            models.UniqueConstraint(name="channel_once", fields=("project", "type")),
            models.CheckConstraint(name="channel_type", condition=Q(type__in=ChannelType.values)),
        )

    def __str__(self) -> str:
        return self.display_name

    @property
    def display_name(self) -> str:
        return self.name or str(ChannelType(self.type).label)


class Provider(models.Model):
    """An account at an outside service. Without a project it is a system provider, which serves every project.

    ``settings`` are the plain values; ``secrets`` is one encrypted JSON object of the secret ones.
    """

    uuid = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    project = models.ForeignKey(
        "verification.Project", null=True, blank=True, on_delete=models.CASCADE, related_name="providers"
    )
    channel = models.CharField(max_length=20, choices=ChannelType.choices)
    type = models.CharField(max_length=40)
    name = models.CharField(max_length=80)
    is_enabled = models.BooleanField(default=True)
    priority = models.PositiveIntegerField(default=DEFAULT_PRIORITY, help_text="The lowest number is tried first.")
    settings = models.JSONField(default=dict, blank=True)
    secrets = models.BinaryField(null=True, editable=False)
    hook_secret = models.CharField(max_length=64, default=generate_hook_secret, editable=False)
    created_at = models.DateTimeField(db_default=Now(), editable=False)

    class Meta:
        ordering = ("priority", "id")
        constraints = (models.CheckConstraint(name="provider_channel", condition=Q(channel__in=ChannelType.values)),)
        indexes = (models.Index(name="provider_of_channel", fields=("channel", "project")),)

    def __str__(self) -> str:
        return self.name

    @property
    def is_system(self) -> bool:
        return self.project_id is None
