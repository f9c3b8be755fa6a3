"""Applying a file, and the plan that is shown before: the same steps, undone at the end.

So a plan is refused for whatever would refuse the file, and shows values in the writing in which they are stored.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from django.db import connection, transaction
from django.utils.translation import gettext as _

from verification.contrib.config_files import export, schema, sections
from verification.contrib.config_files.apply import (
    ApplyContext,
    Finder,
    apply_channels,
    apply_fallback,
    apply_hosted_page,
    apply_lists,
    apply_settings,
    apply_texts,
)
from verification.contrib.config_files.apply_alerts import apply_alerts
from verification.contrib.config_files.apply_providers import apply_providers
from verification.contrib.config_files.load import Document, Fault, FileRefused, Path, dotted
from verification.core.errors import UserError
from verification.models import Project, bounds
from verification.services.projects.projects import create_bare_project, find_project
from verification.services.providers.routing import require_routing
from verification.services.records import audit

_PARTS: dict[str, Callable[[ApplyContext, Any, Path], None]] = {  # in the order in which one may need the other
    "settings": apply_settings,
    "channels": apply_channels,
    "providers": apply_providers,
    "fallback": apply_fallback,
    "texts": apply_texts,
    "lists": apply_lists,
    "alerts": apply_alerts,
    "hosted_page": apply_hosted_page,
}


TURN_LOCK = 7_294_007  # an advisory lock of our own
_GROUPS = {
    "providers": 2,
    "texts": 2,
    "lists": 3,
    "alerts": 1,
    "connections": 1,
}  # how deep the names of a part stand above its rows


@dataclass(frozen=True, slots=True)
class Change:
    """One difference. ``before`` is None where something is added, ``after`` where something is removed."""

    path: str
    before: Any
    after: Any

    @property
    def sign(self) -> str:
        if self.before is None:
            return "+"
        return "-" if self.after is None else "~"


@dataclass(frozen=True, slots=True)
class ProjectPlan:
    """The differences of one project. ``kept_secrets`` were not given, and stay as they are stored."""

    project: str
    is_new: bool
    changes: tuple[Change, ...]
    kept_secrets: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Plan:
    projects: tuple[ProjectPlan, ...]

    @property
    def is_empty(self) -> bool:
        return not any(project.is_new or project.changes for project in self.projects)

    @property
    def digest(self) -> str:
        """Return what tells this plan from another, for asking whether it is still the one that was shown."""
        return hashlib.sha256(json.dumps(self.as_dict(), sort_keys=True).encode()).hexdigest()

    def as_dict(self) -> dict[str, Any]:
        return {"projects": [asdict(project) for project in self.projects]}


class PlanChanged(UserError):
    """The file would not change what was shown any more. ``plan`` is what it would change now."""

    def __init__(self, plan: Plan) -> None:
        super().__init__(_("The configuration was changed in the meantime. Review the changes again."))
        self.plan = plan


def no_secrets(name: str) -> None:
    """Find no secret: those that are stored stay."""


def plan(
    document: Document,
    *,
    find_secret: Finder = no_secrets,
    only: Project | None = None,
    sees_addresses: bool = True,
) -> Plan:
    """Return what applying the file would change. Nothing is changed. Raises :class:`FileRefused`.

    ``only`` is the one project that the file may be about, whatever name the file gives it. Who does not see whole
    recipients has no file let events tell them.
    """
    with transaction.atomic():
        found = _bring(document, find_secret, only, is_trial=True, sees_addresses=sees_addresses)
        transaction.set_rollback(True)
    return found


def apply(
    document: Document,
    *,
    find_secret: Finder = no_secrets,
    only: Project | None = None,
    shown: str = "",
    sees_addresses: bool = True,
) -> Plan:
    """Bring every project of the file to what it says, in one transaction, and return what has changed.

    ``shown`` is the digest of the plan that somebody has agreed to. Raises :class:`FileRefused` and
    :class:`PlanChanged`; then nothing is changed.
    """
    with transaction.atomic():
        found = _bring(document, find_secret, only, is_trial=False, sees_addresses=sees_addresses)
        if shown and found.digest != shown:
            raise PlanChanged(found)
    return found


def secret_names(document: Document) -> list[str]:
    """List the secrets that a file names, each once, in its order."""
    return list(dict.fromkeys(_references(document.value)))


def _bring(
    document: Document, find_secret: Finder, only: Project | None, *, is_trial: bool, sees_addresses: bool
) -> Plan:
    if found := schema.faults(document):
        raise document.refusal(*found)
    wanted: dict[str, Any] = document.value["projects"]
    if only is not None and len(wanted) != 1:
        raise document.refusal(Fault(("projects",), _("this page only accepts a file with one project.")))
    if only is None:
        _take_turn()
    rows = {name: only or _find(document, name) for name in wanted}
    for project in sorted(filter(None, rows.values()), key=lambda row: row.pk):  # in one order, as others may apply too
        bounds.lock(project)
        project.refresh_from_db()
    return Plan(
        tuple(
            _apply_project(document, name, row, find_secret, is_trial=is_trial, sees_addresses=sees_addresses)
            for name, row in rows.items()
        )
    )


def _take_turn() -> None:
    """Have others who apply files for any project wait, so that no two make a project of one name."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s)", [TURN_LOCK])


def _find(document: Document, name: str) -> Project | None:
    """Return the project of this name, or None for one that is to be made."""
    if not Project.objects.filter(name=name, deleted_at=None).exists():
        return None
    try:
        return find_project(name)
    except UserError as error:
        raise document.refusal(Fault(("projects", name), str(error))) from None


def _apply_project(
    document: Document,
    name: str,
    row: Project | None,
    find_secret: Finder,
    *,
    is_trial: bool,
    sees_addresses: bool,
) -> ProjectPlan:
    path: Path = ("projects", name)
    if row is None:
        try:
            project = create_bare_project(name)
        except UserError as error:
            raise document.refusal(Fault(path, str(error))) from None
    else:
        project = row
    before = export.state_of(project)
    context = ApplyContext(project, document, find_secret, is_trial, sees_addresses)
    wanted = document.value["projects"][name]
    of_apps = {name: part.apply for name, part in sections.parts_of_apps().items()}
    for part, bring in (_PARTS | of_apps).items():
        if part in wanted:
            bring(context, wanted[part], (*path, part))
    _require_channels(context, wanted, path)
    for channel in context.routed:  # judged last, as the file may bring the prices too
        with context.judging((*path, "channels", channel.type, "routing")):
            require_routing(channel)
    changes = tuple(differences(before, export.state_of(Project.objects.get(pk=project.pk))))
    if (changes or row is None) and not is_trial:
        number = f"{len(changes)} {'change' if len(changes) == 1 else 'changes'}"
        audit.record(f"applied a set-up file ({number})", row=project, project=project, label=project.name)
    return ProjectPlan(project.name, row is None, changes, tuple(context.kept))


def _require_channels(context: ApplyContext, wanted: Mapping[str, Any], path: Path) -> None:
    """Refuse a file that lists the channels without one that its own providers serve, and so would make anew."""
    if "channels" not in wanted:
        return
    for channel, providers in wanted.get("providers", {}).items():
        if providers and channel not in wanted["channels"]:
            raise context.refuse((*path, "providers", channel), _("the file lists the channels, but not this one."))


def differences(before: Any, after: Any, path: Path = ()) -> Iterator[Change]:
    """Compare two set-ups, down to where one of them ends."""
    if path and len(path) <= _GROUPS.get(str(path[0]), 0):
        before, after = before or {}, after or {}
    if isinstance(before, dict) and isinstance(after, dict):
        for name in [*before, *(name for name in after if name not in before)]:
            yield from differences(before.get(name), after.get(name), (*path, name))
    elif before != after:
        yield Change(dotted(path), _shown(before), _shown(after))


def _shown(value: Any) -> Any:
    """Return a value for people and JSON, with secrets hidden."""
    if isinstance(value, dict):
        return {name: _shown(item) for name, item in value.items()}
    return str(value) if isinstance(value, export.Hidden) else value


def _references(value: Any) -> Iterator[str]:
    if isinstance(value, list):
        for item in value:
            yield from _references(item)
    elif isinstance(value, dict):
        if value.keys() == {sections.SECRET} and isinstance(value[sections.SECRET], str):
            yield value[sections.SECRET]
            return
        for item in value.values():
            yield from _references(item)


__all__ = ["Change", "FileRefused", "Plan", "PlanChanged", "apply", "differences", "plan", "secret_names"]
