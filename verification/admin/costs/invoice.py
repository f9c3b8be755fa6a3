"""A vendor's invoice against our own count: a CSV file in, differences by country and day out. Nothing is stored."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from decimal import Decimal
from typing import Any
from urllib.parse import quote

from django import forms
from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.text import slugify
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from unfold.widgets import UnfoldAdminFileFieldWidget, UnfoldAdminSelectWidget, UnfoldAdminTextInputWidget

from verification.admin.auth.reauthentication import skip_reauthentication
from verification.admin.base.csv_export import harmless
from verification.admin.base.current_project import current_project_ids
from verification.admin.base.database_router import database_for, reading
from verification.admin.figures.money import signed
from verification.core.errors import UserError
from verification.core.formats import DAY, grouped, written_date
from verification.models import Price, Provider
from verification.services.analytics import costs, invoices
from verification.services.analytics.invoices import Comparison, InvoiceDifference

ROWS_SHOWN = 100  # of the differences by country and day: the file has them all
COLUMN_MAX_LENGTH = 100  # characters of a column's name
DAY_FIRST, MONTH_FIRST = "day", "month"


class InvoiceForm(forms.Form):
    provider = forms.ModelChoiceField(
        label=gettext_lazy("Provider"), queryset=Provider.objects.none(), widget=UnfoldAdminSelectWidget
    )
    file = forms.FileField(
        label=gettext_lazy("Invoice as CSV"),
        widget=UnfoldAdminFileFieldWidget(attrs={"accept": ".csv,.txt,.tsv"}),
        help_text=gettext_lazy(
            "One line per message, or totals by day and country, with column names in the first line. Up to 3 MB."
        ),
    )
    currency = forms.RegexField(
        label=gettext_lazy("Currency"),
        regex=r"\A[A-Za-z]{3}\Z",
        required=False,
        widget=UnfoldAdminTextInputWidget(attrs={"autocomplete": "off", "maxlength": 3}),
        help_text=gettext_lazy(
            "Three letters, such as EUR. Leave empty for the currency of the provider's price list."
        ),
    )
    dates = forms.ChoiceField(
        label=gettext_lazy("Dates"),
        required=False,
        choices=[
            ("", gettext_lazy("Detect automatically")),
            (DAY_FIRST, gettext_lazy("Day first, 31/12/2026")),
            (MONTH_FIRST, gettext_lazy("Month first, 12/31/2026")),
        ],
        widget=UnfoldAdminSelectWidget,
    )

    def __init__(self, request: HttpRequest, *data: Any) -> None:
        super().__init__(*data)
        chosen = self.fields["provider"]
        assert isinstance(chosen, forms.ModelChoiceField)
        ids = current_project_ids(request)
        rows = Provider.objects.of(ids) if request.user.is_superuser else Provider.objects.filter(project__in=ids)
        chosen.queryset = rows.order_by("name")
        for meaning, title in invoices.TITLES.items():
            self.fields[f"column_{meaning}"] = forms.CharField(
                label=title,
                required=False,
                max_length=COLUMN_MAX_LENGTH,
                widget=UnfoldAdminTextInputWidget(attrs={"autocomplete": "off"}),
            )

    @property
    def columns(self) -> list[Any]:
        return [field for field in self if field.name.startswith("column_")]

    @property
    def first(self) -> list[Any]:
        return [field for field in self if not field.name.startswith("column_")]


@skip_reauthentication
def invoice_view(request: HttpRequest, model_admin: Any) -> HttpResponse:
    form = InvoiceForm(request, *((request.POST, request.FILES) if request.method == "POST" else ()))
    found = _compare(request, form) if form.is_valid() else None
    context = model_admin.page_context(
        request,
        _("Compare an invoice"),
        opts=None,
        form=form,
        back=reverse("admin:verification_costs"),
        **(_context(found, form.cleaned_data["provider"]) if found else {}),
    )
    status = 400 if form.is_bound and not form.is_valid() else 200
    return TemplateResponse(request, "admin/verification/invoice.html", context, status=status)


def _compare(request: HttpRequest, form: InvoiceForm) -> Comparison | None:
    """Compare the file. A fault of it stands in the form."""
    values = form.cleaned_data
    provider: Provider = values["provider"]
    names = {meaning: values[f"column_{meaning}"] for meaning in invoices.TITLES}
    is_day_first = {DAY_FIRST: True, MONTH_FIRST: False}.get(values["dates"])
    try:
        raw = values["file"].read(settings.INVOICE_MAX_BYTES + 1)
        if len(raw) > settings.INVOICE_MAX_BYTES:
            raise UserError(_("The file is larger than 3 MB. Compare one week at a time."))
        currency = values["currency"].upper() or _currency_of(provider)
        invoice = invoices.read(raw, names=names, currency=currency, is_day_first=is_day_first, provider=provider.name)
        with reading(database_for(request)):
            return invoices.compare(invoice, provider, current_project_ids(request))
    except UserError as error:
        form.add_error("file", str(error))
        return None


def _currency_of(provider: Provider) -> str:
    prices = Price.objects.filter(provider=provider).values_list("currency", flat=True)
    return prices.first() or costs.account_currency()


def _context(found: Comparison, provider: Provider) -> dict[str, Any]:
    countries = [each for each in found.by_country if not each.is_none]
    by_day = [each for each in found.by_day if not each.is_none]
    return {
        "found": found,
        "total": _row(found.total),
        "sentence": _sentence(found),
        "countries": [_row(each) for each in countries[:ROWS_SHOWN]],
        "has_equal_countries": len(countries) < len(found.by_country),
        "rows": [_row(each) for each in by_day[:ROWS_SHOWN]],
        "rows_number": len(by_day),
        "file": f"data:text/csv;charset=utf-8,{quote(_file(by_day, found.invoice.currency))}",
        "file_name": _file_name(found, provider),
    }


def _sentence(found: Comparison) -> str:
    difference, currency = round(found.total.amount, 2), found.invoice.currency
    if not difference:
        return _("The invoice matches your messages.")
    text = (
        _("The invoice is {amount} {currency} higher than your price list.")
        if difference > 0
        else _("The invoice is {amount} {currency} lower than your price list.")
    )
    return text.format(amount=grouped(abs(difference), places=2), currency=currency)


def _row(each: InvoiceDifference) -> dict[str, Any]:
    return {
        "country": each.country,
        "day": written_date(each.day, DAY) if each.day else "",
        "asked": grouped(round(each.asked.amount, 4)),
        "counted": grouped(round(each.counted.amount, 4)),
        "difference": signed(round(each.amount, 4)),
        "asked_messages": each.asked.messages,
        "counted_messages": each.counted.messages,
        "messages": signed(Decimal(each.messages)),
    }


def _file_name(found: Comparison, provider: Provider) -> str:
    """Name the provider and the months of the invoice."""
    first, last = (f"{pick(found.invoice.sums).day:%Y-%m}" for pick in (min, max))
    months = first if first == last else f"{first}-to-{last}"
    return f"invoice-differences-{slugify(provider.name) or provider.pk}-{months}.csv"


def _file(differences: Sequence[InvoiceDifference], currency: str) -> str:
    """Return all differences as CSV, which the page holds: the invoice is not stored to compare it again."""
    text = io.StringIO()
    rows = csv.writer(text)
    money = ("invoice_amount", "counted_amount", "difference")
    rows.writerow(["day", "country", "currency", *money, "invoice_messages", "counted_messages"])
    for each in differences:
        sums = (each.asked.amount, each.counted.amount, each.amount)
        rows.writerow(
            [
                f"{each.day}",
                harmless(each.country),
                currency,
                *(f"{value:.{costs.FILE_PLACES}f}" for value in sums),
                each.asked.messages,
                each.counted.messages,
            ]
        )
    return text.getvalue()
