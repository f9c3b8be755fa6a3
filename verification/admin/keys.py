"""Keys: what there is of each, and taking one back. They are issued on the project's page."""

from __future__ import annotations

from typing import Any

from django.contrib import admin, messages
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.db.models import Q, QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils import timezone
from unfold.decorators import action
from unfold.enums import ActionVariant

from verification.admin.display import code, label, recent, time_of, when
from verification.admin.scoping import ProjectFilter, ScopedAdmin
from verification.models import ApiKey
from verification.services.keys import revoke_key


class StateFilter(admin.SimpleListFilter):
    title = "state"
    parameter_name = "state"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [("active", "Active"), ("expired", "Expired"), ("revoked", "Revoked")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[ApiKey]) -> QuerySet[ApiKey]:
        now = timezone.now()
        if self.value() == "active":
            return queryset.filter(Q(expires_at=None) | Q(expires_at__gt=now), revoked_at=None)
        if self.value() == "expired":
            return queryset.filter(expires_at__lte=now, revoked_at=None)
        if self.value() == "revoked":
            return queryset.filter(revoked_at__isnull=False)
        return queryset


@admin.register(ApiKey)
class KeyAdmin(ScopedAdmin):
    list_display = ("key", "kind_shown", "project", "state", "created", "expires", "last_used")
    list_filter = (ProjectFilter, StateFilter, "kind")
    list_select_related = ("project", "created_by")
    ordering = ("-created_at",)
    actions = ("revoke_selected",)
    actions_detail = ("revoke",)
    fieldsets = (
        (None, {"fields": ("key", "kind", "project", "state")}),
        ("Life", {"fields": ("created", "issuer", "expires", "last_used", "revoked")}),
    )
    readonly_fields = ("key", "state", "created", "issuer", "expires", "last_used", "revoked")
    revoked = time_of("revoked_at", "Revoked")
    list_before_template = "admin/verification/apikey/issued_where.html"

    @admin.display(description="Key", ordering="prefix")
    def key(self, key: ApiKey) -> str:
        return code(key)

    @admin.display(description="Kind", ordering="kind")
    def kind_shown(self, key: ApiKey) -> str:
        return key.get_kind_display()

    @admin.display(description="State")
    def state(self, key: ApiKey) -> str:
        if key.revoked_at:
            return label("Revoked", "danger")
        if key.expires_at and key.expires_at <= timezone.now():
            return label("Expired", "warning")
        return label("Active", "success")

    @admin.display(description="Issued by")
    def issuer(self, key: ApiKey) -> str:
        return str(key.created_by or "–")

    @admin.display(description="Created", ordering="created_at")
    def created(self, key: ApiKey) -> str:
        return when(key.created_at)

    @admin.display(description="Expires", ordering="expires_at")
    def expires(self, key: ApiKey) -> str:
        return when(key.expires_at) if key.expires_at else "Never"

    @admin.display(description="Last used", ordering="last_used_at")
    def last_used(self, key: ApiKey) -> str:
        return recent(key.last_used_at) if key.last_used_at else "Never"

    @action(description="Revoke", icon="block", permissions=["view"], variant=ActionVariant.DANGER)
    def revoke(self, request: HttpRequest, object_id: str) -> HttpResponse:
        key: ApiKey = self.find(request, object_id)
        page = reverse("admin:verification_apikey_change", args=(key.pk,))
        if key.revoked_at:
            self.message_user(request, f"The key {key} was revoked before.", messages.WARNING)
            return HttpResponseRedirect(page)
        if request.method == "POST":
            self._revoke(request, [key])
            return HttpResponseRedirect(page)
        return self._confirm(request, [key], back=page, object=key)

    @admin.action(description="Revoke the selected keys", permissions=["view"])
    def revoke_selected(self, request: HttpRequest, queryset: QuerySet[ApiKey]) -> HttpResponse | None:
        """``queryset`` holds rows of the user's only, whatever ids the form was made to carry."""
        keys = list(queryset.filter(revoked_at=None))
        if request.POST.get("confirmed") and keys:
            self._revoke(request, keys)
            return None
        if not keys:
            self.message_user(request, "None of these keys can be revoked.", messages.WARNING)
            return None
        hidden = [("action", "revoke_selected")] + [(ACTION_CHECKBOX_NAME, str(key.pk)) for key in keys]
        back = reverse("admin:verification_apikey_changelist")
        return self._confirm(request, keys, back=back, hidden=hidden)

    def _revoke(self, request: HttpRequest, keys: list[ApiKey]) -> None:
        for key in keys:
            if revoke_key(key.pk):
                self.log_change(request, key, "Revoked")
                self.message_user(request, f"The key {key} is revoked.", messages.SUCCESS)

    def _confirm(self, request: HttpRequest, keys: list[ApiKey], **more: Any) -> HttpResponse:
        names = ", ".join(f"{key} ({key.get_kind_display()} of {key.project})" for key in keys)
        context = self.page_context(
            request,
            "Revoke",
            intro=f"{names}: within a second every request with {'it' if len(keys) == 1 else 'them'} is refused."
            " This cannot be undone.",
            submit_text="Revoke",
            variant="danger",
            **more,
        )
        return TemplateResponse(request, "admin/verification/form_page.html", context)
