"""Kill switches: stopping traffic at once, and letting it flow again. Every process goes by them within a second.

What was queued before is not sent either: a worker looks before it asks a provider, and such a message fails.
"""

from __future__ import annotations

from dataclasses import dataclass

from django.db.models import QuerySet
from django.utils.translation import gettext as _

from verification.core.errors import UserError
from verification.core.numbers import whole_number
from verification.models import (
    ALL_SENDING,
    ChannelType,
    KillSwitch,
    ListEntry,
    ListKind,
    ListSubject,
    Project,
    Provider,
)
from verification.models.fields import clean_country
from verification.services.projects.lists import add_entry
from verification.services.projects.projects import find_project
from verification.services.records import audit

SWITCHES = (ALL_SENDING, *ChannelType.values)
EXAMPLES = (*SWITCHES, "country:KP", "project:Shop", "provider:12")
REASON_MAX_LENGTH = 200


@dataclass(frozen=True, slots=True)
class Stopped:
    """Something that is stopped now: the name that ``resume`` takes, how people read it, and why if anybody said."""

    name: str
    title: str
    reason: str = ""


def stop(name: str, *, reason: str = "") -> None:
    """Stop what the name stands for, in the writing of :data:`EXAMPLES`. Raises :class:`UserError`."""
    kind, _unused, which = name.partition(":")
    match kind:
        case "country":
            add_entry(
                project=None,
                kind=ListKind.BLOCK,
                subject=ListSubject.COUNTRY,
                value=which,
                note=reason[:REASON_MAX_LENGTH],
            )
        case "project":
            project = find_project(which)
            Project.objects.filter(pk=project.pk).update(is_enabled=False)
            _record(reason, project, project)
        case "provider":
            provider = _provider(which)
            Provider.objects.filter(pk=provider.pk).update(is_enabled=False)
            _record(reason, provider, provider.project)
        case _:
            subject = _switch(name)
            KillSwitch.objects.update_or_create(subject=subject, defaults={"reason": reason[:REASON_MAX_LENGTH]})


def resume(name: str) -> None:
    """Let it flow again. Raises :class:`UserError`, also for what is not stopped."""
    kind, _unused, which = name.partition(":")
    match kind:
        case "country":
            changed = _blocked_countries().filter(value=clean_country(which)).delete()[0]
        case "project":
            changed = Project.objects.filter(pk=find_project(which).pk, is_enabled=False).update(is_enabled=True)
        case "provider":
            changed = Provider.objects.filter(pk=_provider(which).pk, is_enabled=False).update(is_enabled=True)
        case _:
            changed = KillSwitch.objects.filter(subject=_switch(name)).delete()[0]
    if not changed:
        raise UserError(_("{name} is not stopped.").format(name=name))


def stopped() -> list[Stopped]:
    """All that is stopped now, the widest first."""
    thrown = {row.subject: row for row in KillSwitch.objects.all()}
    return [
        *(Stopped(name, str(thrown[name]), thrown[name].reason) for name in SWITCHES if name in thrown),
        *(
            Stopped(f"country:{entry.value}", _("Country {entry}").format(entry=entry.value), entry.note)
            for entry in _blocked_countries().order_by("value")
        ),
        *(
            Stopped(f"project:{project.pk}", _("Project {project}").format(project=project.name))
            for project in Project.objects.filter(is_enabled=False, deleted_at=None)
        ),
        *(
            Stopped(f"provider:{provider.pk}", _title(provider))
            for provider in Provider.objects.filter(is_enabled=False).select_related("project")
        ),
    ]


def _title(provider: Provider) -> str:
    owner = "" if provider.project is None else _(" of {project}").format(project=provider.project)
    return _("Provider {provider}{owner}, {channel}").format(
        provider=provider.name, owner=owner, channel=provider.channel
    )


def _switch(name: str) -> str:
    if name not in SWITCHES:
        raise UserError(
            _("There is no kill switch {name!r}. Kill switches: {names}.").format(name=name, names=", ".join(EXAMPLES))
        )
    return name


def _record(reason: str, row: Project | Provider, project: Project | None) -> None:
    """A project and a provider have no place for a reason, as they have for their own switch: the audit log has one."""
    if reason:
        audit.record(f"stopped: {reason}", row=row, project=project, label=row.name)


def _provider(text: str) -> Provider:
    provider_id = whole_number(text)
    found = None if provider_id is None else Provider.objects.filter(pk=provider_id).first()
    if found is None:
        raise UserError(_("There is no provider {text!r}. Give its ID.").format(text=text))
    return found


def _blocked_countries() -> QuerySet[ListEntry]:
    return ListEntry.objects.filter(project=None, kind=ListKind.BLOCK, subject=ListSubject.COUNTRY)
