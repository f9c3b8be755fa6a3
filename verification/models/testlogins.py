"""Test logins."""

from django.contrib.postgres.functions import RandomUUID
from django.db import models
from django.db.models.functions import Now

from verification.addresses import mask
from verification.lazy_words import gettext_lazy as _
from verification.models.projects import Project
from verification.models.querysets import Expiring


class TestLogin(models.Model):
    """A recipient with a fixed code, to whom nothing is ever sent: for app reviewers and automated tests."""

    __test__ = False  # not a test class, whatever its name says

    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="test_logins")
    to = models.CharField(max_length=254, help_text=_("The phone number (E.164) or e-mail address."))
    code_encrypted = models.BinaryField(editable=False)
    revision = models.UUIDField(
        db_default=RandomUUID(),
        editable=False,
        help_text=_("New with every change, which ends the sessions of the old one."),
    )
    expires_at = models.DateTimeField(null=True, blank=True)
    created_at = models.DateTimeField(db_default=Now(), editable=False)

    objects = Expiring["TestLogin"].as_manager()

    class Meta:
        ordering = ("to",)
        constraints = (models.UniqueConstraint(name="test_login_once", fields=("project", "to")),)

    def __str__(self) -> str:
        """Masked, as the panel keeps it with what was done, and shows it in its messages."""
        return mask(self.to)
