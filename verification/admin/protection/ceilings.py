"""The operator's ceilings over what owners set."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import admin
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.translation import gettext_lazy

from verification.admin.base.model_admin import ScopedAdmin
from verification.admin.base.permissions import Who
from verification.models import Platform


class PlatformForm(forms.ModelForm):  # type: ignore[type-arg]  # not generic at run time
    class Meta:
        labels = {
            "sms_per_recipient_a_day": gettext_lazy("SMS to one number per day"),
            "max_daily_budget": gettext_lazy("Daily message limit per channel"),
            "max_sends_per_day": gettext_lazy("Sends to one recipient per day"),
            "max_requests_per_second": gettext_lazy("Requests per second"),
            "max_creates_per_address": gettext_lazy("Sessions per IP address"),
            "account_currency": gettext_lazy("Account currency"),
        }


@admin.register(Platform)
class PlatformAdmin(ScopedAdmin):
    """The ceilings. A setting of an owner that is above a new ceiling stays as it is, but the ceiling holds."""

    viewers = changers = Who.SUPERUSERS
    form = PlatformForm
    fieldsets = (
        (gettext_lazy("All projects together"), {"fields": ("sms_per_recipient_a_day",)}),
        (
            gettext_lazy("Maximum per project"),
            {
                "fields": (
                    "max_daily_budget",
                    "max_sends_per_day",
                    "max_requests_per_second",
                    "max_creates_per_address",
                )
            },
        ),
        (gettext_lazy("Costs"), {"fields": ("account_currency",)}),
    )

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        """There is one row, so its page stands in for the list."""
        only = self.get_queryset(request).first()
        if only is None:
            return super().changelist_view(request, extra_context)
        return HttpResponseRedirect(reverse("admin:verification_platform_change", args=(only.pk,)))
