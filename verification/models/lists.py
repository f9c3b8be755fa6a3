"""Recipients and callers always refused, or never limited: lists of a project, and of the platform for all of them."""

from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from verification.models.querysets import Expiring


class ListKind(models.TextChoices):
    BLOCK = "block", "Block"
    SAFE = "safe", "Safe"


class ListSubject(models.TextChoices):
    """The part of a request that an entry's value is matched with."""

    RECIPIENT = "recipient", "Recipient"
    PREFIX = "prefix", "Beginning of a number"
    DOMAIN = "domain", "E-mail domain"
    COUNTRY = "country", "Country"
    CLIENT = "client", "Client address or network"


class ListEntry(models.Model):
    """One line of a block list or safe list. Without a project it holds for all of them."""

    project = models.ForeignKey(
        "verification.Project", null=True, blank=True, on_delete=models.CASCADE, related_name="list_entries"
    )
    kind = models.CharField("list", max_length=5, choices=ListKind.choices, default=ListKind.BLOCK)
    subject = models.CharField(max_length=9, choices=ListSubject.choices)
    value = models.CharField(max_length=254)
    note = models.CharField(max_length=200, blank=True)
    expires_at = models.DateTimeField(null=True, blank=True)
    created_at = models.DateTimeField(db_default=Now())

    objects = Expiring["ListEntry"].as_manager()

    class Meta:
        ordering = ("-created_at", "-id")
        verbose_name = "list entry"
        verbose_name_plural = "list entries"
        constraints = (
            models.UniqueConstraint(
                name="list_entry_once", fields=("project", "kind", "subject", "value"), nulls_distinct=False
            ),
            models.CheckConstraint(name="list_entry_kind", condition=Q(kind__in=ListKind.values)),
            models.CheckConstraint(name="list_entry_subject", condition=Q(subject__in=ListSubject.values)),
        )

    def __str__(self) -> str:
        return f"{self.get_kind_display()} list, {self.get_subject_display().lower()}"
