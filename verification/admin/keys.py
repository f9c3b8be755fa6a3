"""Keys: what there is of each, exchanging one, and taking one back. They are issued on the project's page."""

from __future__ import annotations

from datetime import timedelta
from typing import Any, ClassVar

from django import forms
from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, gettext_noop, ngettext
from unfold.decorators import action
from unfold.enums import ActionVariant
from unfold.widgets import UnfoldAdminSelectWidget

from verification.admin.auth import form_tokens
from verification.admin.base.columns import KeyColumns
from verification.admin.base.current_project import current_projects, section_address
from verification.admin.base.display import (
    column,
    format_time,
    label,
    monospace,
    page_address,
    time_ago_label,
    time_label,
)
from verification.admin.base.model_admin import ScopedAdmin
from verification.core.errors import UserError
from verification.models import ApiKey, KeyState, Right
from verification.services.projects.keys import revoke_key, rotate_key

COPY_NOW = gettext_lazy("Copy it now; you won't see it again.")
HOUR = 3_600
DAY = 86_400
LIFETIMES = (
    ("", gettext_lazy("Until revoked")),
    (str(DAY), gettext_lazy("1 day")),
    (str(7 * DAY), gettext_lazy("7 days")),
    (str(30 * DAY), gettext_lazy("30 days")),
    (str(90 * DAY), gettext_lazy("90 days")),
    (str(365 * DAY), gettext_lazy("1 year")),
)
OVERLAPS = (
    (str(HOUR), gettext_lazy("1 hour")),
    (str(DAY), gettext_lazy("1 day")),
    (str(7 * DAY), gettext_lazy("7 days")),
    (str(30 * DAY), gettext_lazy("30 days")),
)
STATE_VARIANTS = {KeyState.LIVE: "success", KeyState.EXPIRED: "warning", KeyState.REVOKED: "danger"}


class RotateKeyForm(forms.Form):
    overlap = forms.ChoiceField(
        choices=OVERLAPS,
        initial=str(DAY),
        label=gettext_lazy("Keep the old key valid for"),
        help_text=gettext_lazy("Both keys work meanwhile, so you can update your servers one at a time."),
        widget=UnfoldAdminSelectWidget,
    )
    lifetime = forms.ChoiceField(
        choices=LIFETIMES, required=False, label=gettext_lazy("New key valid for"), widget=UnfoldAdminSelectWidget
    )


class KeyStateFilter(admin.SimpleListFilter):
    title = gettext_lazy("state")
    parameter_name = "state"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [
            ("active", str(KeyState.LIVE.label)),
            ("expired", str(KeyState.EXPIRED.label)),
            ("revoked", str(KeyState.REVOKED.label)),
        ]

    def queryset(self, request: HttpRequest, queryset: Any) -> Any:
        states = {"active": queryset.live, "expired": queryset.expired, "revoked": queryset.revoked}
        return states.get(self.value() or "", queryset.all)()


@admin.register(ApiKey)
class KeyAdmin(KeyColumns, ScopedAdmin):
    viewers = Right.USE_KEYS
    empty_text = gettext_lazy("Use an API key in apps and a secret key on your server.")
    list_display = ("key", "kind_label", "project", "state", "created", "expires", "last_used", "rotate_link")
    list_filter = (KeyStateFilter, "kind")
    list_select_related = ("project", "created_by")
    ordering = ("-created_at",)
    actions = ("revoke_selected",)
    actions_detail = ("rotate", "revoke")
    fieldsets = (
        (None, {"fields": ("key", "kind_label", "project", "state")}),
        (gettext_lazy("Validity"), {"fields": ("created", "issuer", "expires", "last_used", "revoked")}),
    )
    readonly_fields: ClassVar[tuple[str, ...]] = (
        *("key", "kind_label", "state", "created", "issuer"),
        *("expires", "last_used", "revoked"),
    )

    revoked = column("revoked_at", gettext_lazy("Revoked"))

    def get_intro(self, request: HttpRequest) -> str:
        projects = list(current_projects(request)[:2])
        is_one = len(projects) == 1
        return _(
            'Create keys on a <a class="ww-link" href="%(address)s">project\'s page</a>, where each full'
            " key is shown once. Here you can review, rotate and revoke them."
        ) % {
            "address": section_address(projects[0], "keys")
            if is_one
            else reverse("admin:verification_project_changelist")
        }

    @admin.display(description=gettext_lazy("Key"), ordering="prefix")
    def key(self, key: ApiKey) -> str:
        return monospace(key)

    @admin.display(description=gettext_lazy("State"))
    def state(self, key: ApiKey) -> str:
        return label(key.state.label, STATE_VARIANTS[key.state])

    @admin.display(description=gettext_lazy("Created by"))
    def issuer(self, key: ApiKey) -> str:
        return str(key.created_by or "–")

    created = column("created_at", gettext_lazy("Created"), ordering="created_at")

    @admin.display(description=gettext_lazy("Expires"), ordering="expires_at")
    def expires(self, key: ApiKey) -> str:
        return time_label(key.expires_at) if key.expires_at else _("Never")

    @admin.display(description=gettext_lazy("Last used"), ordering="last_used_at")
    def last_used(self, key: ApiKey) -> str:
        return time_ago_label(key.last_used_at) if key.last_used_at else _("Never")

    def new_secrets(self, key: ApiKey, text: str) -> list[tuple[str, str, str]]:
        """Return the lines that show a new key: each with its name, its text and a note."""
        note = (
            _("Valid until {time}.").format(time=format_time(key.expires_at))
            if key.expires_at
            else _("Valid until revoked.")
        )
        return [(_("{kind} of {project}").format(kind=key.get_kind_display(), project=key.project.name), text, note)]

    @action(description=gettext_lazy("Rotate"), icon="autorenew", permissions=["view"])
    def rotate(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Issue a new key, shown once, and set an end for the old one, in one step."""
        key: ApiKey = self.find(request, object_id)
        form = RotateKeyForm(request.POST if request.method == "POST" else None)
        if not form.is_valid():
            return self.ask(
                request,
                _("Rotate"),
                row=key,
                form=form,
                intro=_("Creates a new key of the same kind, shown once. The old key expires on its own."),
                submit=_("Create the new key"),
                acts_once=True,
            )
        if fault := form_tokens.spend(request):
            return self.refuse(request, key, _("{fault} No key was created.").format(fault=fault))
        try:
            issued = rotate_key(
                key.pk,
                overlap=timedelta(seconds=int(form.cleaned_data["overlap"])),
                expires_in=seconds_of(form.cleaned_data["lifetime"]),
                created_by=request.user,
            )
        except UserError as error:
            return self.refuse(request, key, error)
        key.refresh_from_db()
        assert key.expires_at is not None
        new = ApiKey.objects.get(pk=issued.id)
        self.log_change(request, key, f"Rotated: {new} takes its place")
        warning = _("{copy_now} The old key {key} expires {time}.").format(
            copy_now=COPY_NOW, key=key, time=format_time(key.expires_at)
        )
        return self.show_secrets(
            request,
            new,
            title=_("The new key"),
            warning=warning,
            secrets=self.new_secrets(new, issued.text),
        )

    @action(description=gettext_lazy("Revoke"), icon="block", permissions=["view"], variant=ActionVariant.DANGER)
    def revoke(self, request: HttpRequest, object_id: str) -> HttpResponse:
        key: ApiKey = self.find(request, object_id)
        if key.revoked_at:
            return self.refuse(request, key, _("The key {key} was already revoked.").format(key=key))
        if request.method != "POST":
            return self.ask(request, row=key, **_revoking([key]))
        self._revoke(request, [key])
        return HttpResponseRedirect(page_address(key))

    @admin.action(description=gettext_lazy("Revoke selected keys"), permissions=["view"])
    def revoke_selected(self, request: HttpRequest, queryset: QuerySet[ApiKey]) -> HttpResponse | None:
        keys = list(queryset.filter(revoked_at=None))
        if not keys:
            self.message_user(request, _("None of these keys can be revoked."), messages.WARNING)
            return None
        if not request.POST.get("confirmed"):
            return self.ask_about_selected(request, keys, action="revoke_selected", **_revoking(keys))
        self._revoke(request, keys)
        return None

    def _revoke(self, request: HttpRequest, keys: list[ApiKey]) -> None:
        for key in keys:
            if revoke_key(key.pk):
                self.log_change(request, key, gettext_noop("Revoked"))
                self.message_user(request, _("The key {key} was revoked.").format(key=key), messages.SUCCESS)


def _revoking(keys: list[ApiKey]) -> dict[str, Any]:
    """Return the words of the question before keys are revoked."""
    names = ", ".join(
        _("{key} ({kind} of {project})").format(key=key, kind=key.get_kind_display(), project=key.project)
        for key in keys
    )
    return {
        "title": _("Revoke"),
        "intro": ngettext(
            "{names}: requests with this key are refused within a second. This cannot be undone.",
            "{names}: requests with these keys are refused within a second. This cannot be undone.",
            len(keys),
        ).format(names=names),
        "submit": _("Revoke"),
        "is_dangerous": True,
    }


def seconds_of(lifetime: str) -> int | None:
    """Read a choice of :data:`LIFETIMES`; None is without end."""
    return int(lifetime) if lifetime else None
