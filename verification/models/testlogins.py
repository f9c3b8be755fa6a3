"""Test logins."""

from django.contrib.postgres.functions import RandomUUID
from django.db import models
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _

from verification.core.addresses import mask
from verification.models.projects import Project
from verification.models.querysets import Expiring


class TestLogin(models.Model):
    """A recipient with a fixed code, to whom nothing is ever sent: for app reviewers and automated tests."""

    __test__ = False  # not a test class, whatever its name says

    project = models.ForeignKey(
        Project, verbose_name=_("project"), on_delete=models.CASCADE, related_name="test_logins"
    )
    to = models.CharField(_("to"), max_length=254, help_text=_("The phone number (E.164) or e-mail address."))
    code_encrypted = models.BinaryField(_("code encrypted"), editable=False)
    revision = models.UUIDField(
        db_default=RandomUUID(),
        editable=False,
        help_text=_("New with every change, which ends the sessions of the old one."),
    )
    expires_at = models.DateTimeField(_("expires at"), null=True, blank=True)
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
