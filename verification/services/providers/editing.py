"""Changing and removing a provider that exists."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.db import transaction
from django.utils.translation import gettext as _

from providers import registry
from providers.base import SettingKind
from verification.core import crypto
from verification.core.crypto import encrypt
from verification.core.errors import UserError
from verification.core.formats import grouped
from verification.core.ids import generate_hook_secret
from verification.models import DeliveryAttempt, Message, Provider
from verification.models.audit import change_row, fields_of, save_changes
from verification.services.providers import capacity
from verification.services.providers.accounts import hook_url, is_known, require_free_name, store_settings

# Attempts of a provider that one transaction unlinks: some seconds of the database's work, for which receipts wait.
MOST_ATTEMPTS = 50_000
BATCH = 1_000  # attempts that are unlinked in one transaction, where there are more

FIELDS = fields_of(Provider, "project", "channel", "type", "name", "settings")


@transaction.atomic
def change_provider(row: Provider, values: Mapping[str, Any], settings: Mapping[str, Any]) -> bool:
    """Set the name or fields of a provider, and settings of its adapter, and save what differs.

    Settings that are not named stay; one that is None is taken away. Return whether anything differed. Raises
    :class:`UserError`, ``ValidationError``, :class:`providers.errors.SettingsInvalid` and
    :class:`verification.core.crypto.DecryptionFailed`.
    """
    name = Provider._meta.get_field("name")
    changed = change_row(row, {**FIELDS, "name": name}, values)
    if "name" in changed:
        require_free_name(row)
    if settings and _differ(row, settings):
        changed += _store(row, settings)
        capacity.require_connections(row)
    save_changes(row, changed)
    return bool(changed)


def renew_hook(row: Provider) -> str:
    """Give a provider another webhook address, and return it. Calls to the former one are refused from now on."""
    row.hook_secret = encrypt(generate_hook_secret(), binding=crypto.provider_hook_binding(row.uuid))
    row.save(update_fields=["hook_secret"])
    return hook_url(row)


def remove_provider(row: Provider, *, is_trial: bool = False) -> None:
    """Delete a provider with what belongs to it; its messages stay.

    In a trial, which is undone, the row alone goes. Raises :class:`UserError` for one that carried too many messages.
    """
    if why := why_not_deletable(row):
        raise UserError(why)
    if is_trial:
        Provider.objects.filter(pk=row.pk)._raw_delete("default")  # undone before any foreign key is looked at
    else:
        row.delete()


def why_not_deletable(row: Provider) -> str:
    """Return why one transaction cannot delete a provider, and what can; empty where it can."""
    if DeliveryAttempt.objects.filter(provider=row).order_by()[: MOST_ATTEMPTS + 1].count() <= MOST_ATTEMPTS:
        return ""
    return _(
        "{row} sent more than {most_attempts} messages that are still stored. Turn it off for now. The"
        " operator can remove it in batches with manage.py provider remove {row2} --yes."
    ).format(row=row.name, most_attempts=grouped(MOST_ATTEMPTS), row2=row.pk)


def release(row: Provider) -> None:
    """Disable a provider and unlink it from its messages, in batches, each a transaction of its own.

    Receipts and workers then wait for one batch at the most.
    """
    Provider.objects.filter(pk=row.pk).update(is_enabled=False)
    while _release_batch(row):
        pass


@transaction.atomic
def _release_batch(row: Provider) -> bool:
    """Return whether there was one. Messages are locked before their attempts, as everywhere."""
    found = dict(DeliveryAttempt.objects.filter(provider=row).order_by().values_list("pk", "message")[:BATCH])
    messages = Message.objects.filter(pk__in=set(found.values()), provider=row).order_by("pk")
    keys = list(messages.select_for_update(no_key=True).values_list("pk", flat=True))
    Message.objects.filter(pk__in=keys, provider=row).update(provider=None)
    DeliveryAttempt.objects.filter(pk__in=found).update(provider=None)
    return bool(found)


def _store(row: Provider, settings: Mapping[str, Any]) -> list[str]:
    """Put settings on the row beside those that stay. Return the columns that differ."""
    columns = ("settings", "secrets", "hook_secret", "checked_at")
    before = {column: getattr(row, column) for column in columns}
    declared = {setting.name for setting in registry.adapter_class(row.type).declared}
    kept = {name: value for name, value in row.settings.items() if name in declared}
    store_settings(row, {**kept, **settings})
    return [column for column in columns if getattr(row, column) != before[column]]


def _differ(row: Provider, settings: Mapping[str, Any]) -> bool:
    """Return True if any setting may differ. Secrets can only be compared when they are stored.

    Raises :class:`UserError` for a type that is not run here.
    """
    if not is_known(row.type):
        raise UserError(
            _("This installation has no provider type {type!r}, so its settings cannot be changed.").format(
                type=row.type
            )
        )
    plain = {
        setting.name: row.settings.get(setting.name, setting.default)
        for setting in registry.adapter_class(row.type).declared
        if setting.kind is not SettingKind.SECRET
    }
    return any(name not in plain or plain[name] != value for name, value in settings.items())
