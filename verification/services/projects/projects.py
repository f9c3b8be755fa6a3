"""Projects: making one with its first keys, and setting the defaults and limits that it runs by."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from django.contrib.auth.models import User
from django.db import models, transaction
from django.db.models import QuerySet
from django.utils.translation import gettext as _

from verification.core.errors import UserError
from verification.core.numbers import whole_number
from verification.models import KeyKind, Membership, Project
from verification.models.bounds import lock
from verification.services.projects.keys import issue_key
from verification.services.projects.settings import require_sound, set_settings
from verification.services.projects.webhook_secrets import issue_webhook_secret

SHOWN_IDS = 5  # projects of one name whose ids a refusal lists


@dataclass(frozen=True, slots=True)
class NewProject:
    """A project with its first keys, whose texts exist only here."""

    project: Project
    api_key: str
    secret_key: str
    webhook_secret: str


@transaction.atomic
def create_project(*, name: str, owner: User | None = None, is_sandbox: bool = False) -> NewProject:
    """Make a project with one key of each kind and a webhook secret; ``owner`` becomes its member, who may
    see addresses. No channel yet.

    Raises :class:`UserError`.
    """
    project = _make(name, is_sandbox=is_sandbox)
    if owner is not None:
        # Else nobody could show an address or export what is stored about a person, nor give that right to anybody.
        Membership.objects.create(project=project, user=owner, sees_addresses=True)
    return create_first_keys(project, by=owner)


@transaction.atomic
def create_bare_project(name: str) -> Project:
    """Make a project without keys, which a file never brings, but with a webhook secret to sign alerts and callbacks.

    Raises :class:`UserError`.
    """
    project = _make(name)
    issue_webhook_secret(project=project)
    return project


def _make(name: str, *, is_sandbox: bool = False) -> Project:
    require_free_name(name, among=Project.objects.all())
    project = Project(name=name, is_sandbox=is_sandbox)
    require_sound(project, ("name",))
    project.save()
    return project


def create_first_keys(project: Project, *, by: User | None) -> NewProject:
    """Give a project what its app and its server start with: a key of each kind and a webhook secret."""
    return NewProject(
        project,
        api_key=issue_key(project=project, kind=KeyKind.API, created_by=by).text,
        secret_key=issue_key(project=project, kind=KeyKind.SECRET, created_by=by).text,
        webhook_secret=issue_webhook_secret(project=project),
    )


@transaction.atomic
def set_project(*, project: Project, values: Mapping[str, str]) -> None:
    """Set a project's settings from text and save them. Raises :class:`UserError`; then nothing is changed.

    All columns are saved, so they are read anew once nobody else may change them.
    """
    lock(project)
    project.refresh_from_db()
    set_settings(project, values)
    if "name" in values:
        require_free_name(project.name, among=Project.objects.all(), but=project)
    project.save()


def find_project(id_or_name: str) -> Project:
    """Return the project with this id or name. Raises :class:`UserError`."""
    match = models.Q(name=id_or_name)
    if (project_id := whole_number(id_or_name)) is not None:
        match |= models.Q(pk=project_id)
    found = list(Project.objects.filter(match, deleted_at=None).order_by("pk")[:SHOWN_IDS])
    if len(found) == 1:
        return found[0]
    if not found:
        raise UserError(_("There is no project {id_or_name!r}.").format(id_or_name=id_or_name))
    ids = ", ".join(str(project.pk) for project in found)
    raise UserError(
        _("Several projects are named {id_or_name!r}. Give an ID: {ids}.").format(id_or_name=id_or_name, ids=ids)
    )


def require_free_name(name: str, *, among: QuerySet[Project], but: Project | None = None) -> None:
    """Raises :class:`UserError` where one of these projects has the name.

    Names are told apart among what one person sees. Over all projects the refusal would tell tenants of each other.
    """
    same = among.filter(name=name, deleted_at=None)
    if (same.exclude(pk=but.pk) if but else same).exists():
        raise UserError(_("A project named {name!r} already exists. Choose another name.").format(name=name))
