"""Recipients and callers always refused, or never limited: lists of a project, and of the platform for all of them."""

from django.db import models
from django.db.models import Q
from django.db.models.functions import Now
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from verification.models.querysets import Expiring


class ListKind(models.TextChoices):
    BLOCK = "block", _("Block")
    SAFE = "safe", _("Safe")


class ListSubject(models.TextChoices):
    """The part of a request that an entry's value is matched with."""

    RECIPIENT = "recipient", _("Recipient")
    PREFIX = "prefix", _("Beginning of a number")
    DOMAIN = "domain", _("E-mail domain")
    COUNTRY = "country", _("Country")
    CLIENT = "client", _("Client address or network")


class ListEntry(models.Model):
    """One line of a block list or safe list. Without a project it holds for all of them."""

    project = models.ForeignKey(
        "verification.Project",
        verbose_name=_("project"),
        null=True,
        blank=True,
        on_delete=models.CASCADE,
        related_name="list_entries",
    )
    kind = models.CharField(_("list"), max_length=5, choices=ListKind.choices, default=ListKind.BLOCK)
    subject = models.CharField(_("subject"), max_length=9, choices=ListSubject.choices)
    value = models.CharField(_("value"), max_length=254)
    note = models.CharField(_("note"), max_length=200, blank=True)
    expires_at = models.DateTimeField(_("expires at"), null=True, blank=True)
    created_at = models.DateTimeField(_("created at"), db_default=Now())

    objects = Expiring["ListEntry"].as_manager()

    class Meta:
        ordering = ("-created_at", "-id")
        verbose_name = _("list entry")
        verbose_name_plural = _("list entries")
        constraints = (
            models.UniqueConstraint(
                name="list_entry_once", fields=("project", "kind", "subject", "value"), nulls_distinct=False
            ),
            models.CheckConstraint(name="list_entry_kind", condition=Q(kind__in=ListKind.values)),
            models.CheckConstraint(name="list_entry_subject", condition=Q(subject__in=ListSubject.values)),
        )

    def __str__(self) -> str:
        return gettext("{kind} list, {subject}").format(
            kind=self.get_kind_display(), subject=self.get_subject_display().lower()
        )
