"""The people of the panel: roles and rights in projects, invitations, logins, second factors, views of lists."""

from __future__ import annotations

import uuid
from enum import Enum

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q
from django.db.models.functions import Lower, Now
from django.utils.translation import gettext_lazy as _

PAGE_MAX_LENGTH = 60  # characters of a model's label
COLUMN_MAX_LENGTH = 60
VIEW_NAME_MAX_LENGTH = 60  # characters, of which a tab shows some twenty
VIEW_QUERY_MAX_LENGTH = 2_000  # characters of an address's query


class Role(models.TextChoices):
    """The role of a user in one project. A user may have another one in each project."""

    OWNER = "owner", _("Owner")
    DEVELOPER = "developer", _("Developer")
    ANALYST = "analyst", _("Analyst")
    SUPPORT = "support", _("Support")


class Right(Enum):
    """A right in a project, which a page asks for. The value is its line in the table of docs/people.md."""

    SEE = _("View the overview, figures, costs, scorecards, and the configuration without secrets")
    SEE_TRAFFIC = _("View sessions, messages, callbacks, refusals and alerts, with recipients masked")
    HELP_USERS = _("Lift suppressions and traffic-guard blocks; erase recipients' data")
    CHANGE = _("Change settings, channels, providers, prices, texts and lists; send tests, resend callbacks")
    USE_KEYS = _("Create, rotate and revoke keys; the webhook secret, test logins and the inbox")
    READ_AUDIT = _("View the audit log, including who viewed which recipient")
    MANAGE_PEOPLE = _("Invite people, change roles, remove people")


RIGHTS: dict[Role, frozenset[Right]] = {
    Role.OWNER: frozenset(Right),
    Role.DEVELOPER: frozenset({Right.SEE, Right.SEE_TRAFFIC, Right.CHANGE, Right.USE_KEYS, Right.READ_AUDIT}),
    Role.ANALYST: frozenset({Right.SEE}),
    Role.SUPPORT: frozenset({Right.SEE, Right.SEE_TRAFFIC, Right.HELP_USERS}),
}


def roles_with(right: Right) -> list[str]:
    """Return the roles that have a right."""
    return [role.value for role, rights in RIGHTS.items() if right in rights]


class SecondFactor(models.Model):
    """An authenticator app of a user. Until it is confirmed by a first code it asks nothing of them."""

    user = models.OneToOneField(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="second_factor")
    secret = models.BinaryField(editable=False, help_text="Encrypted.")
    confirmed_at = models.DateTimeField(null=True)
    last_step = models.BigIntegerField(default=0, help_text="The step of time of the last code; none is good twice.")

    def __str__(self) -> str:
        return f"second factor {self.pk}"


class SecurityKey(models.Model):
    """A security key or passkey of a user (WebAuthn). It signs for the host that it was added on, and for no other."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="security_keys")
    name = models.CharField(max_length=60)
    host = models.CharField(max_length=253, help_text="The relying party's id: the panel's host, without a port.")
    credential = models.BinaryField(max_length=1023, unique=True, editable=False, help_text="The key's id for itself.")
    public_key = models.BinaryField(editable=False)
    signatures = models.BigIntegerField(default=0, help_text="The key's own count; it never goes back.")
    added_at = models.DateTimeField(db_default=Now())
    used_at = models.DateTimeField(null=True)

    class Meta:
        constraints = (models.UniqueConstraint("user", Lower("name"), name="security_key_name"),)

    def __str__(self) -> str:
        return self.name


class FactorTries(models.Model):
    """The failed tries of a user at their second factor, whichever it is. Each makes the next one wait longer."""

    user = models.OneToOneField(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    failures = models.PositiveIntegerField(default=0, help_text="Failed tries in a row.")
    failed_at = models.DateTimeField(null=True)

    def __str__(self) -> str:
        return f"{self.failures} failed tries"


class RecoveryCode(models.Model):
    """Logs in once in place of the app or the key. Only a digest of it is kept."""

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


class BrowserLogin(models.Model):
    """A browser that is logged in: what its user is shown of it. It goes with the session that it describes."""

    session = models.OneToOneField("sessions.Session", on_delete=models.CASCADE, primary_key=True, related_name="+")
    number = models.UUIDField(default=uuid.uuid4, unique=True, editable=False, help_text="Names it in forms.")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    browser = models.CharField(max_length=60)
    network = models.CharField(max_length=60, help_text="The client's network, without the part that names the device.")
    started_at = models.DateTimeField(db_default=Now())

    def __str__(self) -> str:
        return f"{self.browser}, {self.network}"


class Invitation(models.Model):
    """An invitation of an address to a project. The link that it is mailed is kept as a digest alone."""

    project = models.ForeignKey(
        "verification.Project", verbose_name=_("project"), on_delete=models.CASCADE, related_name="invitations"
    )
    email = models.EmailField(_("email"))
    role = models.CharField(_("role"), max_length=10, choices=Role.choices)
    sees_addresses = models.BooleanField(_("sees full addresses"), default=False)
    invited_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, verbose_name=_("invited by"), on_delete=models.CASCADE, related_name="+"
    )
    created_at = models.DateTimeField(_("created at"), db_default=Now())
    expires_at = models.DateTimeField(_("expires at"))
    ended_at = models.DateTimeField(_("ended at"), null=True, help_text="Since when it is accepted, or withdrawn.")
    digest = models.BinaryField(max_length=32, null=True, unique=True, editable=False)
    due_at = models.DateTimeField(null=True, help_text="When it is mailed, or tried again; empty once it is mailed.")
    tries = models.PositiveSmallIntegerField(default=0)
    language = models.CharField(
        _("language"),
        max_length=10,
        default="en",
        db_default="en",
        help_text="Of the mail: the one in which the inviter reads the panel.",
    )

    class Meta:
        verbose_name = _("invitation")
        verbose_name_plural = _("invitations")
        indexes = (models.Index(name="invitation_due", fields=("due_at",), condition=Q(due_at__isnull=False)),)
        constraints = (
            models.UniqueConstraint(
                "project", Lower("email"), name="invitation_open_once", condition=Q(ended_at__isnull=True)
            ),
            models.CheckConstraint(name="invitation_role", condition=Q(role__in=Role.values)),
        )

    def __str__(self) -> str:
        return f"invitation of {self.email}"


class SavedView(models.Model):
    """A view of a list that a user saved: the filters and columns that stood in its address, under a name."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    page = models.CharField(max_length=PAGE_MAX_LENGTH, help_text="The label of the list's model.")
    name = models.CharField(_("name"), max_length=VIEW_NAME_MAX_LENGTH)
    query = models.CharField(max_length=VIEW_QUERY_MAX_LENGTH, blank=True)
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        ordering = ("created_at", "id")
        constraints = (models.UniqueConstraint("user", "page", Lower("name"), name="saved_view_name"),)

    def __str__(self) -> str:
        return self.name


class ColumnChoice(models.Model):
    """The columns that a user chose for a list, in the list's own order."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    page = models.CharField(max_length=PAGE_MAX_LENGTH, help_text="The label of the list's model.")
    columns = ArrayField(models.CharField(max_length=COLUMN_MAX_LENGTH))

    class Meta:
        constraints = (models.UniqueConstraint(fields=("user", "page"), name="column_choice_once"),)

    def __str__(self) -> str:
        return f"columns of {self.page}"
