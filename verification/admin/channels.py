"""Channels: which ways to a recipient a project offers, in which order and at which cost."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from django import forms
from django.contrib import admin
from django.db import transaction
from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from unfold.widgets import UnfoldAdminRadioSelectWidget

from verification.admin.base.display import channel_icon, label
from verification.admin.base.model_admin import ScopedAdmin
from verification.admin.base.pagination import CappedChangeList
from verification.admin.base.pickers import show_prices
from verification.admin.projects.units import NumberWidget
from verification.admin.traffic.send_test import send_test
from verification.core.errors import UserError
from verification.core.formats import grouped
from verification.models import Channel, ChannelType, Provider, Right, RoutingMode
from verification.services.analytics import cost_budgets
from verification.services.analytics.costs import account_currency
from verification.services.projects.ceilings import lower_budget, platform, require_budget_below_ceiling, spent_today
from verification.services.providers.accounts import last_position
from verification.services.providers.routing import modes, require_routing

ROUTING_CHOICES = (
    (RoutingMode.FIXED, gettext_lazy("Fixed order: by priority, then by weight")),
    (RoutingMode.SHARES, gettext_lazy("Weighted: by weight, ignoring priority")),
    (RoutingMode.BEST_PRICE, gettext_lazy("Cheapest: the lowest cost per verified user in each country")),
    (RoutingMode.BEST_TIME, gettext_lazy("Fastest: the shortest time to verify in each country")),
)


COST_LIMITS = ("daily_cost_budget", "monthly_cost_budget")


class ChannelForm(forms.ModelForm):  # type: ignore[type-arg]  # not generic at run time
    routing = forms.ChoiceField(
        label=gettext_lazy("Routing"),
        choices=[choice for choice in ROUTING_CHOICES if choice[0] in modes()],
        initial=RoutingMode.FIXED,
        widget=UnfoldAdminRadioSelectWidget,
        help_text=gettext_lazy(
            "Your project's providers always come before the system's, and providers that were slow recently come last."
        ),
    )

    class Meta:
        labels = {
            "daily_budget": gettext_lazy("Daily message limit"),
            "daily_cost_budget": gettext_lazy("Daily cost limit"),
            "monthly_cost_budget": gettext_lazy("Monthly cost limit"),
        }
        help_texts = {
            "daily_cost_budget": gettext_lazy(
                "A whole number, per day (UTC). Costs are updated once a minute, so spending can exceed "
                "the limit by about one minute of traffic; messages without a price don't count. 0 or "
                "empty = no limit."
            ),
            "monthly_cost_budget": gettext_lazy(
                "A whole number, per calendar month (UTC). Costs are updated once a minute. 0 or empty = no limit."
            ),
        }

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        units = {"daily_budget": _("messages"), **dict.fromkeys(COST_LIMITS, account_currency())}
        for name, unit in units.items():
            if name in self.fields:
                self.fields[name].widget = NumberWidget(unit, {"min": 0})

    def clean_daily_budget(self) -> int | None:
        budget: int | None = self.cleaned_data["daily_budget"]
        if "daily_budget" in self.changed_data:
            try:
                require_budget_below_ceiling(budget)
            except UserError as error:
                raise forms.ValidationError(str(error)) from None
        return budget

    def clean(self) -> dict[str, Any]:
        cleaned: dict[str, Any] = super().clean() or self.cleaned_data
        self.instance.routing = cleaned.get("routing", self.instance.routing)
        self.instance.type = cleaned.get("type", self.instance.type)
        self.instance.project_id = getattr(cleaned.get("project"), "pk", self.instance.project_id)
        if "routing" in self.changed_data:
            try:
                require_routing(self.instance)
            except UserError as error:
                self.add_error("routing", str(error))
        return cleaned


class ChannelList(CappedChangeList):
    """Reads providers and what was spent today for all channels at once."""

    def prefetch(self, rows: list[Any]) -> None:
        projects = {row.project_id for row in rows}
        ordered = list(Provider.objects.serving(projects).in_order())
        operators = platform()
        spent, costs = spent_today(projects), cost_budgets.spent_today(projects)
        for row in rows:
            row.budget_that_holds = lower_budget(row.effective_budget, operators.max_daily_budget)
            row.provider_names = [  # members see no more of a system provider than the API returns
                _("{each} (system)").format(each=each.name) if each.is_system else each.name
                for each in ordered
                if each.channel == row.type and each.project_id in (None, row.project_id)
            ]
            row.spent_today = spent.get((row.project_id, row.type), 0)
            row.cost_today = costs.get((row.project_id, row.type))
            row.currency = row.cost_today.currency if row.cost_today else operators.account_currency


@admin.register(Channel)
class ChannelAdmin(ScopedAdmin):
    adders = changers = deleters = Right.CHANGE
    form = ChannelForm
    actions_detail = ("send_test",)
    send_test = send_test
    intro = gettext_lazy(
        "The channels through which users can get a code. A channel needs at least one provider; if the first"
        " fails, the next one takes over."
    )
    fieldsets = (
        (
            None,
            {
                "fields": (
                    "project",
                    "type",
                    "name",
                    "is_active",
                    "position",
                    "image_url",
                    "link",
                    "daily_budget",
                    "daily_cost_budget",
                    "monthly_cost_budget",
                    "session_seconds",
                    "countries",
                )
            },
        ),
        (
            gettext_lazy("Routing"),
            {
                "fields": ("routing",),
                "description": gettext_lazy(
                    "Which provider is tried first if the channel has several. If it does not accept the"
                    " message, the others follow. A provider that keeps failing is paused."
                ),
            },
        ),
    )
    list_display = ("channel_name", "project", "state", "position", "budget", "served_by")
    list_filter = ("type", "is_active")
    list_select_related = ("project",)
    ordering = ("project__name", "position", "id")

    def get_fieldsets(self, request: HttpRequest, obj: Any = None) -> Any:
        """Leave out the position of a new channel, which comes last."""
        shown = super().get_fieldsets(request, obj)
        if obj:
            return shown
        (title, first), *others = shown
        return [(title, {"fields": [name for name in first["fields"] if name != "position"]}), *others]

    def save_model(self, request: HttpRequest, obj: Channel, form: Any, change: bool) -> None:
        if not change:
            obj.position = last_position(obj.project)
        super().save_model(request, obj, form, change)
        if {*form.changed_data} & {*COST_LIMITS}:
            transaction.on_commit(lambda: cost_budgets.watch(obj))

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> tuple[str, ...]:
        return ("project", "type") if obj else ()

    def get_form(self, request: HttpRequest, obj: Any = None, change: bool = False, **kwargs: Any) -> Any:
        form = super().get_form(request, obj, change=change, **kwargs)
        if obj and obj.type == ChannelType.SMS and "countries" in form.base_fields:
            show_prices(form.base_fields["countries"], obj.project)
        return form

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[ChannelList]:
        return ChannelList

    @admin.display(description=gettext_lazy("Channel"), ordering="type")
    def channel_name(self, channel: Channel) -> str:
        return format_html(
            '<span class="ww-channel"><img src="{}" alt="" width="28" height="28">{}</span>',
            channel_icon(channel.type),
            channel.display_name,
        )

    @admin.display(description=gettext_lazy("State"), ordering="is_active")
    def state(self, channel: Any) -> str:
        if not channel.is_active:
            return label(_("Off"))
        return label(_("Active"), "success") if channel.provider_names else label(_("No provider"), "warning")

    @admin.display(description=gettext_lazy("Limits"), ordering="effective_budget")
    def budget(self, channel: Any) -> str:
        budget, in_money = channel.budget_that_holds, channel.daily_cost_budget
        parts = (
            []
            if budget is None
            else [
                (
                    _("{spent_today} of {budget}").format(
                        spent_today=grouped(channel.spent_today), budget=grouped(budget)
                    ),
                    channel.spent_today >= budget,
                )
            ]
        )
        cost = channel.cost_today
        if in_money:
            spent = None if cost is None else cost.amount
            words = (_("being counted; limit {limit}"), _("{amount} of {in_money} {currency}"))
            parts.append(_part_of_limit(channel, spent, in_money, words))
        if channel.monthly_cost_budget:
            words = (_("this month: being counted; limit {limit}"), _("{amount} of {in_money} {currency} this month"))
            parts.append(_part_of_limit(channel, cost_budgets.sum_of_month(cost), channel.monthly_cost_budget, words))
        if not parts:
            return _("No limit")
        text = "; ".join(text for text, _ in parts)
        return (
            label(_("{text}: used up").format(text=text), "danger") if any(is_spent for _, is_spent in parts) else text
        )

    @admin.display(description=gettext_lazy("Providers (in order)"))
    def served_by(self, channel: Any) -> str:
        return ", ".join(channel.provider_names) or "–"


def _part_of_limit(channel: Any, spent: Decimal | None, most: int, words: tuple[str, str]) -> tuple[str, bool]:
    """Return what of a limit in money is spent, in words, and whether that is all of it.

    ``words`` are those for sums that are not counted yet, for which ``spent`` is None, and for others.
    """
    if spent is None:
        return words[0].format(limit=f"{grouped(most)} {channel.currency}"), False
    money = words[1].format(amount=grouped(spent, places=2), in_money=grouped(most), currency=channel.currency)
    return money, spent >= most
