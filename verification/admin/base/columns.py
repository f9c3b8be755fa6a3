"""Columns and readonly fields that several pages and inlines have."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.db.models import Q, QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from providers import registry
from verification.admin.base.display import column, format_channel, format_error, format_language, label
from verification.core.formats import grouped
from verification.models import ApiKey, KeyState
from verification.services.projects import hosted_page


class ChannelColumn:
    channel_label = column("channel", gettext_lazy("Channel"), format_channel, ordering="channel")


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


class KeyColumns:
    """The kind of a key, with a mark where the hosted page uses it, and the way to rotate any other."""

    def get_queryset(self, request: HttpRequest) -> QuerySet[ApiKey]:
        rows: QuerySet[ApiKey] = super().get_queryset(request)  # type: ignore[misc]  # of the page it is mixed into
        return rows.annotate(is_of_hosted_page=Q(pk__in=hosted_page.keys_in_use()))

    @admin.display(description=gettext_lazy("Kind"), ordering="kind")
    def kind_label(self, key: Any) -> str:
        kind: str = key.get_kind_display()
        if not key.is_of_hosted_page:
            return kind
        return format_html("{} {}", kind, label(_("Used by the hosted page"), "info"))

    @admin.display(description=gettext_lazy("Rotate"))
    def rotate_link(self, key: Any) -> str:
        if key.is_of_hosted_page or key.state is not KeyState.LIVE:
            return "–"
        address = reverse("admin:verification_apikey_rotate", args=(key.pk,))
        return format_html('<a class="ww-link" href="{}">{}</a>', address, _("Rotate"))


class CreatedColumn:
    created_time = column("created_at", gettext_lazy("Created"))


class ErrorColumn:
    @admin.display(description=gettext_lazy("Error"))
    def error_text(self, row: Any) -> str:
        return format_error(row.error)


class LatencyColumn:
    @admin.display(description=gettext_lazy("Duration"))
    def latency(self, row: Any) -> str:
        return _("{number} ms").format(number=grouped(row.latency_ms))
