"""Exchange rates: what prices in other currencies are worth in the currency of account."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import admin
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext_lazy as _

from verification.admin.base.model_admin import ScopedAdmin
from verification.admin.base.permissions import Who
from verification.core.dates import DAY, written_date
from verification.models import ExchangeRate
from verification.services.projects.ceilings import platform


class ExchangeRateForm(forms.ModelForm):  # type: ignore[type-arg]  # not generic at run time
    class Meta:
        labels = {"account": _("In"), "valid_from": _("Good from")}


@admin.register(ExchangeRate)
class ExchangeRateAdmin(ScopedAdmin):
    """The operator's rates. Figures are told by them at once, also those of days that are past."""

    viewers = adders = changers = deleters = Who.SUPERUSERS
    form = ExchangeRateForm
    fields = ("currency", "account", "rate", "valid_from")
    list_display = ("currency", "shown_rate", "account", "good_from")
    list_before_template = "admin/verification/exchangerate/intro.html"
    ordering = ("currency", "-valid_from")

    def get_changeform_initial_data(self, request: HttpRequest) -> dict[str, Any]:
        return {"account": platform().account_currency, **super().get_changeform_initial_data(request)}

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        return super().changelist_view(request, {**(extra_context or {}), "account": platform().account_currency})

    @admin.display(description=_("Rate"), ordering="rate")
    def shown_rate(self, row: ExchangeRate) -> str:
        return f"{row.rate.normalize():f}"

    @admin.display(description=_("Good from"), ordering="valid_from")
    def good_from(self, row: ExchangeRate) -> str:
        return written_date(row.valid_from, DAY)
