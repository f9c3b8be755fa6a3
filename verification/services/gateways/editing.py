"""Changing and removing a provider that exists."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.db import transaction

from providers import registry
from providers.base import SettingKind
from verification.errors import Misuse
from verification.models import Provider
from verification.models.changes import change_row, fields_of, save_changes
from verification.services.gateways import room
from verification.services.gateways.accounts import is_known, require_free_name, store_settings

FIELDS = fields_of(Provider, "project", "channel", "type", "name", "settings")


@transaction.atomic
def change_provider(row: Provider, values: Mapping[str, Any], settings: Mapping[str, Any]) -> bool:
    """Set the name or fields of a provider, and settings of its adapter, and save what differs.

    Settings that are not named stay; one that is None is taken away. Return whether anything differed. Raises
    :class:`Misuse`, ``ValidationError``, :class:`providers.errors.SettingsInvalid` and
    :class:`verification.crypto.DecryptionFailed`.
    """
    name = Provider._meta.get_field("name")
    changed = change_row(row, {**FIELDS, "name": name}, values)
    if "name" in changed:
        require_free_name(row)
    if settings and _differ(row, settings):
        changed += _store(row, settings)
        room.require_connections(row)
    save_changes(row, changed)
    return bool(changed)


def remove_provider(row: Provider, *, is_trial: bool = False) -> None:
    """Delete a provider with what belongs to it; its messages stay.

    In a trial, which is undone, the row alone goes: the messages that name it may be millions.
    """
    if is_trial:
        Provider.objects.filter(pk=row.pk)._raw_delete("default")  # undone before any foreign key is looked at
    else:
        row.delete()


def _store(row: Provider, settings: Mapping[str, Any]) -> list[str]:
    """Put settings on the row beside those that stay. Return the columns that differ."""
    columns = ("settings", "secrets", "hook_secret")
    before = {column: getattr(row, column) for column in columns}
    declared = {setting.name for setting in registry.adapter_class(row.type).declared}
    kept = {name: value for name, value in row.settings.items() if name in declared}
    store_settings(row, {**kept, **settings})
    return [column for column in columns if getattr(row, column) != before[column]]


def _differ(row: Provider, settings: Mapping[str, Any]) -> bool:
    """Return whether settings may not be the stored ones. Of secrets only their storing tells.

    Raises :class:`Misuse` for a type that is not run here.
    """
    if not is_known(row.type):
        raise Misuse(f"This installation has no provider type {row.type!r}, so its settings cannot be changed.")
    plain = {
        setting.name: row.settings.get(setting.name, setting.default)
        for setting in registry.adapter_class(row.type).declared
        if setting.kind is not SettingKind.SECRET
    }
    return any(name not in plain or plain[name] != value for name, value in settings.items())
