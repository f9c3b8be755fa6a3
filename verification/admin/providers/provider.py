"""Providers: project, channel and type first, then a form made from what the adapter declares."""

from __future__ import annotations

from typing import Any

from django.contrib import admin, messages
from django.contrib.admin.utils import unquote
from django.db.models import Q
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.html import format_html
from django.utils.text import capfirst
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from unfold.decorators import action

from providers import registry
from verification.admin.auth.reauthentication import skip_reauthentication
from verification.admin.base.columns import ChannelColumn, ProviderTypeColumn
from verification.admin.base.current_project import current_project_id, return_address
from verification.admin.base.display import channel_icon, label, page_address
from verification.admin.base.model_admin import ScopedAdmin
from verification.admin.base.permissions import own_projects
from verification.admin.providers import breaker, connecting, prices
from verification.admin.providers.form import (
    FORGET,
    PREFIX,
    ProviderForm,
    can_be_forgotten,
    form_for,
    is_advanced,
    stored_secret_names,
)
from verification.admin.providers.guide import guide_of, hook_of
from verification.admin.providers.scorecard import scorecard
from verification.admin.providers.senders import CHANNELS as WITH_SENDERS
from verification.admin.providers.senders import SenderRuleInline
from verification.admin.traffic.send_test import send_test
from verification.core.numbers import whole_number
from verification.models import ChannelType, Project, Provider, Right
from verification.services.delivery.polling import BOT_TYPE
from verification.services.providers import editing
from verification.services.providers.accounts import check_provider, ensure_channel, is_known

COST = (
    gettext_lazy("Cost"),
    {
        "fields": ("failed_costs",),
        "description": gettext_lazy("Enter message prices on the provider's Prices page after saving."),
    },
)


@admin.register(Provider)
class ProviderAdmin(ChannelColumn, ProviderTypeColumn, ScopedAdmin):
    """A system provider is of no project, so the scope alone keeps its settings from members."""

    deleted_along = gettext_lazy(", with its settings and the list of started bots; its messages are kept")
    adders = changers = deleters = actors = Right.CHANGE
    form = ProviderForm
    list_display = ("name", "type_label", "channel_label", "owner", "state", "priority", "how_it_does")
    list_filter = ("channel", "is_enabled")
    list_select_related = ("project", "breaker")
    intro = gettext_lazy(
        "The accounts that send your codes. A channel tries its providers in order of priority, lowest first."
        " If one fails, the next takes over within a second."
    )
    inlines = (SenderRuleInline,)
    ordering = ("channel", "priority", "id")
    actions: Any = ("use_again_selected",)
    actions_detail: Any = (
        "scorecard", "connect_bot", "check_credentials", "send_test", "show_prices", "replace_prices", "use_again",
    )  # fmt: skip
    change_form_outer_before_template = "admin/verification/provider/circuit_breaker.html"
    scorecard = scorecard
    connect_bot = connecting.connect_bot
    send_test = send_test
    show_prices = prices.show_prices
    replace_prices = prices.replace_prices
    use_again = breaker.use_again
    use_again_selected = breaker.use_again_selected

    @admin.display(description=gettext_lazy("Performance"))
    def how_it_does(self, row: Provider) -> str:
        address = reverse("admin:verification_provider_scorecard", args=(row.pk,))
        return format_html('<a class="ww-link" href="{}">{}</a>', address, _("Scorecard"))

    def of_chosen_project(self, rows: Any, request: HttpRequest) -> Any:
        """Keep the system's, which serve the chosen project too; only superusers see them."""
        chosen = current_project_id(request)
        return rows if chosen is None else rows.filter(Q(project=chosen) | Q(project=None))

    def why_kept(self, row: Provider) -> str:
        return editing.why_not_deletable(row)

    def get_actions_detail(self, request: HttpRequest, object_id: Any) -> Any:
        """Leave out what other pages and notices lead to, and "Connect" where there is no bot."""
        row = self.get_object(request, str(object_id))
        is_bot = row is not None and row.type == BOT_TYPE
        hidden = {"use-again", "replace-prices"} if is_bot else {"use-again", "replace-prices", "connect"}
        return [each for each in super().get_actions_detail(request, object_id) if each.path not in hidden]

    # --- adding: first what it is, then its settings --------------------------------------------------------------

    def add_view(self, request: HttpRequest, form_url: str = "", extra_context: Any = None) -> HttpResponse:
        choice = self._choice(request)
        if self.has_add_permission(request) and choice is None:
            return self._choose(request)
        if request.method == "GET" and choice and (reason := registry.lacking(choice["type"])):
            self.message_user(request, f"{capfirst(reason)}.", messages.WARNING)
        response: HttpResponse = super().add_view(request, form_url, extra_context)
        return response

    def _choice(self, request: HttpRequest) -> dict[str, Any] | None:
        """Return project, channel and type from the address, checked like typed values; None where one is wrong."""
        channel, provider_type, _vendor = _parts(request)
        if channel not in ChannelType.values or not is_known(provider_type):
            return None
        if channel not in registry.adapter_class(provider_type).channels:
            return None
        project = self._chosen_project(request)
        if project is None and not (request.user.is_superuser and request.GET.get("project") == "system"):
            return None
        return {"project": project, "channel": channel, "type": provider_type}

    def get_changeform_initial_data(self, request: HttpRequest) -> dict[str, Any]:
        """Begin with the vendor that was chosen by its name, where the type serves several."""
        initial: dict[str, Any] = super().get_changeform_initial_data(request)
        choice, (_channel, provider_type, vendor) = self._choice(request), _parts(request)
        if choice is None:
            return initial
        adapter = registry.adapter_class(provider_type)
        name = dict(registry.vendors_of(adapter)).get(vendor)
        return {**initial, "name": name, PREFIX + adapter.vendor_setting: vendor} if name else initial

    def _chosen_project(self, request: HttpRequest) -> Project | None:
        project_id = whole_number(request.GET.get("project", ""))
        return None if project_id is None else own_projects(request.user, Right.CHANGE).filter(pk=project_id).first()

    def _choose(self, request: HttpRequest) -> HttpResponse:
        kinds: list[dict[str, Any]] = [
            {
                "channel": value,
                "label": text,
                "icon": channel_icon(value),
                "types": _types(value, is_for_development=False),
                "trials": _types(value, is_for_development=True),
            }
            for value, text in ChannelType.choices
        ]
        context = self.page_context(
            request,
            _("Add a provider"),
            projects=own_projects(request.user, Right.CHANGE),
            chosen=request.GET.get("project") or str(current_project_id(request) or ""),
            back=return_address(request),
            kinds=kinds,
        )
        return TemplateResponse(request, "admin/verification/provider/choose.html", context)

    # --- the form -------------------------------------------------------------------------------------------------

    def get_form(self, request: HttpRequest, obj: Any = None, change: bool = False, **kwargs: Any) -> Any:
        kwargs["form"] = form_for(obj) if obj else form_for(None, self._choice(request) or {})
        return super().get_form(request, obj, change=change, **kwargs)

    def get_fieldsets(self, request: HttpRequest, obj: Any = None) -> Any:
        provider_type = obj.type if obj else (self._choice(request) or {}).get("type", "")
        own = ["name", "is_enabled"]
        order = (_("Order"), {"fields": ("priority", "weight", *self._whom_it_serves(request, obj))})
        if not is_known(provider_type):
            return (None, {"fields": ["owner", "channel_label", "type_label", *own]}), order
        if obj and not self.has_change_permission(request, obj):  # the settings and the hook's address stay hidden
            return (_("General"), {"fields": ["owner", "channel_label", "type_label", *own]}), order, COST
        adapter = registry.adapter_class(provider_type)
        general = ["owner", "channel_label", "type_label", *own] if obj else own
        stored = stored_secret_names(obj) if obj else set()
        names: list[str] = []
        advanced: list[str] = []
        for setting in adapter.declared:
            group = advanced if is_advanced(adapter, setting) else names
            group.append(PREFIX + setting.name)
            if can_be_forgotten(setting, stored):
                group.append(FORGET + setting.name)
        sets: list[Any] = [(_("General") if obj else what_is_added(self._choice(request) or {}), {"fields": general})]
        if names:
            title = _("{adapter} settings").format(adapter=str(adapter.label).partition(" (")[0])
            sets.append((title, {"fields": names}))
        if advanced:
            sets.append((_("Advanced settings"), {"fields": advanced, "classes": ["collapse"]}))
        return [*sets, order, COST]

    def _whom_it_serves(self, request: HttpRequest, obj: Any) -> tuple[str, str]:
        """Return the fields that choose among the recipients: by domains those of mails, else by prefixes."""
        channel = obj.channel if obj else (self._choice(request) or {}).get("channel")
        by_domain = channel == ChannelType.EMAIL
        return ("only_domains", "except_domains") if by_domain else ("only_prefixes", "except_prefixes")

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> tuple[str, ...]:
        return ("owner", "channel_label", "type_label") if obj else ()

    def changeform_view(
        self, request: HttpRequest, object_id: str | None = None, form_url: str = "", extra_context: Any = None
    ) -> HttpResponse:
        """Put the vendor's guide beside the form."""
        row = self.get_object(request, unquote(object_id)) if object_id else None
        provider_type = row.type if row else (self._choice(request) or {}).get("type", "")
        more: dict[str, Any] = {}
        if is_known(provider_type) and (row is None or self.has_change_permission(request, row)):
            more = {"guide": guide_of(registry.adapter_class(provider_type)), "hook": hook_of(row, provider_type)}
        return super().changeform_view(request, object_id, form_url, {**more, **(extra_context or {})})

    def save_model(self, request: HttpRequest, obj: Provider, form: Any, change: bool) -> None:
        super().save_model(request, obj, form, change)
        if not change and (channel := ensure_channel(obj)):
            self.message_user(
                request, _("The channel {channel} was added to the project.").format(channel=channel), messages.INFO
            )

    # --- columns and readonly fields ------------------------------------------------------------------------------

    @admin.display(
        description=gettext_lazy("Project"),
        ordering="project__name",
        empty_value=gettext_lazy("System"),  # type: ignore[call-overload]  # Django takes a lazy one as well
    )
    def owner(self, provider: Provider) -> Any:
        return label(_("System: serves every project"), "info") if provider.is_system else provider.project

    @admin.display(description=gettext_lazy("State"), ordering="is_enabled")
    def state(self, provider: Provider) -> str:
        return breaker.state_label(provider)

    def get_inlines(self, request: HttpRequest, obj: Provider | None) -> Any:
        return self.inlines if obj and obj.channel in WITH_SENDERS else ()

    # --- checking -------------------------------------------------------------------------------------------------

    @skip_reauthentication
    @action(
        description=gettext_lazy("Check credentials"), icon="network_check", permissions=["change"], url_path="check"
    )
    def check_credentials(self, request: HttpRequest, object_id: str) -> HttpResponse:
        provider: Provider = self.find(request, object_id)
        context = self.page_context(
            request,
            _("Check credentials"),
            object=provider,
            health=check_provider(provider) if request.method == "POST" else None,
            settings=page_address(provider),
            test=reverse("admin:verification_provider_send_test", args=(provider.pk,)),
            back=return_address(request) or page_address(provider),
        )
        return TemplateResponse(request, "admin/verification/provider/check.html", context)


def _types(channel: str, *, is_for_development: bool) -> list[tuple[str, str]]:
    """Return the types of a channel with their labels: those that reach people, or those that try things out.

    A type that serves several vendors is there by the name of each, as ``type/vendor``.
    """
    found: list[tuple[str, str]] = []
    for adapter in registry.for_channel(channel):
        if _is_for_development(adapter) is is_for_development:
            vendors = registry.vendors_of(adapter)
            found += [(f"{adapter.type}/{value}", name) for value, name in vendors]
            found += [] if vendors else [(adapter.type, str(adapter.label))]
    return sorted(found, key=lambda each: each[1].casefold())


def _parts(request: HttpRequest) -> tuple[str, str, str]:
    """Return channel, type and vendor as the address names them."""
    channel, _unused, rest = request.GET.get("as", "").partition("/")
    provider_type, _unused, vendor = rest.partition("/")
    return channel, provider_type, vendor


def _is_for_development(adapter: Any) -> bool:
    return bool(adapter.is_local or adapter.is_simulation or adapter.shows_codes)


def what_is_added(choice: dict[str, Any]) -> str:
    owner = choice["project"].name if choice.get("project") else _("System")
    return f"{owner} · {ChannelType(choice['channel']).label} · {registry.adapter_class(choice['type']).label}"
