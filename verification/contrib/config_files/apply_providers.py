"""Bringing a project's providers, with their settings, secrets and senders, to what a file says."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from typing import Any

from django.utils.translation import gettext as _

from providers import registry
from verification.contrib.config_files import sections
from verification.contrib.config_files.apply import ApplyContext
from verification.contrib.config_files.load import Path
from verification.core.crypto import DecryptionFailed
from verification.core.errors import UserError
from verification.models import Provider, SenderRule
from verification.models.audit import change_row, save_changes
from verification.models.bounds import MAX_SENDERS
from verification.models.fields import clean_prefix
from verification.services.providers import price_lists
from verification.services.providers.accounts import add_provider, stored_secrets
from verification.services.providers.editing import change_provider, remove_provider
from verification.services.providers.price_lists import PriceLine


def apply_providers(context: ApplyContext, wanted: Mapping[str, Any], path: Path) -> None:
    """Bring the providers. Those that the file lacks go first, as they may take the places of new ones."""
    rows = {(row.channel, row.name.lower()): row for row in context.project.providers.all()}
    given: dict[tuple[str, str], Path] = {}
    for channel, names in wanted.items():
        for name in names:
            at = (*path, channel, name)
            key = channel, name.strip().lower()
            if key in given:
                raise context.refuse(at, _("another provider of the channel has this name."))
            given[key] = at
    for key in rows.keys() - given.keys():
        with context.judging((*path, key[0], rows[key].name)):
            remove_provider(rows[key], is_trial=context.is_trial)
    for key, at in given.items():
        values = wanted[key[0]][at[-1]]
        with context.judging(at):
            row = rows.get(key)
            row = _add(context, values, at) if row is None else _change(context, row, values, at)
        if "prices" in values:
            _apply_prices(context, row, values["prices"], (*at, "prices"))
        if "senders" in values:
            _apply_senders(context, row, values["senders"], (*at, "senders"))


def _add(context: ApplyContext, values: Mapping[str, Any], path: Path) -> Provider:
    settings = _settings(context, None, values, path)
    row = add_provider(
        project=context.project,
        channel=str(path[-2]),
        provider_type=values["type"],
        name=str(path[-1]).strip(),
        values=settings,
    )
    save_changes(row, change_row(row, sections.PROVIDER, _fields(values)))
    return row


def _change(context: ApplyContext, row: Provider, values: Mapping[str, Any], path: Path) -> Provider:
    if row.type != values["type"]:
        raise context.refuse(
            (*path, "type"),
            _("the provider has the type {type}. Use another name for another type.").format(type=row.type),
        )
    fields = {**_fields(values), "name": str(path[-1]).strip()}
    change_provider(row, fields, _settings(context, row, values, path))
    return row


def _fields(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if name in sections.PROVIDER}


def _settings(context: ApplyContext, row: Provider | None, values: Mapping[str, Any], path: Path) -> dict[str, Any]:
    """Return the settings that the file names, with the secrets that were given. Those that stay are left out."""
    names = sections.secrets_of(registry.adapter_class(values["type"]))
    stored = _stored(row)
    found: dict[str, Any] = {}
    for name, value in values.get("settings", {}).items():
        if name not in names or value is None:
            found[name] = value
            continue
        text = context.secret((*path, "settings", name), value, is_stored=bool(stored is None or stored.get(name)))
        if text is not None:
            found[name] = text
    return found


def _stored(row: Provider | None) -> dict[str, Any] | None:
    """Return the stored secrets; None where there are some that no key opens."""
    if row is None:
        return {}
    try:
        return stored_secrets(row)
    except DecryptionFailed:
        return None


def _apply_prices(context: ApplyContext, provider: Provider, wanted: Mapping[str, str], path: Path) -> None:
    """Put the list of the file in the place of the provider's, if they differ."""
    given: dict[tuple[str, date], PriceLine] = {}
    for key, value in wanted.items():
        at = (*path, key)
        with context.judging(at):
            line = price_lists.read_entry(key, value)
        if (line.place, line.valid_from) in given:
            raise context.refuse(at, _("{to} appears twice for the same day.").format(to=line.to))
        given[line.place, line.valid_from] = line
    if price_lists.difference(price_lists.lines_of(provider), given.values()).is_empty:
        return
    with context.judging(path):
        number = Provider.objects.values_list("price_list", flat=True).get(pk=provider.pk)
        price_lists.replace(provider, given.values(), number=number)


def _apply_senders(context: ApplyContext, provider: Provider, wanted: Mapping[str, Any], path: Path) -> None:
    if len(wanted) > MAX_SENDERS:
        raise context.refuse(
            path, _("a provider can have at most {max_senders} senders.").format(max_senders=MAX_SENDERS)
        )
    rows = {row.prefix: row for row in provider.sender_rules.all()}
    given: dict[str, Path] = {}
    for text in wanted:
        at = (*path, text)
        with context.judging(at):
            prefix = clean_prefix(text)
        if prefix in given:
            raise context.refuse(at, _("{prefix} appears twice.").format(prefix=prefix))
        given[prefix] = at
    for prefix in rows.keys() - given.keys():
        rows[prefix].delete()
    for prefix, at in given.items():
        row = rows.get(prefix) or SenderRule(provider=provider, prefix=prefix)
        with context.judging(at):
            changed = change_row(row, sections.SENDER, wanted[str(at[-1])])
            if not any(getattr(row, name) for name in sections.SENDER):
                raise UserError(_("enter a sender or DLT IDs, or remove the line."))
        save_changes(row, changed)
