"""Channels: which ways to a recipient a project offers, in which order and at which cost."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django import forms
from django.contrib import admin
from django.http import HttpRequest
from django.utils.html import format_html

from verification.errors import Misuse
from verification.models import Channel, Provider
from verification.panel.frame.display import channel_icon, label
from verification.panel.frame.page import ScopedAdmin
from verification.panel.frame.paging import ShortList
from verification.panel.frame.scoping import ProjectFilter, Who
from verification.services.projects.ceilings import lower_budget, platform, require_budget_below_ceiling, spent_today


class ChannelForm(forms.ModelForm):  # type: ignore[type-arg]  # not generic at run time
    def clean_daily_budget(self) -> int | None:
        budget: int | None = self.cleaned_data["daily_budget"]
        if "daily_budget" in self.changed_data:
            try:
                require_budget_below_ceiling(budget)
            except Misuse as error:
                raise forms.ValidationError(str(error)) from None
        return budget


class ChannelList(ShortList):
    """Reads what the rows of a page need besides in one statement for each table, not in one for each row."""

    def get_results(self, request: HttpRequest) -> None:
        super().get_results(request)
        rows: Iterable[Any] = self.result_list  # type: ignore[has-type]  # set by the line above
        shown = list(rows)
        projects = {row.project_id for row in shown}
        ordered = list(Provider.objects.serving(projects).in_order())
        ceiling = platform().max_daily_budget
        spent = spent_today(projects)
        for row in shown:
            row.budget_that_holds = lower_budget(row.effective_budget, ceiling)
            row.provider_names = [  # of the system's no more is shown than the API tells
                f"{each.name} (system)" if each.is_system else each.name
                for each in ordered
                if each.channel == row.type and each.project_id in (None, row.project_id)
            ]
            row.spent_today = spent.get((row.project_id, row.type), 0)
        self.result_list = shown


@admin.register(Channel)
class ChannelAdmin(ScopedAdmin):
    adders = changers = deleters = Who.MEMBERS
    form = ChannelForm
    list_before_template = "admin/verification/channel/intro.html"
    fields = ("project", "type", "name", "is_active", "position", "image_url", "link", "daily_budget", "countries")
    list_display = ("shown", "project", "state", "position", "budget", "served_by")
    list_filter = (ProjectFilter, "type", "is_active")
    list_select_related = ("project",)
    ordering = ("project__name", "position", "id")

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> tuple[str, ...]:
        return ("project", "type") if obj else ()

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[ChannelList]:
        return ChannelList

    @admin.display(description="Channel", ordering="type")
    def shown(self, channel: Channel) -> str:
        return format_html(
            '<span class="ww-channel"><img src="{}" alt="" width="28" height="28">{}</span>',
            channel_icon(channel.type),
            channel.display_name,
        )

    @admin.display(description="State", ordering="is_active")
    def state(self, channel: Any) -> str:
        if not channel.is_active:
            return label("Off")
        return label("Active", "success") if channel.provider_names else label("No provider", "warning")

    @admin.display(description="Today's budget", ordering="effective_budget")
    def budget(self, channel: Any) -> str:
        budget = channel.budget_that_holds
        if budget is None:
            return "No limit"
        text = f"{channel.spent_today:,} of {budget:,}"
        return label(f"{text}: used up", "danger") if channel.spent_today >= budget else text

    @admin.display(description="Served by, in this order")
    def served_by(self, channel: Any) -> str:
        return ", ".join(channel.provider_names) or "–"
