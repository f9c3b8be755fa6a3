"""Recipients and callers always refused, or never limited: lists of a project, and of the platform for all of them."""

from django.db import models
from django.db.models import Q
from django.db.models.functions import Now
from django.utils.translation import gettext as _

from verification.lazy_words import gettext_lazy
from verification.models.querysets import Expiring


class ListKind(models.TextChoices):
    BLOCK = "block", gettext_lazy("Block")
    SAFE = "safe", gettext_lazy("Safe")


class ListSubject(models.TextChoices):
    """The part of a request that an entry's value is matched with."""

    RECIPIENT = "recipient", gettext_lazy("Recipient")
    PREFIX = "prefix", gettext_lazy("Beginning of a number")
    DOMAIN = "domain", gettext_lazy("E-mail domain")
    COUNTRY = "country", gettext_lazy("Country")
    CLIENT = "client", gettext_lazy("Client address or network")


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
        verbose_name = gettext_lazy("list entry")
        verbose_name_plural = gettext_lazy("list entries")
        constraints = (
            models.UniqueConstraint(
                name="list_entry_once", fields=("project", "kind", "subject", "value"), nulls_distinct=False
            ),
            models.CheckConstraint(name="list_entry_kind", condition=Q(kind__in=ListKind.values)),
            models.CheckConstraint(name="list_entry_subject", condition=Q(subject__in=ListSubject.values)),
        )

    def __str__(self) -> str:
        return _("{kind} list, {subject}").format(
            kind=self.get_kind_display(), subject=self.get_subject_display().lower()
        )
