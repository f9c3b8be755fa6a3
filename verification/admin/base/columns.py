"""Columns and readonly fields that several pages and inlines have."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from verification.admin.base.display import format_channel, format_error, time_label
from verification.core.formats import grouped


class ChannelColumn:
    @admin.display(description=gettext_lazy("Channel"), ordering="channel")
    def channel_label(self, row: Any) -> str:
        return format_channel(row.channel)


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
