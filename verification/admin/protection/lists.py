"""Block lists and safe lists: the members' for their projects, the superusers' for all."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from django import forms
from django.contrib import admin, messages
from django.http import HttpRequest
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from verification.admin.base.display import format_country, format_time, label, monospace, time_ago_label
from verification.admin.base.lookups import TooManyLookUps, count_look_up
from verification.admin.base.model_admin import ScopedAdmin
from verification.core.addresses import AddressInvalid, mask, parse_test_address
from verification.core.errors import UserError
from verification.models import ListEntry, ListKind, ListSubject, Right
from verification.services.projects.lists import add_entry, clean_value, other_subjects, search_values


class ListEntryForm(forms.ModelForm):  # type: ignore[type-arg]  # not generic at run time
    class Meta:
        labels = {
            "kind": gettext_lazy("List"),
            "subject": gettext_lazy("Matches"),
            "expires_at": gettext_lazy("Expires"),
        }
        help_texts = {
            "kind": gettext_lazy(
                "Recipients and callers on the block list get no codes. Those on the safe list bypass "
                "send limits and the traffic guard; channel limits and wrong-code limits still apply. If "
                "both match, the block list wins."
            ),
            "value": gettext_lazy(
                "A phone number or e-mail address, +4915, example.com (including subdomains), Morocco or MA, or"
                " 203.0.113.0/24."
            ),
            "note": gettext_lazy("Reason (optional)."),
            "expires_at": gettext_lazy("In your time zone. Leave empty for no expiry."),
        }

    def clean(self) -> dict[str, Any]:
        cleaned: dict[str, Any] = super().clean() or {}
        if {"kind", "subject", "value"} <= cleaned.keys():
            try:
                cleaned["value"] = clean_value(cleaned["kind"], cleaned["subject"], cleaned["value"])
            except UserError as error:
                hints = [
                    _("Or choose {subject} under Matches.").format(subject=other.label)
                    for other in other_subjects(cleaned["kind"], cleaned["subject"], cleaned["value"])
                ]
                self.add_error("value", " ".join([str(error), *hints]))
        return cleaned


class ListEntryStateFilter(admin.SimpleListFilter):
    title = gettext_lazy("state")
    parameter_name = "state"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [("live", _("Active")), ("expired", _("Expired"))]

    def queryset(self, request: HttpRequest, queryset: Any) -> Any:
        if self.value() == "live":
            return queryset.live()
        return queryset.expired() if self.value() == "expired" else queryset


@admin.register(ListEntry)
class ListEntryAdmin(ScopedAdmin):
    """An entry is never made to match another thing: delete it and add another."""

    viewers = Right.SEE_TRAFFIC
    adders = changers = deleters = Right.CHANGE
    form = ListEntryForm
    fields = ("project", "kind", "subject", "value", "note", "expires_at")
    list_display = ("kind_label", "matches", "value_label", "note", "project_name", "state", "added")
    list_display_links = ("value_label",)
    list_filter = ("kind", "subject", ListEntryStateFilter)
    list_select_related = ("project",)
    search_fields = ("value",)
    search_help_text = gettext_lazy("Full number, domain, …")

    def get_intro(self, request: HttpRequest) -> str:
        return _(
            'Changes apply within a second. Callers always get the same error; the <a class="ww-link"'
            ' href="%(address)s?rule=block_list">decision log</a> shows what matched.'
        ) % {"address": reverse("admin:verification_decision_changelist")}

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> tuple[str, ...]:
        return ("project_name", "kind", "subject", "value_label") if obj else ()

    def get_fields(self, request: HttpRequest, obj: Any = None) -> tuple[str, ...]:
        return ("project_name", "kind", "subject", "value_label", "note", "expires_at") if obj else self.fields

    def get_search_results(self, request: HttpRequest, queryset: Any, search_term: str) -> tuple[Any, bool]:
        term = search_term.strip()
        if not term:
            return queryset, False
        try:
            with suppress(AddressInvalid):
                count_look_up(request, [parse_test_address(term).text])
        except TooManyLookUps as error:
            self.message_user(request, str(error), messages.WARNING)
            return queryset.none(), False
        return queryset.filter(value__in=search_values(term)), False

    def formfield_for_foreignkey(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        """Only superusers may leave the project empty, for an entry of the whole platform."""
        if request.user.is_superuser:
            kwargs["help_text"] = _("Leave empty for all projects.")
        else:
            kwargs["required"] = True
        return super().formfield_for_foreignkey(db_field, request, **kwargs)

    def save_model(self, request: HttpRequest, obj: ListEntry, form: Any, change: bool) -> None:
        saved = add_entry(
            project=obj.project,
            kind=obj.kind,
            subject=obj.subject,
            value=obj.value,
            note=obj.note,
            expires_at=obj.expires_at,
        )
        obj.pk = saved.pk

    @admin.display(description=gettext_lazy("Matches"), ordering="subject")
    def matches(self, entry: ListEntry) -> str:
        return entry.get_subject_display()

    @admin.display(description=gettext_lazy("List"), ordering="kind")
    def kind_label(self, entry: ListEntry) -> str:
        return label(_("Block"), "danger") if entry.kind == ListKind.BLOCK else label(_("Safe"), "success")

    @admin.display(description=gettext_lazy("Value"), ordering="value")
    def value_label(self, entry: ListEntry) -> str:
        if entry.subject == ListSubject.COUNTRY:
            return format_country(entry.value)
        return monospace(mask(entry.value) if entry.subject == ListSubject.RECIPIENT else entry.value)

    @admin.display(description=gettext_lazy("Project"), ordering="project__name")
    def project_name(self, entry: ListEntry) -> str:
        return entry.project.name if entry.project else _("All projects")

    @admin.display(description=gettext_lazy("State"), ordering="expires_at")
    def state(self, entry: ListEntry) -> str:
        if entry.expires_at is None:
            return label(_("Active"))
        if entry.expires_at <= timezone.now():
            return label(_("Expired"), "warning")
        return _("Until {time}").format(time=format_time(entry.expires_at))

    @admin.display(description=gettext_lazy("Added"), ordering="created_at")
    def added(self, entry: ListEntry) -> str:
        return time_ago_label(entry.created_at)
