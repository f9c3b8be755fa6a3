"""Bringing a project to what a file says, part by part. What is as it should be already is not written again.

All of it runs in the caller's transaction. The first thing that cannot be is raised with its path; the caller undoes
the rest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC
from typing import Any

from django.core.exceptions import ValidationError
from django.db import models
from django.utils import timezone
from django.utils.dateparse import parse_datetime
from django.utils.translation import gettext as _

from providers.errors import SettingsInvalid
from verification.contrib.config_files import sections
from verification.contrib.config_files.load import Document, Fault, FileRefused, Path
from verification.core.crypto import DecryptionFailed
from verification.core.errors import UserError
from verification.models import Channel, FallbackStep, ListEntry, MessageTemplate, Project
from verification.models.audit import change_row, save_changes, set_value
from verification.models.fields import clean_expiry, clean_language
from verification.models.project_settings import SECRETS
from verification.services.projects import hosted_page
from verification.services.projects.ceilings import require_budget_below_ceiling
from verification.services.projects.lists import add_new_entries, clean_value
from verification.services.projects.settings import (
    all_faults,
    faults_of_opening,
    seal_secret,
    secret_of,
)
from verification.services.texts import own

Finder = Callable[[str], str | None]  # from the name of a secret to its text, or to None where nobody has given it


@dataclass(slots=True)
class ApplyContext:
    """The things that every part needs: the project, the file for the lines of its refusals, and who knows the secrets.

    ``is_trial`` says that all will be undone, ``sees_addresses`` that who brings the file may see whole recipients.
    ``kept`` gathers the names of secrets that nobody has given and that stay
    as they are stored; ``routed`` the channels whose choice of the provider differs from before.
    """

    project: Project
    document: Document
    find_secret: Finder
    is_trial: bool
    sees_addresses: bool
    kept: list[str] = field(default_factory=list)
    routed: list[Channel] = field(default_factory=list)

    def refuse(self, path: Path, sentence: str) -> UserError:
        return self.document.refusal(Fault(path, sentence))

    @contextmanager
    def judging(self, path: Path) -> Iterator[None]:
        """Turn what fields, adapters and services refuse into the refusal of the file, with path and line."""
        try:
            yield
        except FileRefused:
            raise
        except SettingsInvalid as error:
            faults = (Fault((*path, "settings", name), f"{text}.") for name, text in error.errors.items())
            raise self.document.refusal(*faults) from None
        except ValidationError as error:
            by_name = error.message_dict if hasattr(error, "error_dict") else {"": error.messages}
            faults = (Fault((*path, name) if name else path, texts[0]) for name, texts in by_name.items())
            raise self.document.refusal(*faults) from None
        except DecryptionFailed:
            raise self.refuse(
                path, _("its stored secrets cannot be read with the current encryption keys. Provide them again.")
            ) from None
        except UserError as error:
            raise self.refuse(path, str(error)) from None

    def secret(self, path: Path, reference: Mapping[str, str], *, is_stored: bool) -> str | None:
        """Return the text of a secret; None where the stored one stays."""
        name = reference[sections.SECRET]
        text = self.find_secret(name)
        if text:
            return text
        if not is_stored:
            raise self.refuse(path, _("the secret {name} was not provided, and none is stored.").format(name=name))
        self.kept.append(name)
        return None


def apply_settings(context: ApplyContext, wanted: Mapping[str, Any], path: Path) -> None:
    project, changed = context.project, []
    for name, value in wanted.items():
        setting = sections.SETTINGS[name]
        with context.judging((*path, name)):
            if isinstance(setting, models.BinaryField):
                is_changed = _apply_secret(context, name, value, (*path, name))
            else:
                is_changed = set_value(project, setting, value)
        if is_changed:
            changed.append(name)
    if not changed:
        return
    kept = {name for name in SECRETS if (wanted.get(name) or {}).get(sections.SECRET) in context.kept}
    found = all_faults(project, {*changed, *(wanted.keys() & set(SECRETS) - kept)})
    if not context.sees_addresses:
        found |= faults_of_opening(project, changed)
    if found:
        if "is_sandbox" in found:
            found["is_sandbox"] = _("{fault} To apply the rest of the file, write is_sandbox: {value}.").format(
                fault=found["is_sandbox"], value=str(not project.is_sandbox).lower()
            )
        faults = (Fault((*path, name) if name in sections.SETTINGS else path, text) for name, text in found.items())
        raise context.document.refusal(*faults)
    project.save(update_fields=changed)


def _apply_secret(context: ApplyContext, name: str, value: Mapping[str, str] | None, path: Path) -> bool:
    project, stored = context.project, getattr(context.project, name)
    if value is None:
        setattr(project, name, None)
        return bool(stored)
    text = context.secret(path, value, is_stored=bool(stored))
    if text is None or text == _readable_secret(project, name):
        return False
    setattr(project, name, seal_secret(project, name, text))
    return True


def _readable_secret(project: Project, name: str) -> str:
    try:
        return secret_of(project, name)
    except DecryptionFailed:
        return ""


def apply_channels(context: ApplyContext, wanted: Mapping[str, Any], path: Path) -> None:
    rows = {row.type: row for row in context.project.channels.all()}
    for name in rows.keys() - wanted.keys():
        rows[name].delete()
    for name, values in wanted.items():
        row = rows.get(name) or Channel(project=context.project, type=name)
        with context.judging((*path, name)):
            changed = change_row(row, sections.CHANNEL, values)
        if "daily_budget" in changed:
            with context.judging((*path, name, "daily_budget")):
                require_budget_below_ceiling(row.daily_budget)
        save_changes(row, changed)
        if "routing" in changed:
            context.routed.append(row)


def apply_fallback(context: ApplyContext, wanted: list[dict[str, Any]], path: Path) -> None:
    rows = list(context.project.fallback_steps.all())
    if [{name: getattr(row, name) for name in sections.STEP} for row in rows] == wanted:
        return
    channels = [step["channel"] for step in wanted]
    for position, channel in enumerate(channels):
        if channel in channels[:position]:
            raise context.refuse((*path, position, "channel"), _("{channel} appears twice.").format(channel=channel))
    by_channel = {row.channel: row for row in rows}
    for channel in by_channel.keys() - set(channels):
        by_channel[channel].delete()
    for position, values in enumerate(wanted):
        row = by_channel.get(values["channel"]) or FallbackStep(project=context.project, channel=values["channel"])
        with context.judging((*path, position)):
            changed = change_row(row, sections.STEP, values)
        if row.position != position:
            row.position = position
            changed.append("position")
        save_changes(row, changed)


def apply_texts(context: ApplyContext, wanted: Mapping[str, Any], path: Path) -> None:
    project = context.project
    rows = {(row.channel, row.language): row for row in project.templates.all()}
    given: dict[tuple[str, str], Path] = {}
    for channel, languages in wanted.items():
        for language in languages:
            at = (*path, channel, language)
            with context.judging(at):
                key = channel, own.canonical_language(clean_language(language))
            if key in given:
                raise context.refuse(at, _("the language {key} appears twice.").format(key=key[1]))
            given[key] = at
    for key in rows.keys() - given.keys():
        with context.judging((*path, key[0])):
            own.require_changeable(project, *key)
        rows[key].delete()
    for key, at in given.items():
        values = wanted[key[0]][at[-1]]
        row = rows.get(key)
        if row is None:
            row = MessageTemplate(project=project, channel=key[0], language=key[1])
            with context.judging(at):
                own.require_room(project)
        with context.judging(at):
            changed = change_row(row, sections.TEXT, values)
            if changed:
                own.require_changeable(project, *key)
        if changed:
            faults = own.faults(project=project, channel=row.channel, text=row.text, subject=row.subject)
            if faults:
                raise context.document.refusal(*(Fault((*at, "text"), sentence) for sentence in faults))
        save_changes(row, changed)


def apply_hosted_page(context: ApplyContext, wanted: Mapping[str, Any], path: Path) -> None:
    """Bring the page's settings. One that is switched on gets a key of its own."""
    page = hosted_page.page_of(context.project)
    changed = {name: value for name, value in wanted.items() if getattr(page, name) != value}
    if changed:
        with context.judging(path):
            hosted_page.save(context.project, changed)


def apply_lists(context: ApplyContext, wanted: Mapping[str, Any], path: Path) -> None:
    """Bring the lists that are given. Entries about recipients, which no file holds, stay."""
    for kind, subjects in wanted.items():
        rows = {
            (row.subject, row.value): row
            for row in context.project.list_entries.live().filter(kind=kind)
            if row.subject in sections.SUBJECTS[kind]  # type: ignore[index]  # the values of the enumeration
        }
        given: dict[tuple[str, str], tuple[Path, Any]] = {}
        for subject, entries in subjects.items():
            for value, more in entries.items():
                at = (*path, kind, subject, value)
                with context.judging(at):
                    key = subject, clean_value(kind, subject, value)
                if key in given:
                    raise context.refuse(at, _("{key} appears twice.").format(key=key[1]))
                given[key] = at, more or {}
        for key in rows.keys() - given.keys():
            rows[key].delete()
        new = []
        for key, (at, values) in given.items():
            entry = _entry(context, kind, key, values, rows.get(key), at)
            if entry is not None:
                new.append(entry)
        with context.judging((*path, kind)):
            add_new_entries(context.project, new)


def _entry(
    context: ApplyContext,
    kind: str,
    key: tuple[str, str],
    values: Mapping[str, Any],
    row: ListEntry | None,
    path: Path,
) -> ListEntry | None:
    """Bring an entry that is there already; return one that is new.

    One whose end is past is passed over, so that a file can be applied again later.
    """
    wanted = {"note": values.get("note", ""), "expires_at": None}
    if (text := values.get("expires_at")) is not None:
        with context.judging((*path, "expires_at")):
            wanted["expires_at"] = _time(text)
    is_past = wanted["expires_at"] is not None and wanted["expires_at"] <= timezone.now()
    if row is None:
        new = ListEntry(project=context.project, kind=kind, subject=key[0], value=key[1], **wanted)
        return None if is_past else new
    if is_past:
        row.delete()
        return None
    with context.judging(path):
        changed = change_row(row, sections.ENTRY, wanted)
    save_changes(row, changed)
    return None


def _time(text: str) -> Any:
    """Read a time as files write it. Raises :class:`UserError`."""
    try:
        found = parse_datetime(text)
    except ValueError:
        found = None
    if found is None or found.tzinfo is None:
        raise UserError(_("enter a time with a time zone, such as 2027-01-31T12:00:00Z."))
    return clean_expiry(found).astimezone(UTC)
