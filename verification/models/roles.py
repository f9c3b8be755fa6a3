"""The roles of a project's members, and the rights that each role has."""

from __future__ import annotations

from enum import Enum

from django.db import models
from django.utils.translation import gettext_lazy as _


class Role(models.TextChoices):
    """The role of a user in one project. A user may have another one in each project."""

    OWNER = "owner", _("Owner")
    DEVELOPER = "developer", _("Developer")
    ANALYST = "analyst", _("Analyst")
    SUPPORT = "support", _("Support")


class Right(Enum):
    """A right in a project, which a page asks for. The value is its line in the table of docs/people.md."""

    SEE = _("See the overview, figures, costs and scorecards, and the set-up without its secrets")
    SEE_TRAFFIC = _("See sessions, messages, callbacks, refusals and alerts, with recipients masked")
    HELP_USERS = _("Lift a suppression or a finding of the traffic guard; forget a recipient")
    CHANGE = _("Change settings, channels, providers, prices, texts and lists; send a test, or a callback again")
    USE_KEYS = _("Issue, exchange and revoke keys; the webhook secret, test logins and the inbox")
    READ_AUDIT = _("Read the audit log, and who saw which recipient")
    MANAGE_PEOPLE = _("Invite, give another role, and remove people")


RIGHTS: dict[Role, frozenset[Right]] = {
    Role.OWNER: frozenset(Right),
    Role.DEVELOPER: frozenset({Right.SEE, Right.SEE_TRAFFIC, Right.CHANGE, Right.USE_KEYS, Right.READ_AUDIT}),
    Role.ANALYST: frozenset({Right.SEE}),
    Role.SUPPORT: frozenset({Right.SEE, Right.SEE_TRAFFIC, Right.HELP_USERS}),
}


def roles_with(right: Right) -> list[str]:
    """Return the roles that have a right."""
    return [role.value for role, rights in RIGHTS.items() if right in rights]
