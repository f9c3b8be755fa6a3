"""The audit log: who changed what, and which tables are watched for it.

The database writes the log itself, by a trigger on each watched table, in the transaction of the change: a bulk update,
a cascade or a line typed into psql is on record like a form that was saved.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from django.core.exceptions import ValidationError
from django.db import models
from django.db.models.functions import Now
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _


@dataclass(frozen=True, slots=True)
class Watch:
    """The way in which one table is watched. Binary columns are always secret.

    ``label`` and ``project`` are lookups from the row to what it is known by and to its project, over one foreign key
    at most; ``secret`` columns are noted as changed, without a value; ``quiet`` ones are not noted; ``masked`` ones
    are a recipient's address, which the panel shows masked. With ``only``, nothing but a change of these columns is
    noted: for rows that the service writes all day and people change now and then.
    """

    label: str
    project: str = "project"
    secret: tuple[str, ...] = ()
    quiet: tuple[str, ...] = ()
    masked: tuple[str, ...] = ()
    only: tuple[str, ...] = ()


# One line for each table of configuration. The triggers follow at the next migrate.
WATCHED = {
    "auth.User": Watch("username", project="", secret=("password",), quiet=("last_login", "date_joined")),
    "verification.AlertService": Watch("name", secret=("secret",), quiet=("told_at", "tried_at", "error")),
    "verification.ApiKey": Watch("prefix", quiet=("last_used_at",)),
    "verification.Channel": Watch("type", quiet=("effective_budget",)),
    "verification.ExchangeRate": Watch("currency", project=""),
    "verification.FallbackStep": Watch("channel"),
    "verification.GuardBlock": Watch("subject", only=("lifted_at",)),
    "verification.HostedPage": Watch("project__name", secret=("key_text",)),
    "verification.IdentityConnection": Watch("name", quiet=("last_used_at",)),
    "verification.Invitation": Watch("email", quiet=("digest", "due_at", "tries")),
    "verification.KillSwitch": Watch("subject", project=""),
    "verification.ListEntry": Watch("value", masked=("value",)),
    "verification.Membership": Watch("user__username"),
    "verification.MessageTemplate": Watch("language"),
    "verification.Platform": Watch("id", project=""),
    "verification.Project": Watch("name", project="id", quiet=("reported_at",)),
    "verification.Provider": Watch("name", quiet=("checked_at",)),
    "verification.RoutingRule": Watch("provider__name", quiet=("replaced",)),
    "verification.SenderRule": Watch("prefix", project="provider__project"),
    "verification.Suppression": Watch("channel", only=("lifted_at",)),
    "verification.TestLogin": Watch("to", quiet=("revision",), masked=("to",)),
    "verification.TextVariant": Watch("language"),
    "verification.WebhookSecret": Watch("id"),
}


class AuditEntry(models.Model):
    """One line of the log. The database refuses to change or delete it; see ``sql/records/audit_log.sql``."""

    at = models.DateTimeField(db_default=Now())
    who = models.CharField(_("who"), max_length=150, help_text=_("A panel user, command or process."))
    address = models.GenericIPAddressField(null=True, help_text=_("The client's IP address."))
    action = models.CharField(max_length=200)
    project = models.ForeignKey(
        "verification.Project",
        verbose_name=_("project"),
        null=True,
        on_delete=models.DO_NOTHING,
        db_constraint=False,
        related_name="+",
    )  # without a constraint: the line outlives its project
    object_type = models.CharField(max_length=50, blank=True, help_text=_("Such as verification.provider."))
    object_id = models.CharField(max_length=40, blank=True)
    object_label = models.CharField(max_length=255, blank=True)
    changes = models.JSONField(default=dict, help_text=_("By column: the value before and after."))

    class Meta:
        ordering = ("-id",)
        verbose_name = _("audit entry")
        verbose_name_plural = _("audit entries")

    def __str__(self) -> str:
        return gettext("Entry {self}").format(self=self.pk)


Field: TypeAlias = "models.Field[Any, Any]"  # Django's class takes no type arguments at run time


def fields_of(model: type[models.Model], *others: str) -> dict[str, Field]:
    """Return the fields of a row that people set, without ``others``."""
    fields = (field for field in model._meta.concrete_fields if field.editable and not field.primary_key)
    return {field.name: field for field in fields if field.name not in others}


def change_row(row: models.Model, fields: Mapping[str, Field], values: Mapping[str, Any]) -> list[str]:
    """Set values by the names of their fields, and judge them. Return the names of those that differed.

    The row is not saved. Raises ``ValidationError`` by field.
    """
    changed, refused = [], {}
    for name, value in values.items():
        try:
            if set_value(row, fields[name], value):
                changed.append(name)
        except ValidationError as error:
            refused[name] = error
    if refused:
        raise ValidationError(refused)
    return changed


def set_value(row: models.Model, field: Field, value: Any) -> bool:
    """Set one value in the writing that its field gives it. Return whether it differs from the present one."""
    cleaned = field.clean(value, row)
    is_changed: bool = cleaned != getattr(row, field.name)
    setattr(row, field.name, cleaned)
    return is_changed


def save_changes(row: models.Model, changed: list[str]) -> None:
    """Save a new row, or what has changed of an old one."""
    if row.pk is None:
        row.save()
    elif changed:
        row.save(update_fields=changed)
