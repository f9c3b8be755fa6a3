"""The accounts that messages go out over: their settings, their secrets, the adapter that is made of them."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from typing import Any

from django.conf import settings
from django.db import transaction
from django.utils.text import capfirst
from django.utils.translation import gettext as _

from providers import registry
from providers.base import Adapter, Health, SettingKind
from providers.errors import ProviderError, SettingsInvalid
from verification import sql
from verification.core import crypto
from verification.core.bulkhead import BulkheadFull, bulkhead
from verification.core.crypto import DecryptionFailed, decrypt, encrypt
from verification.core.errors import UserError
from verification.core.ids import generate_hook_secret
from verification.models import Channel, ChannelType, Project, Provider
from verification.models.channels import DEFAULT_PRIORITY
from verification.models.fields import NameField
from verification.services.projects.ceilings import require_budget_below_ceiling
from verification.services.projects.settings import ENTER_AGAIN, server_of
from verification.services.providers import capacity
from verification.services.providers.http_client import http_client
from verification.services.providers.store import ProviderStore

log = logging.getLogger(__name__)


def reports_back(adapter: type[Adapter]) -> bool:
    """True where the service calls us, and so has to be told the provider's :func:`hook_url`."""
    return adapter.parse_hook is not Adapter.parse_hook


def is_known(provider_type: str) -> bool:
    """Return whether this installation runs the adapter. A provider of any other type is left alone."""
    try:
        registry.adapter_class(provider_type)
    except registry.UnknownAdapter:
        return False
    return True


def add_provider(
    *,
    project: Project | None,
    channel: str,
    provider_type: str,
    name: str,
    values: Mapping[str, object],
    priority: int = DEFAULT_PRIORITY,
    daily_budget: int | None = None,
) -> Provider:
    """Connect an account: a project's, whose channel is made if it lacks it, or the system's. ``daily_budget`` becomes
    that of the channel, which otherwise keeps its own.

    Raises :class:`UserError` with one sentence, :class:`providers.errors.SettingsInvalid` by setting.
    """
    if channel not in ChannelType.values:
        raise UserError(
            _("There is no channel {channel!r}. Channels: {names}.").format(
                channel=channel, names=", ".join(ChannelType.values)
            )
        )
    try:
        adapter = registry.adapter_class(provider_type)
    except registry.AdapterShowsCodes as error:
        raise UserError(str(error)) from None
    except registry.UnknownAdapter:
        types = ", ".join(registry.all_types())
        raise UserError(
            _("There is no provider type {provider_type!r}. Types: {types}.").format(
                provider_type=provider_type, types=types
            )
        ) from None
    if channel not in adapter.channels:
        raise UserError(
            _("A provider of type {provider_type} does not serve the channel {channel}.").format(
                provider_type=provider_type, channel=channel
            )
        )
    most = Provider._meta.get_field("name").max_length or 0
    name = NameField.clean_text(name)
    if not 1 <= len(name) <= most:
        raise UserError(_("A provider's name must have 1 to {most} characters.").format(most=most))
    provider = Provider(project=project, channel=channel, type=provider_type, name=name, priority=priority)
    store_settings(provider, values)
    with transaction.atomic():
        capacity.require_room(project, channel, provider_type)
        capacity.require_connections(provider)
        require_free_name(provider)
        provider.save()
        ensure_channel(provider)
        if project is not None and daily_budget is not None:
            require_budget_below_ceiling(daily_budget)
            Channel.objects.filter(project=project, type=channel).update(daily_budget=daily_budget)
    return provider


MAX_POSITION = 32_767  # that a PositiveSmallIntegerField holds


def ensure_channel(provider: Provider) -> Channel | None:
    """Make the channel that a project's new provider serves. None where the project has it, and for the system's."""
    if provider.project is None:
        return None
    place = {"position": last_position(provider.project)}
    channel, is_new = Channel.objects.get_or_create(project=provider.project, type=provider.channel, defaults=place)
    return channel if is_new else None


def last_position(project: Project) -> int:
    """Return the position of a new channel: after all others of the project."""
    positions = Channel.objects.filter(project=project).values_list("position", flat=True)
    return min(max(positions, default=-1) + 1, MAX_POSITION)


def require_free_name(provider: Provider) -> None:
    """Raises :class:`UserError` where another account of the same project, or of the system, and channel has the name.

    Logs, lists and attempts tell accounts apart by their names.
    """
    others = Provider.objects.filter(project=provider.project, channel=provider.channel).exclude(pk=provider.pk)
    if others.filter(name__iexact=provider.name.strip()).exists():
        raise UserError(
            _("This channel already has a provider named {provider!r}. Choose another name.").format(
                provider=provider.name.strip()
            )
        )


def store_settings(provider: Provider, values: Mapping[str, object]) -> None:
    """Check the settings and put them on the (unsaved) row, the secret ones encrypted.

    A secret that is left empty keeps its stored value, but not for another server: whoever may change the address would
    else have the secret sent to one of their own. Secrets that no key opens are replaced by those that are given, and
    stay while none is. A row whose hook has no secret, or an unreadable one, gets a new one.

    Raises :class:`providers.errors.SettingsInvalid` and :class:`verification.core.crypto.DecryptionFailed`.
    """
    before = provider.settings
    stored = _secrets_before(provider, values)
    given = {name: value for name, value in values.items() if not (value == "" and name in stored)}
    cleaned = registry.clean_settings(provider.type, {**stored, **given}, settings.OUTBOUND_ALLOWED_NETWORKS)
    plain, secret = registry.split_secrets(provider.type, cleaned)
    kept = [name for name, value in stored.items() if value and name not in given]
    if kept and _servers(provider.type, plain) != _servers(provider.type, provider.settings):
        raise SettingsInvalid(dict.fromkeys(kept, str(ENTER_AGAIN)))
    provider.settings = plain
    if secret != stored or plain != before:
        provider.checked_at = None  # the last check was of other settings
    if secret != stored or not provider.secrets:  # each encryption is another text, and the audit log notes a change
        binding = crypto.provider_secrets_binding(provider.uuid)
        provider.secrets = encrypt(json.dumps(secret), binding=binding) if secret else None
    if not _has_hook_secret(provider):
        provider.hook_secret = encrypt(generate_hook_secret(), binding=crypto.provider_hook_binding(provider.uuid))


def _secrets_before(provider: Provider, values: Mapping[str, object]) -> dict[str, Any]:
    """Return the stored secrets; none where they cannot be read and others are given in their place."""
    declared = registry.adapter_class(provider.type).declared
    try:
        return stored_secrets(provider)
    except DecryptionFailed:
        if not any(values.get(setting.name) for setting in declared if setting.kind is SettingKind.SECRET):
            raise
        return {}


def _servers(provider_type: str, values: Mapping[str, Any]) -> list[str]:
    """Return the servers that an account's secrets go to."""
    servers = []
    for setting in registry.adapter_class(provider_type).declared:
        if setting.kind in (SettingKind.URL, SettingKind.HOST) or setting.is_of_server:
            servers.append(server_of(values.get(setting.name, setting.default)))
    return servers


def stored_secrets(provider: Provider) -> dict[str, Any]:
    if not provider.secrets:
        return {}
    stored: dict[str, Any] = json.loads(
        decrypt(bytes(provider.secrets), binding=crypto.provider_secrets_binding(provider.uuid))
    )
    return stored


def hook_url(provider: Provider) -> str:
    """Return the address for the provider's reports. The path holds a secret, as not every service signs its calls.

    Raises :class:`verification.core.crypto.DecryptionFailed`.
    """
    return f"{settings.BASE_URL}/hooks/{provider.uuid}/{hook_secret_of(provider)}"


def _has_hook_secret(provider: Provider) -> bool:
    try:
        return bool(hook_secret_of(provider))
    except DecryptionFailed:
        return False


def hook_secret_of(provider: Provider) -> str:
    """Raises :class:`verification.core.crypto.DecryptionFailed`."""
    return decrypt(bytes(provider.hook_secret), binding=crypto.provider_hook_binding(provider.uuid))


def check_provider(provider: Provider) -> Health:
    """Ask the provider whether its settings work, and note when it said so; nothing is sent. Never raises."""
    try:
        adapter = adapter_of(provider)
        with bulkhead(provider.project_id):
            health = adapter.check()
    except BulkheadFull as full:
        return Health(False, _("Not checked. {detail}").format(detail=full.detail))
    except ProviderError as error:
        return Health(False, error.sentence)
    except SettingsInvalid as error:
        return Health(False, f"{capfirst(str(error)).rstrip('.')}.")
    except registry.AdapterShowsCodes as error:
        return Health(False, str(error))
    except registry.UnknownAdapter:
        return Health(False, _("This installation has no adapter {type!r}.").format(type=provider.type))
    except DecryptionFailed:
        return Health(False, _("Its secrets cannot be decrypted. Is a key missing from ENCRYPTION_KEYS?"))
    if health.is_ok and health.is_sure:
        Provider.objects.filter(pk=provider.pk).update(checked_at=sql.now())
    return health


def reset_breaker(provider: Provider) -> bool:
    """End a provider's time aside before its time. False if it was not set aside."""
    is_closed: bool = sql.value("note_provider_success", provider=provider.pk)
    return is_closed


def adapter_of(row: Provider) -> Adapter:
    return registry.build(
        row.type, {**row.settings, **stored_secrets(row)}, http=http_client(), store=ProviderStore(row.pk)
    )


SANDBOX_NAME = "Sandbox"
SANDBOX_PRIORITY = 900  # after whatever shows messages to a developer
SANDBOX_BOT_CHANNEL = ChannelType.MESSENGER_A  # the channel on which users start a bot first


def add_sandbox(project: Project) -> None:
    """Connect the sandbox on every channel. Raises :class:`verification.core.errors.UserError` for a live project."""
    for channel in ChannelType.values:
        provider_type = "sandbox_bot" if channel == SANDBOX_BOT_CHANNEL else "sandbox"
        add_provider(
            project=project,
            channel=channel,
            provider_type=provider_type,
            name=SANDBOX_NAME,
            values={},
            priority=SANDBOX_PRIORITY,
        )
