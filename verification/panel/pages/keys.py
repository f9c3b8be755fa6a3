"""Keys: what there is of each, exchanging one, and taking one back. They are issued on the project's page."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django import forms
from django.contrib import admin, messages
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils import timezone
from unfold.decorators import action
from unfold.enums import ActionVariant
from unfold.widgets import UnfoldAdminSelectWidget

from verification.errors import Misuse
from verification.models import ApiKey
from verification.panel.door import once
from verification.panel.frame.display import how_long_ago, label, monospace, time_of, when
from verification.panel.frame.page import ScopedAdmin
from verification.panel.frame.scoping import ProjectFilter
from verification.services.projects.keys import revoke_key, rotate_key

COPY_NOW = "Copy it now. It is not stored and cannot be shown again."
HOUR = 3_600
DAY = 86_400
LIFETIMES = (
    ("", "Until it is revoked"),
    (str(DAY), "1 day"),
    (str(7 * DAY), "7 days"),
    (str(30 * DAY), "30 days"),
    (str(90 * DAY), "90 days"),
    (str(365 * DAY), "1 year"),
)
OVERLAPS = (
    (str(HOUR), "1 hour"),
    (str(DAY), "1 day"),
    (str(7 * DAY), "7 days"),
    (str(30 * DAY), "30 days"),
)


class RotateKeyForm(forms.Form):
    overlap = forms.ChoiceField(
        choices=OVERLAPS,
        initial=str(DAY),
        label="The old key goes on for",
        help_text="Both are taken in the meantime, so that your callers can move over one by one.",
        widget=UnfoldAdminSelectWidget,
    )
    lifetime = forms.ChoiceField(
        choices=LIFETIMES, required=False, label="The new key is valid", widget=UnfoldAdminSelectWidget
    )


class StateFilter(admin.SimpleListFilter):
    title = "state"
    parameter_name = "state"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [("active", "Active"), ("expired", "Expired"), ("revoked", "Revoked")]

    def queryset(self, request: HttpRequest, queryset: Any) -> Any:
        now = timezone.now()
        if self.value() == "active":
            return queryset.live()
        if self.value() == "expired":
            return queryset.filter(expires_at__lte=now, revoked_at=None)
        if self.value() == "revoked":
            return queryset.filter(revoked_at__isnull=False)
        return queryset


@admin.register(ApiKey)
class KeyAdmin(ScopedAdmin):
    empty_text = "An app needs one of the kind API, a server one of the kind secret."
    list_display = ("key", "shown_kind", "project", "state", "created", "expires", "last_used")
    list_filter = (ProjectFilter, StateFilter, "kind")
    list_select_related = ("project", "created_by")
    ordering = ("-created_at",)
    actions = ("revoke_selected",)
    actions_detail = ("rotate", "revoke")
    fieldsets = (
        (None, {"fields": ("key", "kind", "project", "state")}),
        ("Life", {"fields": ("created", "issuer", "expires", "last_used", "revoked")}),
    )
    readonly_fields = ("key", "state", "created", "issuer", "expires", "last_used", "revoked")
    revoked = time_of("revoked_at", "Revoked")
    list_before_template = "admin/verification/apikey/intro.html"

    @admin.display(description="Key", ordering="prefix")
    def key(self, key: ApiKey) -> str:
        return monospace(key)

    @admin.display(description="Kind", ordering="kind")
    def shown_kind(self, key: ApiKey) -> str:
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
        return how_long_ago(key.last_used_at) if key.last_used_at else "Never"

    @action(description="Rotate", icon="autorenew", permissions=["view"])
    def rotate(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """A new key, shown once, and an end for the old one, in one step."""
        key: ApiKey = self.find(request, object_id)
        page = reverse("admin:verification_apikey_change", args=(key.pk,))
        form = RotateKeyForm(request.POST if request.method == "POST" else None)
        if request.method != "POST" or not form.is_valid():
            context = self.page_context(
                request,
                "Rotate",
                object=key,
                form=form,
                intro="You get a new key of the same kind, shown once. The old one ends by itself.",
                submit_text="Issue the new key",
                back=page,
                once=once.hand_out(request),
            )
            return TemplateResponse(request, "admin/verification/form_page.html", context)
        if fault := once.spend(request):
            self.message_user(request, f"{fault} No key was issued.", messages.WARNING)
            return HttpResponseRedirect(page)
        lifetime = form.cleaned_data["lifetime"]
        try:
            issued = rotate_key(
                key.pk,
                overlap=timedelta(seconds=int(form.cleaned_data["overlap"])),
                expires_in=int(lifetime) if lifetime else None,
                created_by=request.user,
            )
        except Misuse as error:
            self.message_user(request, str(error), messages.WARNING)
            return HttpResponseRedirect(page)
        key.refresh_from_db()
        assert key.expires_at is not None
        new = ApiKey.objects.get(pk=issued.id)
        self.log_change(request, key, f"Rotated: {new} takes its place")
        return self.show_secrets(
            request,
            new,
            title="The new key",
            warning=f"{COPY_NOW} The old key {key} ends {when(key.expires_at)}.",
            secrets=[
                (
                    f"{new.get_kind_display()} of {new.project.name}",
                    issued.text,
                    f"Valid until {when(new.expires_at)}." if new.expires_at else "Valid until it is revoked.",
                )
            ],
            back=reverse("admin:verification_apikey_change", args=(new.pk,)),
        )

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
