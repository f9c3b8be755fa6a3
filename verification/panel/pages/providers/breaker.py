"""Providers that are set aside: shown on their pages, and let back in before their time."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils import formats, timezone
from django.utils.safestring import SafeString
from unfold.decorators import action

from verification.models import Provider
from verification.panel.door.confirmation import without_asking
from verification.panel.frame.display import label
from verification.panel.frame.page import ScopedAdmin
from verification.services.gateways.accounts import reset_breaker


def open_until(provider: Provider) -> datetime | None:
    """The end of its time aside, which may have passed: then it waits for its probe. None for one that works."""
    breaker = getattr(provider, "breaker", None)
    return breaker.open_until if breaker else None


def state_label(provider: Provider) -> SafeString:
    if not provider.is_enabled:
        return label("Disabled")
    until = open_until(provider)
    if until is None:
        return label("Enabled", "success")
    if until <= timezone.now():
        return label("Set aside: next message is a probe", "warning")
    return label(f"Set aside until {_clock(until)}", "danger")


class BreakerAdmin(ScopedAdmin):
    """Adds the notice and the ways back to a page of providers."""

    actions: Any = ("use_again_selected",)
    change_form_outer_before_template = "admin/verification/provider/set_aside.html"

    def get_actions_detail(self, request: HttpRequest, object_id: Any) -> Any:
        """Its button stands in the notice, where there is one."""
        return [each for each in super().get_actions_detail(request, object_id) if each.path != "use-again"]

    @without_asking
    @action(description="Use again now", permissions=["change"], url_path="use-again")
    def use_again(self, request: HttpRequest, object_id: str) -> HttpResponse:
        provider: Provider = self.find(request, object_id)
        if request.method == "POST":
            self._use_again(request, provider)
        return HttpResponseRedirect(reverse("admin:verification_provider_change", args=(provider.pk,)))

    @admin.action(description="Use the selected again now", permissions=["change"])
    def use_again_selected(self, request: HttpRequest, queryset: QuerySet[Provider]) -> None:
        """``queryset`` holds rows of the user's only, whatever ids the form was made to carry."""
        for provider in queryset:
            self._use_again(request, provider)

    def _use_again(self, request: HttpRequest, provider: Provider) -> None:
        if not reset_breaker(provider):
            self.message_user(request, f"{provider} was not set aside.", messages.INFO)
            return
        self.log_change(request, provider, "Put back into use before its time")
        self.message_user(request, f"{provider} is used again. If it keeps failing, it is set aside again.")


def _clock(moment: datetime) -> str:
    """A time aside lasts minutes, so the date says nothing."""
    return f"{formats.date_format(timezone.localtime(moment), 'H:i:s')} UTC"
