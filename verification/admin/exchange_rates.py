"""Exchange rates: what prices in other currencies are worth in the currency of account."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import admin
from django.http import HttpRequest
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from verification.admin.base.model_admin import ScopedAdmin
from verification.admin.base.permissions import Who
from verification.core.formats import DAY, written_date
from verification.models import ExchangeRate
from verification.services.projects.ceilings import platform


class ExchangeRateForm(forms.ModelForm):  # type: ignore[type-arg]  # not generic at run time
    class Meta:
        labels = {"account": gettext_lazy("In"), "valid_from": gettext_lazy("Valid from")}


@admin.register(ExchangeRate)
class ExchangeRateAdmin(ScopedAdmin):
    """The operator's rates. Figures use them at once, also those of past days."""

    viewers = adders = changers = deleters = Who.SUPERUSERS
    form = ExchangeRateForm
    fields = ("currency", "account", "rate", "valid_from")
    list_display = ("currency", "rate_text", "account", "good_from")
    ordering = ("currency", "-valid_from")

    def get_changeform_initial_data(self, request: HttpRequest) -> dict[str, Any]:
        return {"account": platform().account_currency, **super().get_changeform_initial_data(request)}

    def get_intro(self, request: HttpRequest) -> str:
        account = platform().account_currency
        intro = _(
            'Costs are shown in %(account)s, the account currency set under <a class="ww-link"'
            ' href="%(address)s">platform limits</a>. Prices in another currency need an exchange rate into'
            " it. A rate applies from its start date until the next rate of the same pair."
        ) % {"account": account, "address": reverse("admin:verification_platform_changelist")}
        if ExchangeRate.objects.exists():
            return intro
        none_yet = _("No rates yet. You need none if all prices are in %(account)s.") % {"account": account}
        return f"{intro} {none_yet}"

    @admin.display(description=gettext_lazy("Rate"), ordering="rate")
    def rate_text(self, row: ExchangeRate) -> str:
        return f"{row.rate.normalize():f}"

    @admin.display(description=gettext_lazy("Valid from"), ordering="valid_from")
    def good_from(self, row: ExchangeRate) -> str:
        return written_date(row.valid_from, DAY)
