"""The panel's accounts beside Django's own rows: a second factor, codes for when it is lost, forms that act once."""

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now


class SecondFactor(models.Model):
    """An authenticator app of a user. Until it is confirmed by a first code it asks nothing of them."""

    user = models.OneToOneField(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="second_factor")
    secret = models.BinaryField(editable=False, help_text="Encrypted.")
    confirmed_at = models.DateTimeField(null=True)
    last_step = models.BigIntegerField(default=0, help_text="The step of time of the last code; none is good twice.")
    failures = models.PositiveIntegerField(default=0, help_text="Wrong codes in a row.")
    failed_at = models.DateTimeField(null=True)

    def __str__(self) -> str:
        return f"second factor {self.pk}"


class RecoveryCode(models.Model):
    """Logs in once in place of the app. Only a digest of it is kept."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="recovery_codes")
    digest = models.BinaryField(max_length=32, editable=False)
    used_at = models.DateTimeField(null=True)

    class Meta:
        indexes = (models.Index(name="recovery_code_unused", fields=("digest",), condition=Q(used_at=None)),)

    def __str__(self) -> str:
        return f"recovery code {self.pk}"


class SpentForm(models.Model):
    """A form that has acted and must not act again: the SHA-256 of the text that it was handed out with."""

    digest = models.BinaryField(primary_key=True, max_length=32)
    spent_at = models.DateTimeField(db_default=Now())

    def __str__(self) -> str:
        return f"form of {self.spent_at}"
