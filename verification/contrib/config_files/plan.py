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

from verification.contrib.config_files import apply as parts
from verification.contrib.config_files import export, schema, sections
from verification.contrib.config_files.apply import ApplyContext, Finder
from verification.contrib.config_files.apply_providers import apply_alerts, apply_providers
from verification.contrib.config_files.load import Fault, FileRefused, Path, dotted
from verification.core.errors import UserError
from verification.models import Project, bounds
from verification.services.projects.projects import create_bare_project, find_project
from verification.services.providers.routing import require_routing
from verification.services.records import audit

_PARTS: dict[str, Callable[[ApplyContext, Any, Path], None]] = {  # in the order in which one may need the other
    "settings": parts.apply_settings,
    "channels": parts.apply_channels,
    "providers": apply_providers,
    "fallback": parts.apply_fallback,
    "texts": parts.apply_texts,
    "lists": parts.apply_lists,
    "alerts": apply_alerts,
    "hosted_page": parts.apply_hosted_page,
}
_GROUPS = {"providers": 2, "texts": 2, "lists": 3, "alerts": 1, "connections": 1}  # names above the rows of a part
TURN_LOCK = 7_294_007  # an advisory lock of our own
LONGEST = 200  # characters of a value that are shown; an owner's text may be longer than a screen is wide


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

    @property
    def rows(self) -> list[tuple[str, str]]:
        """The values of a row that is added, in words: what is empty goes without saying."""
        if self.sign == "-" or not isinstance(self.after, dict):
            return []
        return [(name, words(value)) for name, value in leaves(self.after) if value not in ("", None, [], {})]

    @property
    def old(self) -> str:
        return words(self.before) if self.sign == "~" else ""

    @property
    def new(self) -> str:
        return "" if self.sign == "-" or isinstance(self.after, dict) else words(self.after)


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

    def lines(self) -> Iterator[str]:
        """Write it for people: a heading for each project that differs, and a line for each value."""
        for project in self.projects:
            if project.is_new or project.changes:
                yield f"{project.project}{' (new)' if project.is_new else ''}"
            for change in project.changes:
                values = " → ".join(filter(None, [change.old, change.new]))
                yield f"  {change.sign} {change.path}{': ' if values else ''}{values}"
                yield from (f"      {name}: {value}" for name, value in change.rows)
        if kept := sum(len(project.kept_secrets) for project in self.projects):
            yield _("Secrets not provided, whose stored values are kept: {kept}").format(kept=kept)


class PlanChanged(UserError):
    """The file would not change what was shown any more. ``plan`` is what it would change now."""

    def __init__(self, plan: Plan) -> None:
        super().__init__(_("The configuration was changed in the meantime. Review the changes again."))
        self.plan = plan


def no_secrets(name: str) -> None:
    """Find no secret: those that are stored stay."""


def plan(file: Any, **options: Any) -> Plan:
    """Return what applying the file would change. Nothing is changed. Raises :class:`FileRefused`.

    The options are those of :func:`apply`, but for ``shown``.
    """
    with transaction.atomic():
        found = _bring(file, is_trial=True, **options)
        transaction.set_rollback(True)
    return found


def apply(file: Any, *, shown: str = "", **options: Any) -> Plan:
    """Bring every project of the file to what it says, in one transaction, and return what has changed.

    ``shown`` is the digest of the plan that somebody has agreed to, ``find_secret`` knows the secrets, and ``only`` is
    the one project that the file may be about, whatever name the file gives it. Without ``sees_addresses`` no file lets
    events tell whole recipients. Raises :class:`FileRefused` and :class:`PlanChanged`; then nothing is changed.
    """
    with transaction.atomic():
        found = _bring(file, is_trial=False, **options)
        if shown and found.digest != shown:
            raise PlanChanged(found)
    return found


def secret_names(file: Any) -> list[str]:
    """List the secrets that a file names, each once, in its order."""
    return list(dict.fromkeys(_references(file)))


def _bring(
    file: Any,
    *,
    is_trial: bool,
    find_secret: Finder = no_secrets,
    only: Project | None = None,
    sees_addresses: bool = True,
) -> Plan:
    if found := schema.faults(file):
        raise FileRefused(*found)
    wanted: dict[str, Any] = file["projects"]
    if only is not None and len(wanted) != 1:
        raise FileRefused(Fault(("projects",), _("this page only accepts a file with one project.")))
    if only is None:  # others wait who apply files for any project, so that no two make a project of one name
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_xact_lock(%s)", [TURN_LOCK])
    rows: dict[str, Project | None] = dict.fromkeys(wanted, only)
    for name in wanted if only is None else ():
        with ApplyContext.judging(("projects", name)):
            is_there = Project.objects.filter(name=name, deleted_at=None).exists()
            rows[name] = find_project(name) if is_there else None
    for project in sorted(filter(None, rows.values()), key=lambda row: row.pk):  # in one order, as others may apply too
        bounds.lock(project)
        project.refresh_from_db()
    plans = []
    for name, row in rows.items():
        with ApplyContext.judging(("projects", name)):
            context = ApplyContext(row or create_bare_project(name), find_secret, is_trial, sees_addresses)
        plans.append(_apply_project(context, wanted[name], ("projects", name), is_new=row is None))
    return Plan(tuple(plans))


def _apply_project(context: ApplyContext, wanted: Mapping[str, Any], path: Path, *, is_new: bool) -> ProjectPlan:
    project = context.project
    before = export.state_of(project)
    of_apps = {name: part.apply for name, part in sections.parts_of_apps().items()}
    for part, bring in (_PARTS | of_apps).items():
        if part in wanted:
            bring(context, wanted[part], (*path, part))
    for channel, providers in wanted.get("providers", {}).items() if "channels" in wanted else ():
        if providers and channel not in wanted["channels"]:  # bringing them has made it again
            raise context.refuse((*path, "providers", channel), _("the file lists the channels, but not this one."))
    for row in context.routed:  # judged last, as the file may bring the prices too
        with context.judging((*path, "channels", row.type, "routing")):
            require_routing(row)
    changes = tuple(differences(before, export.state_of(Project.objects.get(pk=project.pk))))
    if (changes or is_new) and not context.is_trial:
        number = f"{len(changes)} {'change' if len(changes) == 1 else 'changes'}"
        audit.record(f"applied a set-up file ({number})", row=project, project=project, label=project.name)
    return ProjectPlan(project.name, is_new, changes, tuple(context.kept))


def differences(before: Any, after: Any, path: Path = ()) -> Iterator[Change]:
    """Compare two set-ups, down to where one of them ends."""
    if path and len(path) <= _GROUPS.get(path[0], 0):
        before, after = before or {}, after or {}
    if isinstance(before, dict) and isinstance(after, dict):
        for name in before | after:
            yield from differences(before.get(name), after.get(name), (*path, name))
    elif before != after:
        yield Change(dotted(path), _shown(before), _shown(after))


def _shown(value: Any) -> Any:
    """Return a value for people and JSON, with secrets hidden."""
    if isinstance(value, dict):
        return {name: _shown(item) for name, item in value.items()}
    return str(value) if isinstance(value, export.Hidden) else value


def leaves(values: dict[str, Any], before: str = "") -> Iterator[tuple[str, Any]]:
    """List the values of a row, those within values by their path."""
    for name, value in values.items():
        if isinstance(value, dict) and value:
            yield from leaves(value, f"{before}{name}.")
        else:
            yield f"{before}{name}", value


def words(value: Any) -> str:
    """Write one value in one line."""
    if isinstance(value, bool):
        return str(value).lower()
    if value is None:
        return "none"
    if isinstance(value, list):
        text = ", ".join(map(words, value)) or "none"
    elif isinstance(value, dict):
        text = ", ".join(f"{name} {words(item)}" for name, item in value.items()) or "none"
    else:
        text = str(value).replace("\n", "⏎") or "empty"
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}…"


def _references(value: Any) -> Iterator[str]:
    if isinstance(value, dict) and isinstance(name := value.get(sections.SECRET), str) and len(value) == 1:
        yield name
    elif isinstance(value, (dict, list)):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _references(item)
