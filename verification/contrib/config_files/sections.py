"""The parts of a set-up: the fields of each row that a file holds, as the models declare them.

A field that is declared later is in the files by itself. Keys, people, test logins, and recipients on lists never are;
neither is the project's switch, which is the operator's.
"""

from __future__ import annotations

from typing import Any

from django.apps import apps

from providers.base import Adapter, SettingKind
from verification.models import (
    AlertService,
    AlertServiceKind,
    Channel,
    ChannelType,
    FallbackStep,
    HostedPage,
    ListEntry,
    ListKind,
    ListSubject,
    MessageTemplate,
    Project,
    SenderRule,
)
from verification.models.audit import Field, fields_of
from verification.models.project_settings import SETTABLE_GROUPS
from verification.services.projects import hosted_page
from verification.services.projects.lists import SAFE_SUBJECTS
from verification.services.providers.editing import FIELDS as PROVIDER_FIELDS
from verification.services.texts.own import VENDOR_WORDED

FORMAT = 1  # the version of the format; another number is a file for another Watchword
NOT_SETTINGS = ("name", "is_enabled")  # the first is the file's key of a project, the second a switch
ADDRESS = "address"  # of an alert service: its address or token, which is a secret
ALERT_KINDS = tuple(AlertServiceKind.values)
SECRET = "secret"  # noqa: S105  (the key of a reference to a secret)

SETTINGS_BY_GROUP: dict[str, dict[str, Field]] = {
    title: {
        field.name: field
        for field in Project._meta.concrete_fields
        if field.name in names
        if field.name not in NOT_SETTINGS
    }
    for title, names in SETTABLE_GROUPS.items()
}
SETTINGS = {name: field for fields in SETTINGS_BY_GROUP.values() for name, field in fields.items()}
CHANNEL = fields_of(Channel, "project", "type")
PROVIDER = PROVIDER_FIELDS
SENDER = fields_of(SenderRule, "provider", "prefix")
STEP = fields_of(FallbackStep, "project", "position")
TEXT = fields_of(MessageTemplate, "project", "channel", "language")
ALERT_SERVICE = fields_of(AlertService, "project", "kind", "name")
# A logo is a picture, and stands in no file.
HOSTED_PAGE = {name: field for name, field in fields_of(HostedPage, "project").items() if name in hosted_page.SETTABLE}
ENTRY = fields_of(ListEntry, "project", "kind", "subject", "value", "created_at")

WITH_SENDERS = (ChannelType.SMS, ChannelType.VOICE)  # elsewhere the account is the sender
WITH_TEXTS = tuple(value for value in ChannelType.values if value not in VENDOR_WORDED)
FALLBACK_CHANNELS = tuple(value for value, _ in ChannelType.phone_choices())
SUBJECTS = {  # of each list, the kinds of entries that a file holds: no recipients, who are people
    ListKind.BLOCK: tuple(value for value in ListSubject.values if value != ListSubject.RECIPIENT),
    ListKind.SAFE: tuple(value for value in SAFE_SUBJECTS if value != ListSubject.RECIPIENT),
}


def has_hosted_pages() -> bool:
    """Return whether this installation serves hosted pages: their app may be left out."""
    return apps.is_installed("verification.contrib.hosted")


def parts_of_apps() -> dict[str, Any]:
    """Return the parts that installed apps add, by name: each with ``schema``, ``export`` and ``apply``."""
    configs: list[Any] = [config for config in apps.get_app_configs() if hasattr(config, "set_up_part")]
    return {config.set_up_part: config.set_up() for config in configs}


def secrets_of(adapter: type[Adapter]) -> tuple[str, ...]:
    """Return the names of the settings that are secret."""
    return tuple(setting.name for setting in adapter.declared if setting.kind is SettingKind.SECRET)
