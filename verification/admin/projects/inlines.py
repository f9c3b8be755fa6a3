"""A project's channels, own providers and keys, as its page lists them. Each line leads to the page of its row."""

from __future__ import annotations

from django.contrib import admin
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from verification.admin.base.display import channel as show_channel
from verification.admin.base.display import flag_of, monospace, page_link, time_of
from verification.admin.base.permissions import ScopedInline
from verification.core.numbers import grouped
from verification.models import ApiKey, Channel, Provider, Right
from verification.services.projects.ceilings import lower_budget, platform


class ChannelInline(ScopedInline):
    model = Channel
    fields = readonly_fields = ("display_name", "shown_type", "active", "position", "budget")
    tab = True

    active = flag_of("is_active", gettext_lazy("Active"))

    @admin.display(description=gettext_lazy("Daily budget"))
    def budget(self, channel: Channel) -> str:
        budget = lower_budget(channel.effective_budget, platform().max_daily_budget)
        return _("No limit") if budget is None else _("{budget} messages").format(budget=grouped(budget))

    @admin.display(description=gettext_lazy("Channel"))
    def shown_type(self, channel: Channel) -> str:
        return show_channel(channel.type)

    @admin.display(description=gettext_lazy("Name"))
    def display_name(self, channel: Channel) -> str:
        return page_link(channel.display_name, channel)


class ProviderInline(ScopedInline):
    model = Provider
    fields = readonly_fields = ("link", "shown_channel", "type", "enabled", "priority")
    verbose_name_plural = gettext_lazy("own providers")
    tab = True
    enabled = flag_of("is_enabled", gettext_lazy("Enabled"))

    @admin.display(description=gettext_lazy("Name"))
    def link(self, provider: Provider) -> str:
        return page_link(provider.name, provider)

    @admin.display(description=gettext_lazy("Channel"))
    def shown_channel(self, provider: Provider) -> str:
        return show_channel(provider.channel)


class KeyInline(ScopedInline):
    model = ApiKey
    viewers = Right.USE_KEYS
    fields = readonly_fields = ("shown_prefix", "kind", "created", "expires", "last_used", "revoked")
    tab = True

    created = time_of("created_at", gettext_lazy("Created"))
    expires = time_of("expires_at", gettext_lazy("Expires"))
    last_used = time_of("last_used_at", gettext_lazy("Last used"))
    revoked = time_of("revoked_at", gettext_lazy("Revoked"))

    @admin.display(description=gettext_lazy("Key"))
    def shown_prefix(self, key: ApiKey) -> str:
        return page_link(monospace(key), key)
