"""Keys that callers show, and secrets that callbacks are signed with."""

from __future__ import annotations

from datetime import datetime

from django.conf import settings
from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Now
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from verification.models.projects import Project
from verification.models.shared import Expiring


class KeyKind(models.TextChoices):
    API = "api", _("API key")
    SECRET = "secret", _("Secret key")


class KeyState(models.TextChoices):
    LIVE = "live", _("Active")
    EXPIRED = "expired", _("Expired")
    REVOKED = "revoked", _("Revoked")


class KeyQuerySet(models.QuerySet["ApiKey"]):
    """Each state of a key as :attr:`ApiKey.state` has it: one that was revoked has not expired."""

    def live(self) -> KeyQuerySet:
        return self.filter(Q(expires_at=None) | Q(expires_at__gt=Now()), revoked_at=None)

    def expired(self) -> KeyQuerySet:
        return self.filter(expires_at__lte=Now(), revoked_at=None)

    def revoked(self) -> KeyQuerySet:
        return self.filter(revoked_at__isnull=False)

    def ended_before(self, moment: datetime) -> KeyQuerySet:
        return self.filter(Q(expires_at__lt=moment) | Q(revoked_at__lt=moment))


class ApiKey(models.Model):
    """A key of a project. The text is shown once; only a digest and a prefix to know it by are kept."""

    project = models.ForeignKey(Project, verbose_name=_("project"), on_delete=models.CASCADE, related_name="keys")
    kind = models.CharField(_("kind"), max_length=6, choices=KeyKind.choices)
    prefix = models.CharField(_("prefix"), max_length=20, editable=False)
    digest = models.BinaryField(_("digest"), max_length=32, unique=True, editable=False)
    created_at = models.DateTimeField(_("created at"), db_default=Now(), editable=False)
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        verbose_name=_("created by"),
        null=True,
        blank=True,
        on_delete=models.SET_NULL,
        editable=False,
    )
    expires_at = models.DateTimeField(_("expires at"), null=True, blank=True)
    revoked_at = models.DateTimeField(_("revoked at"), null=True, blank=True, editable=False)
    last_used_at = models.DateTimeField(null=True, blank=True, editable=False, help_text="Accurate to one minute.")

    objects = KeyQuerySet.as_manager()

    class Meta:
        ordering = ("-created_at",)
        verbose_name = _("key")
        verbose_name_plural = _("keys")
        constraints = (
            models.CheckConstraint(name="key_kind", condition=Q(kind__in=KeyKind.values)),
            models.CheckConstraint(name="key_expires_later", condition=Q(expires_at__gt=F("created_at"))),
        )

    def __str__(self) -> str:
        return f"{self.prefix}…"

    @property
    def state(self) -> KeyState:
        if self.revoked_at:
            return KeyState.REVOKED
        return KeyState.EXPIRED if self.expires_at and self.expires_at <= timezone.now() else KeyState.LIVE


class WebhookSecret(models.Model):
    """A secret that callbacks are signed with. During a rotation two are live and both sign."""

    project = models.ForeignKey(
        Project, verbose_name=_("project"), on_delete=models.CASCADE, related_name="webhook_secrets"
    )
    secret = models.BinaryField(_("secret"), editable=False, help_text="Encrypted.")
    created_at = models.DateTimeField(_("created at"), db_default=Now(), editable=False)
    expires_at = models.DateTimeField(_("expires at"), null=True, blank=True)

    objects = Expiring["WebhookSecret"].as_manager()

    class Meta:
        ordering = ("-created_at",)
        verbose_name = _("webhook secret")
        verbose_name_plural = _("webhook secrets")

    def __str__(self) -> str:
        return f"webhook secret {self.pk}"
