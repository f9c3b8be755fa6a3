"""A project's set-up as it is now, and written as a file: YAML that people review."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from itertools import chain, count
from typing import Any, TypeVar

import yaml
from django.conf import settings
from django.db import models

from providers import registry
from verification.contrib.config_files import sections
from verification.core.crypto import DecryptionFailed
from verification.models import AlertService, Project, Provider
from verification.models.project_settings import SECRETS
from verification.services.notifications import alert_services
from verification.services.projects import hosted_page
from verification.services.projects.settings import secret_of
from verification.services.providers import price_lists
from verification.services.providers.accounts import is_known, stored_secrets

SCHEMA_PATH = "/docs/set-up.schema.json"
WIDTH = 120  # columns before a text is folded
_HEADING = re.compile(r"^( {6})'(# .*)': null$", re.MULTILINE)  # nothing else of a file has this depth and form
_NOT_IN_A_NAME = re.compile(r"[^a-z0-9]+")
_UNREADABLE = "\0unreadable"  # in place of a secret that no key opens; no secret holds a NUL


@dataclass(frozen=True, slots=True)
class Hidden:
    """A secret in a set-up that is compared with another: equal to the same secret, and shown to nobody."""

    digest: bytes

    def __str__(self) -> str:
        return "(hidden)"


Kind = TypeVar("Kind")
Writer = Callable[[tuple[str, ...], str], Any]  # from what a secret belongs to and its text to what stands for it


def file_of(*projects: Project) -> dict[str, Any]:
    """Return the file of these projects: plain values, with each secret as a reference.

    A provider's switch is written only where it is off, so that no file resumes what somebody has stopped since.
    """
    taken: set[str] = set()
    setups = {project.name: setup_of(project, partial(_reference, taken)) for project in projects}
    for setup in setups.values():
        for rows in setup["providers"].values():
            for row in rows.values():
                if row["is_enabled"]:
                    del row["is_enabled"]
    return {"watchword": sections.FORMAT, "projects": setups}


def state_of(project: Project) -> dict[str, Any]:
    """Return the set-up for comparing it with another: each secret is there as a :class:`Hidden`."""
    return setup_of(project, lambda _, text: Hidden(hashlib.sha256(text.encode()).digest()))


def setup_of(project: Project, write: Writer) -> dict[str, Any]:
    """Return the set-up with every part, also those that are empty. ``write`` decides what stands for a secret."""
    texts = project.templates.order_by("channel", "language")
    providers = project.providers.order_by("channel", "priority", "id").prefetch_related("sender_rules")
    entries = project.list_entries.live().order_by("kind", "subject", "value")
    page = hosted_page.page_of(project) if sections.has_hosted_pages() else None
    return {
        "settings": _settings(project, write),
        "channels": {row.type: _values(row, sections.CHANNEL) for row in project.channels.all()},
        "fallback": [_values(row, sections.STEP) for row in project.fallback_steps.all()],
        "providers": _nested(((row.channel, row.name), _provider(row, write)) for row in providers),
        "texts": _nested(((row.channel, row.language), _values(row, sections.TEXT)) for row in texts),
        "lists": {kind.value: {} for kind in sections.SUBJECTS}
        | _nested(
            (
                (row.kind, row.subject, row.value),
                {name: value for name, value in _values(row, sections.ENTRY).items() if value},
            )
            for row in entries
            if row.subject in sections.SUBJECTS[row.kind]  # type: ignore[index]  # the values of the enumeration
        ),
        "alerts": {row.name: _alert_service(row, write) for row in project.alert_services.all()},
        **({"hosted_page": _values(page, sections.HOSTED_PAGE)} if page else {}),
        **{name: part.export(project, write) for name, part in sections.parts_of_apps().items()},
    }


def _settings(project: Project, write: Writer) -> dict[str, Any]:
    found = _values(project, (name for name in sections.SETTINGS if name not in SECRETS or getattr(project, name)))
    for name in filter(found.__contains__, SECRETS):
        found[name] = write((project.name, name), _opened(secret_of, project, name, closed=_UNREADABLE))
    return found


def _provider(row: Provider, write: Writer) -> dict[str, Any]:
    found = {"type": row.type, **_values(row, sections.PROVIDER), "settings": _settings_of(row, write)}
    found["prices"] = dict(map(price_lists.entry_of, price_lists.lines_of(row)))
    if row.channel in sections.WITH_SENDERS:
        found["senders"] = {rule.prefix: _values(rule, sections.SENDER) for rule in row.sender_rules.all()}
    return found


def _settings_of(row: Provider, write: Writer) -> dict[str, Any]:
    """Return a provider's settings in the order of the adapter. Of a type that is not run here the plain ones."""
    if not is_known(row.type):
        return dict(row.settings)
    adapter = registry.adapter_class(row.type)
    names = sections.secrets_of(adapter)
    stored = _opened(stored_secrets, row, closed=dict.fromkeys(names, _UNREADABLE))
    found: dict[str, Any] = {}
    for setting in adapter.declared:
        if setting.name not in names:
            found[setting.name] = row.settings.get(setting.name, setting.default)
        elif stored.get(setting.name):
            found[setting.name] = write((str(row.project), row.channel, row.name, setting.name), stored[setting.name])
    return found


def _alert_service(row: AlertService, write: Writer) -> dict[str, Any]:
    address = write((str(row.project), "alerts", row.name), alert_services.secret_of(row) or _UNREADABLE)
    return {"kind": row.kind, **_values(row, sections.ALERT_SERVICE), sections.ADDRESS: address}


def _opened(read: Callable[..., Kind], *arguments: Any, closed: Kind) -> Kind:
    try:
        return read(*arguments)
    except DecryptionFailed:
        return closed


def _values(row: models.Model, fields: Iterable[str]) -> dict[str, Any]:
    return {name: _plain(getattr(row, name)) for name in fields}


def _plain(value: Any) -> Any:
    """Return a value as a file holds it."""
    if isinstance(value, datetime):
        return value.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    if isinstance(value, str):
        return str.__str__(value)  # not a member of an enumeration
    return [_plain(item) for item in value] if isinstance(value, list) else value


def _nested(rows: Iterable[tuple[tuple[str, ...], Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for (*names, last), value in rows:
        inner = found
        for name in names:
            inner = inner.setdefault(name, {})
        inner[last] = value
    return found


def _reference(taken: set[str], belongs_to: tuple[str, ...], text: str) -> dict[str, str]:
    """Give a secret of a file a name of its own, which tells what it is for."""
    words = (_NOT_IN_A_NAME.sub("_", part.lower()).strip("_") for part in belongs_to)
    name = "_".join(word for word in words if word)[:90]
    name = name if name[:1].isalpha() else f"secret_{name}"
    found = next(each for each in chain([name], (f"{name}_{n}" for n in count(2))) if each not in taken)
    taken.add(found)
    return {sections.SECRET: found}


# --- writing -------------------------------------------------------------------------------------------------------


class _Dumper(yaml.SafeDumper):
    """Writes texts of several lines as such, and indents lists below their name."""

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:
        super().increase_indent(flow, False)

    def ignore_aliases(self, data: Any) -> bool:
        return True

    def represent_text(self, text: str) -> yaml.Node:
        style = "|" if "\n" in text and not text.endswith("\n") else None
        return self.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _Dumper.represent_text)


def write(file: Mapping[str, Any]) -> str:
    """Write the file of :func:`export.file_of`."""
    projects = {name: {**setup, "settings": _headed(setup["settings"])} for name, setup in file["projects"].items()}
    text = yaml.dump({**file, "projects": projects}, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=WIDTH)
    head = (
        f"# yaml-language-server: $schema={settings.BASE_URL}{SCHEMA_PATH}\n"
        "# The file only names secrets. docs/configuration-file.md says how to provide them.\n"
    )
    return head + _HEADING.sub(r"\1\2", text)


def _headed(values: Mapping[str, Any]) -> dict[str, Any]:
    """Put the title of each group before its settings, as a name that :func:`write` turns into a comment."""
    found: dict[str, Any] = {}
    for title, fields in sections.SETTINGS_BY_GROUP.items():
        named = {name: values[name] for name in fields if name in values}
        found |= {f"# {title}": None, **named} if named else {}
    return found
