"""The members of a project: their roles, leaving, and handing over. A project that has an owner keeps one.

Each change locks the project first, so that of two owners who leave at the same moment one stays.
"""

from __future__ import annotations

from django.contrib.auth.models import User
from django.db import transaction
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from verification.core.errors import UserError
from verification.models import Membership, Project, Right, Role, roles_with, sees_addresses
from verification.models.bounds import lock
from verification.services.records import audit

LAST_OWNER = gettext_lazy("A project needs an owner. Make someone else an owner first.")
NOT_YOURS = gettext_lazy("Your role does not allow you to manage this project's people.")


@transaction.atomic
def change_role(member: Membership, *, role: str, sees_addresses: bool, by: User) -> None:
    """Give a member another role. Raises :class:`UserError`, also for one's own: nobody raises themselves."""
    member = _locked(member)
    require_manager(member.project, by)
    if member.user_id == by.pk and not by.is_superuser:
        raise UserError(_("You cannot change your own role. Another owner can."))
    if sees_addresses and not member.sees_addresses:
        require_may_give_addresses(member.project, by)
    if role != Role.OWNER:
        _require_other_owner(member)
    member.role, member.sees_addresses = role, sees_addresses
    member.save(update_fields=("role", "sees_addresses"))


@transaction.atomic
def remove(member: Membership, *, by: User) -> None:
    """Take a member out of the project. Raises :class:`UserError`."""
    member = _locked(member)
    require_manager(member.project, by)
    _require_other_owner(member)
    member.delete()


@transaction.atomic
def leave(member: Membership, *, successor: Membership | None = None) -> None:
    """Take a user out of the project by their own wish. Raises :class:`UserError` for the last owner.

    An owner may hand the project over: the ``successor``, another member, becomes an owner in the same step.
    """
    member = _locked(member)
    if successor is not None:
        if member.role != Role.OWNER or successor.project_id != member.project_id or successor.pk == member.pk:
            raise UserError(NOT_YOURS)
        successor = _locked(successor)
        if not (successor.user.is_active and successor.user.is_staff):
            raise UserError(_("{user} cannot log in. Choose someone who can.").format(user=successor.user))
        successor.role = Role.OWNER
        successor.save(update_fields=("role",))
        audit.record("Handed over", row=member.project, project=member.project, label=f"to {successor.user}")
    _require_other_owner(member)
    member.delete()


def require_manager(project: Project, user: User) -> None:
    """Raises :class:`UserError` for whoever may not manage the project's people."""
    managing = Membership.objects.filter(project=project, user=user, role__in=roles_with(Right.MANAGE_PEOPLE))
    if not (user.is_superuser or managing.exists()):
        raise UserError(NOT_YOURS)


def require_may_give_addresses(project: Project, user: User) -> None:
    """Raises :class:`UserError` for whoever does not see whole addresses: nobody gives what they do not have."""
    if not sees_addresses(user, project.pk):
        raise UserError(_("You cannot see full addresses, so you cannot give others this permission."))


def _locked(member: Membership) -> Membership:
    """Return the member as they are once the project is locked. Raises :class:`UserError` if they are gone."""
    lock(member.project)
    found = Membership.objects.select_related("project", "user").filter(pk=member.pk).first()
    if found is None:
        raise UserError(_("This person has left the project."))
    return found


def _require_other_owner(member: Membership) -> None:
    others = Membership.objects.filter(
        project=member.project_id, role=Role.OWNER, user__is_active=True, user__is_staff=True
    ).exclude(pk=member.pk)
    if member.role == Role.OWNER and not others.exists():
        raise UserError(LAST_OWNER)
