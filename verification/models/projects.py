"""A customer: its project with all its settings, and its members."""

import re
import uuid
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.core.exceptions import ValidationError
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now
from django.utils import timezone
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from verification.core.session_rules import SHORT_CODE, WRONG_CODES_THAT_LOCK
from verification.models.accounts import Role
from verification.models.project_settings import CODE_LENGTHS, MAX_RETENTION_DAYS, ProjectSettings
from verification.models.project_settings.protection import ChallengeMode, ChallengeProvider

# Controls, ends of lines, and marks that turn the direction of what follows.
_INVISIBLE = re.compile("[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")


class Project(ProjectSettings):
    """One tenant. Its settings are what the panel and ``setproject`` set."""

    public_id = models.UUIDField(_("public"), default=uuid.uuid4, unique=True, editable=False)
    created_at = models.DateTimeField(_("created at"), db_default=Now(), editable=False)
    deleted_at = models.DateTimeField(
        _("deleted at"),
        null=True,
        editable=False,
        help_text=_("Deleted at this time; a worker then removes its data."),
    )
    reported_at = models.DateTimeField(
        null=True, editable=False, help_text="When its server last reported a verified user, to the hour."
    )
    members = models.ManyToManyField(settings.AUTH_USER_MODEL, through="Membership", related_name="projects")

    class Meta:
        ordering = ("name",)
        verbose_name = _("project")
        verbose_name_plural = _("projects")
        constraints = (
            models.CheckConstraint(
                name="project_deleted_is_disabled", condition=Q(deleted_at=None) | Q(is_enabled=False)
            ),
            models.CheckConstraint(
                name="project_retention_days", condition=Q(retention_days__range=(1, MAX_RETENTION_DAYS))
            ),
            models.CheckConstraint(name="project_code_length", condition=Q(code_length__in=tuple(dict(CODE_LENGTHS)))),
            models.CheckConstraint(name="project_code_alphabet", condition=Q(code_digits=True) | Q(code_letters=True)),
            models.CheckConstraint(name="project_challenge_mode", condition=Q(challenge_mode__in=ChallengeMode.values)),
            models.CheckConstraint(
                name="project_challenge_has_keys",
                condition=Q(challenge_mode=ChallengeMode.OFF)
                | Q(challenge_provider=ChallengeProvider.ALTCHA)
                | (~Q(challenge_site_key="") & Q(challenge_secret__isnull=False)),
            ),
        )

    def clean(self) -> None:
        """Judge the name. It goes into subjects and texts, so it is one visible line; commands take it or the id."""
        if _INVISIBLE.search(self.name):
            raise ValidationError({"name": gettext("The name must not contain control characters.")})
        if self.name.isdigit():
            raise ValidationError(
                {"name": gettext("A name must not consist only of digits; it would look like a project ID.")}
            )

    def __str__(self) -> str:
        return self.name

    @property
    def has_short_codes(self) -> bool:
        return self.code_length == SHORT_CODE

    @property
    def countries_observed_until(self) -> datetime | None:
        """The end of the project's first days, in which no country is refused for its conversion; None once over."""
        end = self.created_at + timedelta(days=self.guard_country_observe_days)
        return end if end > timezone.now() else None

    @property
    def wrong_codes_that_lock(self) -> int:
        return WRONG_CODES_THAT_LOCK[self.code_length]


class Membership(models.Model):
    """A user of the panel in a project, with the role that decides what they see and do there."""

    project = models.ForeignKey(
        Project, verbose_name=_("project"), on_delete=models.CASCADE, related_name="memberships"
    )
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, verbose_name=_("user"), on_delete=models.CASCADE, related_name="memberships"
    )
    role = models.CharField(
        _("role"),
        max_length=10,
        choices=Role.choices,
        default=Role.OWNER,
        help_text=_("Determines what they can see and do in the project."),
    )
    sees_addresses = models.BooleanField(
        _("sees full addresses"),
        default=False,
        help_text=_("Can view full recipient addresses, one at a time, recorded in the audit log."),
    )

    class Meta:
        verbose_name = _("membership")
        verbose_name_plural = _("memberships")
        constraints = (
            models.UniqueConstraint(name="membership_once", fields=("project", "user")),
            models.CheckConstraint(name="membership_role", condition=Q(role__in=Role.values)),
        )

    def __str__(self) -> str:
        return gettext("{user} in {project}").format(user=self.user, project=self.project)


def sees_addresses(user: Any, project_id: int | None = None) -> bool:
    """Return whether the user may see whole recipients' addresses in this project; without one, in any of theirs."""
    memberships = Membership.objects.filter(user=user, sees_addresses=True)
    if project_id is not None:
        memberships = memberships.filter(project=project_id)
    return bool(user.is_superuser or memberships.exists())
