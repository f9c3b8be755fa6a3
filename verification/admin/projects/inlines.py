"""What a project's page lists: its channels, own providers and keys, each with a link, and its order of fall-back."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import admin
from django.db.models import QuerySet
from django.forms.models import BaseInlineFormSet
from django.http import HttpRequest
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from unfold.widgets import UnfoldAdminIntegerFieldWidget, UnfoldAdminSelectWidget

from verification.admin.base.columns import ChannelColumn, KeyColumns, ProviderTypeColumn
from verification.admin.base.current_project import section_address
from verification.admin.base.display import column, format_channel, monospace, page_link, yes_or_no
from verification.admin.base.permissions import ScopedInline
from verification.core.formats import grouped
from verification.models import ApiKey, Channel, ChannelType, FallbackStep, Provider, Right
from verification.models.channels import MAX_FALLBACK_WAIT_SECONDS, MIN_FALLBACK_WAIT_SECONDS
from verification.services.projects.ceilings import lower_budget, platform


class ChannelInline(ScopedInline):
    model = Channel
    fields = readonly_fields = ("display_name", "channel_label", "active", "position", "budget")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        return super().get_queryset(request).select_related("project")  # to whose page each row's form leads back

    active = column("is_active", gettext_lazy("Active"), yes_or_no)

    @admin.display(description=gettext_lazy("Daily message limit"))
    def budget(self, channel: Channel) -> str:
        budget = lower_budget(channel.effective_budget, platform().max_daily_budget)
        return _("No limit") if budget is None else _("{budget} messages").format(budget=grouped(budget))

    channel_label = column("type", gettext_lazy("Channel"), format_channel)

    @admin.display(description=gettext_lazy("Name"))
    def display_name(self, channel: Channel) -> str:
        return page_link(channel.display_name, channel, back=section_address(channel.project, "channels"))


class ProviderInline(ChannelColumn, ProviderTypeColumn, ScopedInline):
    model = Provider
    fields = readonly_fields = ("link", "channel_label", "type_label", "enabled", "priority")
    verbose_name_plural = gettext_lazy("project's providers")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        return super().get_queryset(request).select_related("project")  # to whose page each row's form leads back

    enabled = column("is_enabled", gettext_lazy("Active"), yes_or_no)

    @admin.display(description=gettext_lazy("Name"))
    def link(self, provider: Provider) -> str:
        back = section_address(provider.project, "providers") if provider.project else ""
        return page_link(provider.name, provider, back=back)


class KeyInline(KeyColumns, ScopedInline):
    model = ApiKey
    viewers = Right.USE_KEYS
    fields = readonly_fields = (
        "prefix_link",
        "kind_label",
        "created",
        "expires",
        "last_used",
        "revoked",
        "rotate_link",
    )

    created = column("created_at", gettext_lazy("Created"))
    expires = column("expires_at", gettext_lazy("Expires"))
    last_used = column("last_used_at", gettext_lazy("Last used"))
    revoked = column("revoked_at", gettext_lazy("Revoked"))

    @admin.display(description=gettext_lazy("Key"))
    def prefix_link(self, key: ApiKey) -> str:
        return page_link(monospace(key), key)


class FallbackForm(forms.ModelForm):  # type: ignore[type-arg]  # not generic at run time
    channel = forms.ChoiceField(
        choices=[("", "–"), *ChannelType.phone_choices()],  # an e-mail address has no other way
        widget=UnfoldAdminSelectWidget,
    )
    wait_seconds = forms.IntegerField(
        label=gettext_lazy("Wait (seconds)"),
        help_text=gettext_lazy("How long to wait for a delivery report before the code is sent by the next channel."),
        min_value=MIN_FALLBACK_WAIT_SECONDS,
        max_value=MAX_FALLBACK_WAIT_SECONDS,
        initial=30,
        widget=UnfoldAdminIntegerFieldWidget,
    )


class FallbackFormSet(BaseInlineFormSet):  # type: ignore[type-arg]  # not generic at run time
    def get_form_kwargs(self, index: int | None) -> dict[str, Any]:
        """Place a new channel last."""
        kwargs: dict[str, Any] = super().get_form_kwargs(index)
        if index is None or index >= self.initial_form_count():
            last = max((step.position for step in self.get_queryset()), default=0)
            kwargs["initial"] = {"position": last + 1}
        return kwargs


class FallbackInline(ScopedInline):
    model = FallbackStep
    adders = changers = deleters = Right.CHANGE
    form = FallbackForm
    formset = FallbackFormSet
    fields = ("position", "channel", "wait_seconds")
    add_text = gettext_lazy("Add a step")
    verbose_name: Any = gettext_lazy("step")
    verbose_name_plural: Any = gettext_lazy("fallback order")
    intro: Any = gettext_lazy(
        "If a code is not delivered, the same code is sent by the next channel in this list that has not been"
        " tried, lowest position first. Each line sets how long to wait for the delivery report. If the list"
        " is empty, there is no fallback."
    )
    template_before = "admin/verification/inline_intro.html"
