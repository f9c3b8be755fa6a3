"""The audit log, which nobody changes. Members see the lines of their projects, superusers all of them."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

from django.apps import apps
from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils import timezone
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.text import capfirst
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, gettext_noop

from verification.admin.base import display
from verification.admin.base.model_admin import ScopedAdmin
from verification.core import countries
from verification.core.addresses import mask
from verification.core.formats import EXACT, language_in_sentence
from verification.models import ALL_SENDING, AuditEntry, ChannelType, Right
from verification.models.audit import WATCHED

CHANGES = {gettext_noop("Created"): "success", gettext_noop("Changed"): "info", gettext_noop("Deleted"): "danger"}
MODELS = {model._meta.label_lower: model for model in apps.get_models()}
KINDS = {name: model._meta.verbose_name for name, model in MODELS.items()}
MASKED = {name.lower(): watch.masked for name, watch in WATCHED.items() if watch.masked}
IS_NAME_MASKED = {name.lower(): watch.label in watch.masked for name, watch in WATCHED.items()}
IN_A_LANGUAGE = {  # objects that are known by the code of their language
    "verification.messagetemplate": gettext_lazy("Message text in {language}"),
    "verification.textvariant": gettext_lazy("Text variant in {language}"),
}
OF_A_COUNTRY = ("verification.routingrule",)  # objects of which one name has several
WIRE_NAMES = {ALL_SENDING: gettext_lazy("all sending"), **dict(ChannelType.choices)}
LOOKS = (
    gettext_noop("Viewed the address"),
    gettext_noop("Exported"),
)  # the acts by which somebody saw a recipient's whole address
SHORTEST_NUMBER = 7  # digits of a phone number at least; a prefix may have fewer
FIELDS_SHOWN = 3  # names of changed fields in a list's column; more would widen the table
SPANS = {"day": timedelta(days=1), "week": timedelta(days=7), "month": timedelta(days=30)}


class TimeFilter(admin.SimpleListFilter):
    title = gettext_lazy("time")
    parameter_name = "since"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [("day", _("Last 24 hours")), ("week", _("Last 7 days")), ("month", _("Last 30 days"))]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        span = SPANS.get(self.value() or "")
        return queryset.filter(at__gte=timezone.now() - span) if span else queryset


class KindFilter(admin.SimpleListFilter):
    title = gettext_lazy("kind")
    parameter_name = "kind"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [
            ("changes", _("Configuration changes")),
            ("acts", _("Logins and views")),
            ("seen", _("Viewed recipient addresses")),
        ]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        if self.value() == "seen":
            return queryset.filter(action__in=LOOKS)
        if self.value() == "changes":
            return queryset.filter(action__in=CHANGES)
        return queryset.exclude(action__in=CHANGES) if self.value() == "acts" else queryset


class ObjectFilter(admin.SimpleListFilter):
    """A filter by one row, to whose history the row's page leads."""

    title = gettext_lazy("object")
    parameter_name = "about"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        kind, _unused, number = (self.value() or "").partition(":")
        return [(f"{kind}:{number}", f"{capfirst(str(KINDS[kind]))} {number}")] if kind in KINDS else []

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        kind, _unused, number = (self.value() or "").partition(":")
        return queryset.filter(object_type=kind, object_id=number) if kind else queryset


@admin.register(AuditEntry)
class AuditAdmin(ScopedAdmin):
    viewers = Right.READ_AUDIT
    list_display = ("time", "who", "act", "thing", "fields_changed", "project", "client")
    list_display_links = ("time",)
    list_filter = (ObjectFilter, KindFilter, TimeFilter)
    list_select_related = ("project",)
    search_fields = ("=who", "=object_id")
    search_help_text = gettext_lazy("Full username, command or ID")
    ordering = ("-id",)
    actions = None
    has_history = False
    show_close_button = True
    fieldsets = (
        (None, {"fields": ("time_exactly", "who", "client", "act", "thing", "object_number", "project")}),
        (gettext_lazy("What changed"), {"fields": ("before_and_after",)}),
    )
    readonly_fields = ("time_exactly", "client", "act", "thing", "object_number", "before_and_after")

    @admin.display(description=gettext_lazy("ID"))
    def object_number(self, entry: AuditEntry) -> str:
        return str(entry.object_id)

    def get_fieldsets(self, request: HttpRequest, obj: AuditEntry | None = None) -> Any:
        return self.fieldsets if obj and obj.changes else self.fieldsets[:1]

    @admin.display(description=gettext_lazy("Time"), ordering="id")
    def time(self, entry: AuditEntry) -> str:
        return format_html('<span class="ww-nowrap">{}</span>', display.time_label(entry.at, EXACT))

    @admin.display(description=gettext_lazy("Time"))
    def time_exactly(self, entry: AuditEntry) -> str:
        return display.time_label(entry.at, EXACT)

    @admin.display(description=gettext_lazy("What"))
    def act(self, entry: AuditEntry) -> str:
        act = _(entry.action)
        return display.label(act, CHANGES[entry.action]) if entry.action in CHANGES else act

    @admin.display(description=gettext_lazy("Object"))
    def thing(self, entry: AuditEntry) -> str:
        if not entry.object_type:
            return "–"
        kind = str(KINDS.get(entry.object_type, entry.object_type))
        if entry.object_type in IN_A_LANGUAGE:
            return IN_A_LANGUAGE[entry.object_type].format(language=language_in_sentence(entry.object_label))
        if entry.object_type in OF_A_COUNTRY and entry.action in ("Created", "Deleted"):
            country = next(filter(None, entry.changes.get("country", ())), _("all countries"))
            return f"{capfirst(kind)} {entry.object_label}, {country}"
        name = hide_recipient(entry.object_label) if IS_NAME_MASKED.get(entry.object_type) else entry.object_label
        if name.lower().startswith(f"{kind} "):
            return capfirst(name)  # "Event msg_7" has its kind in its name
        return f"{capfirst(kind)} {WIRE_NAMES.get(name, name)}"

    @admin.display(description=gettext_lazy("Fields"))
    def fields_changed(self, entry: AuditEntry) -> str:
        if entry.action != "Changed":
            return "–"
        names = sorted(field_name(entry.object_type, column) for column in entry.changes)
        shortened = ", ".join(names[:FIELDS_SHOWN])
        if len(names) <= FIELDS_SHOWN:
            return shortened
        return _("{names} and {number} more").format(names=shortened, number=len(names) - FIELDS_SHOWN)

    @admin.display(description=gettext_lazy("IP address"))
    def client(self, entry: AuditEntry) -> str:
        return entry.address or "–"

    @admin.display(description=gettext_lazy("Before and after"))
    def before_and_after(self, entry: AuditEntry) -> SafeString:
        hidden = MASKED.get(entry.object_type, ())
        rows = (
            (field_name(entry.object_type, name), *(format_value(value, is_address=name in hidden) for value in values))
            for name, values in sorted(entry.changes.items())
        )
        return format_html(
            '<table class="ww-changes"><thead><tr><th>{}</th><th>{}</th><th>{}</th></tr></thead>{}</table>',
            _("Field"),
            _("Before"),
            _("After"),
            format_html_join("", "<tr><th>{}</th><td>{}</td><td>{}</td></tr>", rows),
        )


def field_name(object_type: str, column: str) -> str:
    """Return the name of a column; of one that is there no more, its own words."""
    model = MODELS.get(object_type)
    named = (field for field in model._meta.concrete_fields if field.column == column) if model else ()
    return next((str(field.verbose_name) for field in named), column.removesuffix("_id").replace("_", " "))


def hide_recipient(value: str) -> str:
    """Mask a recipient. A list's countries, domains, networks and short prefixes are nobody's, and told by name."""
    is_recipient = "@" in value or (value.startswith("+") and len(value) > SHORTEST_NUMBER)
    return mask(value) if is_recipient else countries.named(value)


def format_value(value: Any, *, is_address: bool) -> str:
    if value is None or value == "":
        return "–"
    if isinstance(value, bool):
        return _("Yes") if value else _("No")
    if isinstance(value, str):
        return hide_recipient(value) if is_address else value
    return json.dumps(value, ensure_ascii=False, indent=1) if isinstance(value, dict) else str(value).strip("[]")
