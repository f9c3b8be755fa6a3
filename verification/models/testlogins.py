"""Test logins."""

from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from verification.models.projects import Project


class TestLogin(models.Model):
    """A recipient with a fixed code, to whom nothing is ever sent: for app reviewers and automated tests."""

    __test__ = False  # not a test class, whatever its name says

    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="test_logins")
    to = models.CharField(max_length=254, help_text="The phone number (E.164) or e-mail address.")
    code = models.CharField(max_length=6, help_text="4 or 6 characters.")
    expires_at = models.DateTimeField(null=True, blank=True)
    created_at = models.DateTimeField(db_default=Now(), editable=False)

    class Meta:
        ordering = ("to",)
        constraints = (
            models.UniqueConstraint(name="test_login_once", fields=("project", "to")),
            models.CheckConstraint(name="test_login_code", condition=Q(code__regex=r"^([0-9A-Z]{4}|[0-9A-Z]{6})$")),
        )

    def __str__(self) -> str:
        return self.to
