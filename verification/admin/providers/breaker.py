"""The circuit breaker on a provider's page: its state, and the button that closes it early."""

from __future__ import annotations

from datetime import datetime

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.utils import timezone
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, gettext_noop
from unfold.decorators import action

from verification.admin.auth.reauthentication import skip_reauthentication
from verification.admin.base.display import label, page_address
from verification.admin.base.model_admin import ScopedAdmin
from verification.core.formats import CLOCK, written_moment
from verification.models import Provider
from verification.services.providers.accounts import reset_breaker


def open_until(provider: Provider) -> datetime | None:
    """Return when its circuit closes, which may have passed: then it waits for its probe. None for one that works."""
    breaker = getattr(provider, "breaker", None)
    return breaker.open_until if breaker else None


def state_label(provider: Provider) -> SafeString:
    if not provider.is_enabled:
        return label(_("Off"))
    until = open_until(provider)
    if until is None:
        return label(_("Active"), "success")
    if until <= timezone.now():
        return label(_("Paused: next message is a probe"), "warning")
    return label(_("Paused until {time}").format(time=_clock(until)), "danger")


@skip_reauthentication
@action(description=gettext_lazy("Resume now"), permissions=["change"], url_path="use-again")
def use_again(model_admin: ScopedAdmin, request: HttpRequest, object_id: str) -> HttpResponse:
    provider: Provider = model_admin.find(request, object_id)
    if request.method == "POST":
        _use_again(model_admin, request, provider)
    return HttpResponseRedirect(page_address(provider))


@admin.action(description=gettext_lazy("Resume selected"), permissions=["change"])
def use_again_selected(model_admin: ScopedAdmin, request: HttpRequest, queryset: QuerySet[Provider]) -> None:
    for provider in queryset:
        _use_again(model_admin, request, provider)


def _use_again(model_admin: ScopedAdmin, request: HttpRequest, provider: Provider) -> None:
    if not reset_breaker(provider):
        model_admin.message_user(request, _("{provider} was not paused.").format(provider=provider), messages.INFO)
        return
    model_admin.log_change(request, provider, gettext_noop("Resumed early"))
    model_admin.message_user(
        request, _("{provider} was resumed. If it keeps failing, it is paused again.").format(provider=provider)
    )


def _clock(moment: datetime) -> str:
    """Write the time without the date: a provider is paused for minutes."""
    return written_moment(moment, CLOCK)
