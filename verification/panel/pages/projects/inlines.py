"""What a project's page lists of other pages: its channels, its own providers, its keys. Each line leads there."""

from __future__ import annotations

from django.contrib import admin

from verification.models import ApiKey, Channel, Provider, Right
from verification.panel.frame.display import channel as show_channel
from verification.panel.frame.display import flag_of, monospace, page_link, time_of
from verification.panel.frame.scoping import ScopedInline
from verification.services.projects.ceilings import lower_budget, platform


class ChannelInline(ScopedInline):
    model = Channel
    fields = readonly_fields = ("display_name", "shown_type", "active", "position", "budget")
    tab = True

    active = flag_of("is_active", "Active")

    @admin.display(description="Daily budget")
    def budget(self, channel: Channel) -> str:
        budget = lower_budget(channel.effective_budget, platform().max_daily_budget)
        return "No limit" if budget is None else f"{budget:,} messages"

    @admin.display(description="Channel")
    def shown_type(self, channel: Channel) -> str:
        return show_channel(channel.type)

    @admin.display(description="Name")
    def display_name(self, channel: Channel) -> str:
        return page_link(channel.display_name, channel)


class ProviderInline(ScopedInline):
    model = Provider
    fields = readonly_fields = ("link", "shown_channel", "type", "enabled", "priority")
    verbose_name_plural = "own providers"
    tab = True
    enabled = flag_of("is_enabled", "Enabled")

    @admin.display(description="Name")
    def link(self, provider: Provider) -> str:
        return page_link(provider.name, provider)

    @admin.display(description="Channel")
    def shown_channel(self, provider: Provider) -> str:
        return show_channel(provider.channel)


class KeyInline(ScopedInline):
    model = ApiKey
    viewers = Right.USE_KEYS
    fields = readonly_fields = ("shown_prefix", "kind", "created", "expires", "last_used", "revoked")
    tab = True

    created = time_of("created_at", "Created")
    expires = time_of("expires_at", "Expires")
    last_used = time_of("last_used_at", "Last used")
    revoked = time_of("revoked_at", "Revoked")

    @admin.display(description="Key")
    def shown_prefix(self, key: ApiKey) -> str:
        return page_link(monospace(key), key)
