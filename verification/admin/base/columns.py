"""Columns and readonly fields that several pages and inlines have."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from providers import registry
from verification.admin.base.display import format_channel, format_error, format_language, label, time_label
from verification.core.formats import grouped


class ChannelColumn:
    @admin.display(description=gettext_lazy("Channel"), ordering="channel")
    def channel_label(self, row: Any) -> str:
        return format_channel(row.channel)


class LanguageColumn:
    @admin.display(description=gettext_lazy("Language"))
    def language_label(self, row: Any) -> str:
        return format_language(row.language)


class ProviderTypeColumn:
    @admin.display(description=gettext_lazy("Type"), ordering="type")
    def type_label(self, provider: Any) -> str:
        try:
            return str(registry.adapter_class(provider.type).label)
        except registry.AdapterShowsCodes:
            return label(_("{type}: shows codes, not available here").format(type=provider.type), "danger")
        except registry.UnknownAdapter:
            return label(_("{type}: not installed").format(type=provider.type), "danger")


class CreatedColumn:
    @admin.display(description=gettext_lazy("Created"))
    def created_time(self, row: Any) -> str:
        return time_label(row.created_at)


class ErrorColumn:
    @admin.display(description=gettext_lazy("Error"))
    def error_text(self, row: Any) -> str:
        return format_error(row.error)


class LatencyColumn:
    @admin.display(description=gettext_lazy("Took"))
    def latency(self, row: Any) -> str:
        return _("{number} ms").format(number=grouped(row.latency_ms))
