"""Bringing a project to what a file says, part by part. What is as it should be already is not written again.

All of it runs in the caller's transaction. The first thing that cannot be is raised with its path; the caller undoes
the rest.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, TypeVar

from django.core.exceptions import ValidationError
from django.db import models
from django.utils import timezone
from django.utils.dateparse import parse_datetime
from django.utils.translation import gettext as _

from providers.errors import SettingsInvalid
from verification.contrib.config_files import sections
from verification.contrib.config_files.load import Fault, FileRefused, Path
from verification.core.crypto import DecryptionFailed
from verification.core.errors import UserError
from verification.models import Channel, FallbackStep, ListEntry, MessageTemplate, Project
from verification.models.audit import Field, change_row, save_changes, set_value
from verification.models.fields import clean_language
from verification.models.project_settings import SECRETS
from verification.services.projects import hosted_page
from verification.services.projects.ceilings import require_budget_below_ceiling
from verification.services.projects.lists import add_new_entries, clean_value
from verification.services.projects.settings import all_faults, faults_of_opening, seal_secret, secret_of
from verification.services.texts import own

Finder = Callable[[str], str | None]  # from the name of a secret to its text, or to None where nobody has given it
Key = TypeVar("Key", bound=Hashable)


@dataclass(slots=True)
class ApplyContext:
    """The things that every part needs: the project, what is allowed, and who knows the secrets.

    ``is_trial`` says that all will be undone, ``sees_addresses`` that who brings the file may see whole recipients.
    ``kept`` gathers the names of secrets that nobody has given and that stay as they are stored; ``routed`` the
    channels whose choice of the provider differs from before.
    """

    project: Project
    find_secret: Finder
    is_trial: bool
    sees_addresses: bool
    kept: list[str] = field(default_factory=list)
    routed: list[Channel] = field(default_factory=list)

    @staticmethod
    def refuse(path: Path, sentence: str) -> FileRefused:
        return FileRefused(Fault(path, sentence))

    @staticmethod
    @contextmanager
    def judging(path: Path) -> Iterator[None]:
        """Turn what fields, adapters and services refuse into the refusal of the file, with the path."""
        try:
            yield
        except FileRefused:
            raise
        except SettingsInvalid as error:
            faults = (Fault((*path, "settings", name), f"{text}.") for name, text in error.errors.items())
            raise FileRefused(*faults) from None
        except ValidationError as error:
            by_name = error.message_dict if hasattr(error, "error_dict") else {"": error.messages}
            faults = (Fault((*path, name) if name else path, texts[0]) for name, texts in by_name.items())
            raise FileRefused(*faults) from None
        except DecryptionFailed:
            sentence = _("its stored secrets cannot be read with the current encryption keys. Provide them again.")
            raise FileRefused(Fault(path, sentence)) from None
        except UserError as error:
            raise FileRefused(Fault(path, str(error))) from None

    def secret(self, path: Path, reference: Mapping[str, str], *, is_stored: bool) -> str | None:
        """Return the text of a secret; None where the stored one stays."""
        name = reference[sections.SECRET]
        if text := self.find_secret(name):
            return text
        if not is_stored:
            raise self.refuse(path, _("the secret {name} was not provided, and none is stored.").format(name=name))
        self.kept.append(name)
        return None

    def given(self, rows: Iterable[tuple[Path, Any]], key_of: Callable[[Path], Key]) -> dict[Key, tuple[Path, Any]]:
        """Return the rows of a part, each with its place, by what the database knows them by."""
        found: dict[Key, tuple[Path, Any]] = {}
        for at, values in rows:
            with self.judging(at):
                key = key_of(at)
            if key in found:
                name = key[-1] if isinstance(key, tuple) else key
                raise self.refuse(at, _("{name} appears twice.").format(name=name))
            found[key] = at, values
        return found

    def change(self, row: models.Model, fields: Mapping[str, Field], values: Mapping[str, Any], at: Path) -> list[str]:
        """Set those values that are fields. Return the names of those that differed."""
        with self.judging(at):
            return change_row(row, fields, {name: value for name, value in values.items() if name in fields})


def rows_at(path: Path, values: Mapping[str, Any], depth: int) -> Iterator[tuple[Path, Any]]:
    """List the rows that are this many names below a place, each with its own place."""
    for name, value in values.items():
        if depth == 1:
            yield (*path, name), value
        else:
            yield from rows_at((*path, name), value, depth - 1)


def apply_settings(context: ApplyContext, wanted: Mapping[str, Any], path: Path) -> None:
    project, changed = context.project, []
    for name, value in wanted.items():
        at = (*path, name)
        with context.judging(at):
            if _set(context, name, value, at):
                changed.append(name)
    if not changed:
        return
    kept = {name for name in SECRETS if (wanted.get(name) or {}).get(sections.SECRET) in context.kept}
    found = all_faults(project, {*changed, *(wanted.keys() & set(SECRETS) - kept)})
    if not context.sees_addresses:
        found |= faults_of_opening(project, changed)
    if "is_sandbox" in found:
        found["is_sandbox"] = _("{fault} To apply the rest of the file, write is_sandbox: {value}.").format(
            fault=found["is_sandbox"], value=str(not project.is_sandbox).lower()
        )
    if found:
        places = {name: (*path, name) if name in sections.SETTINGS else path for name in found}
        raise FileRefused(*(Fault(places[name], text) for name, text in found.items()))
    project.save(update_fields=changed)


def _set(context: ApplyContext, name: str, value: Any, path: Path) -> bool:
    """Set one of the project's settings. Return whether it differs; a secret that no key opens does."""
    project = context.project
    if name not in SECRETS:
        return set_value(project, sections.SETTINGS[name], value)
    text = context.secret(path, value, is_stored=bool(getattr(project, name))) if value else ""
    if text is None:
        return False
    try:
        is_same = text == secret_of(project, name)
    except DecryptionFailed:
        is_same = False
    if not is_same:
        setattr(project, name, seal_secret(project, name, text))
    return not is_same


def apply_channels(context: ApplyContext, wanted: Mapping[str, Any], path: Path) -> None:
    rows = {row.type: row for row in context.project.channels.all()}
    for name in rows.keys() - wanted.keys():
        rows[name].delete()
    for name, values in wanted.items():
        row = rows.get(name) or Channel(project=context.project, type=name)
        changed = context.change(row, sections.CHANNEL, values, (*path, name))
        if "daily_budget" in changed:
            with context.judging((*path, name, "daily_budget")):
                require_budget_below_ceiling(row.daily_budget)
        save_changes(row, changed)
        if "routing" in changed:
            context.routed.append(row)


def apply_fallback(context: ApplyContext, wanted: list[dict[str, Any]], path: Path) -> None:
    rows = {row.channel: row for row in context.project.fallback_steps.all()}
    if [{name: getattr(row, name) for name in sections.STEP} for row in rows.values()] == wanted:
        return
    channels = [step["channel"] for step in wanted]
    for position, channel in enumerate(channels):
        if channel in channels[:position]:
            raise context.refuse((*path, position, "channel"), _("{channel} appears twice.").format(channel=channel))
    for channel in rows.keys() - set(channels):
        rows[channel].delete()
    for position, values in enumerate(wanted):
        row = rows.get(values["channel"]) or FallbackStep(project=context.project, channel=values["channel"])
        changed = context.change(row, sections.STEP, values, (*path, position))
        if row.position != position:
            row.position = position
            changed.append("position")
        save_changes(row, changed)


def apply_texts(context: ApplyContext, wanted: Mapping[str, Any], path: Path) -> None:
    project = context.project
    rows = {(row.channel, row.language): row for row in project.templates.all()}
    given = context.given(rows_at(path, wanted, 2), lambda at: (at[-2], own.canonical_language(clean_language(at[-1]))))
    for key in rows.keys() - given.keys():
        with context.judging((*path, key[0])):
            own.require_changeable(project, *key)
        rows[key].delete()
    for key, (at, values) in given.items():
        row = rows.get(key) or MessageTemplate(project=project, channel=key[0], language=key[1])
        changed = context.change(row, sections.TEXT, values, at)
        with context.judging(at):
            if row.pk is None:
                own.require_room(project)
            if changed:
                own.require_changeable(project, *key)
        if changed and (faults := own.faults(project=project, channel=row.channel, text=row.text, subject=row.subject)):
            raise FileRefused(*(Fault((*at, "text"), sentence) for sentence in faults))
        save_changes(row, changed)


def apply_hosted_page(context: ApplyContext, wanted: Mapping[str, Any], path: Path) -> None:
    """Bring the page's settings. One that is switched on gets a key of its own."""
    page = hosted_page.page_of(context.project)
    if changed := {name: value for name, value in wanted.items() if getattr(page, name) != value}:
        with context.judging(path):
            hosted_page.save(context.project, changed)


def apply_lists(context: ApplyContext, wanted: Mapping[str, Any], path: Path) -> None:
    """Bring the lists that are given. Entries about recipients, which no file holds, stay.

    One whose end is past is passed over, so that a file can be applied again later.
    """
    for kind, subjects in wanted.items():
        live = context.project.list_entries.live().filter(kind=kind, subject__in=sections.SUBJECTS[kind])  # type: ignore[index]  # the values of the enumeration
        rows = {(row.subject, row.value): row for row in live}
        given = context.given(
            rows_at((*path, kind), subjects, 2), lambda at: (at[-2], clean_value(at[-3], at[-2], at[-1]))
        )
        for key in rows.keys() - given.keys():
            rows[key].delete()
        new: list[ListEntry] = []
        for key, (at, values) in given.items():
            row = rows.get(key) or ListEntry(project=context.project, kind=kind, subject=key[0], value=key[1])
            values = {"note": "", "expires_at": None, **(values or {})}
            with context.judging((*at, "expires_at")):
                values["expires_at"] = _time(values["expires_at"])
            changed = context.change(row, sections.ENTRY, values, at)
            is_past = row.expires_at is not None and row.expires_at <= timezone.now()
            if row.pk is None:
                new += [] if is_past else [row]
            elif is_past:
                row.delete()
            else:
                save_changes(row, changed)
        with context.judging((*path, kind)):
            add_new_entries(context.project, new)


def _time(text: str | None) -> datetime | None:
    """Read a time as files write it. Raises :class:`UserError`."""
    try:
        found = parse_datetime(text) if text is not None else None
    except ValueError:
        found = None
    if text is not None and (found is None or found.tzinfo is None):
        raise UserError(_("enter a time with a time zone, such as 2027-01-31T12:00:00Z."))
    return found
