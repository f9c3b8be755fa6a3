"""A provider's prices: the list that holds, and another in its place once the difference was seen."""

from __future__ import annotations

from typing import Any

from django import forms
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from unfold.decorators import action
from unfold.widgets import UnfoldAdminTextareaWidget

from verification.admin.auth.reauthentication import skip_reauthentication
from verification.admin.base.display import page_address
from verification.admin.base.model_admin import ScopedAdmin
from verification.core.errors import UserError
from verification.core.formats import grouped
from verification.core.numbers import whole_number
from verification.models import Provider
from verification.services.providers import price_lists
from verification.services.providers.price_lists import ListRefused, PriceLine

LINES_SHOWN = 100  # of a list or a difference: the file has them all
UNREADABLE_FILE = gettext_lazy("The file is not UTF-8 text. Save it as CSV in UTF-8 and choose it again.")


class PriceListForm(forms.Form):
    """The text of a list, or a file in its place."""

    text = forms.CharField(
        label=gettext_lazy("Prices"),
        required=False,
        strip=False,
        widget=UnfoldAdminTextareaWidget(
            attrs={
                "rows": 8,
                "spellcheck": "false",
                "class": "ww-lines",
                "placeholder": "to,price,currency,per,from\n+4915,0.0721,EUR,segment\nDE,0.075,EUR,segment\n"
                "default,0.12,EUR,segment",
            }
        ),
    )
    file = forms.FileField(
        label=gettext_lazy("Or a file"),
        required=False,
        widget=forms.FileInput(attrs={"accept": ".csv,.txt", "class": "ww-input"}),
    )

    def clean(self) -> dict[str, Any]:
        values: dict[str, Any] = super().clean() or self.cleaned_data
        text = values.get("text") or ""
        if file := values.get("file"):
            try:
                text = file.read(price_lists.MAX_CHARACTERS * 4).decode("utf-8-sig")
            except UnicodeDecodeError:
                self.add_error("file", UNREADABLE_FILE)
                return values
        try:
            values |= {"lines": price_lists.read(text), "given": text}
        except ListRefused as error:
            for fault in error.faults:
                self.add_error(None, fault)
        return values


@skip_reauthentication
@action(description=gettext_lazy("Prices"), icon="payments", permissions=["change"], url_path="prices")
def show_prices(model_admin: ScopedAdmin, request: HttpRequest, object_id: str) -> HttpResponse:
    """Show the list that holds, or after a POST the difference to the one that was given. Nothing is changed."""
    provider: Provider = model_admin.find(request, object_id)
    lines = price_lists.lines_of(provider)
    if "csv" in request.GET:
        response = HttpResponse(price_lists.format_lines(lines), content_type="text/csv; charset=utf-8")
        response["Content-Disposition"] = f'attachment; filename="prices-{provider.pk}.csv"'
        return response
    form = PriceListForm(*((request.POST, request.FILES) if request.method == "POST" else ()))
    new_lines = form.cleaned_data.get("lines") if form.is_bound and form.is_valid() else None
    context = model_admin.page_context(
        request,
        _("Prices"),
        object=provider,
        form=form,
        lines=lines[:LINES_SHOWN],
        number=len(lines),
        back=page_address(provider),
        failed_costs=provider.get_failed_costs_display(),
        **({} if new_lines is None else _difference(provider, lines, new_lines, form.cleaned_data["given"])),
    )
    return TemplateResponse(request, "admin/verification/provider/prices.html", context)


def _difference(provider: Provider, old: list[PriceLine], new: list[PriceLine], text: str) -> dict[str, Any]:
    difference = price_lists.difference(old, new)
    rows = [
        *((_("Changed"), before, after) for before, after in difference.changed),
        *((_("New"), None, line) for line in difference.added),
        *((_("Removed"), line, None) for line in difference.removed),
    ]
    return {
        "difference": difference,
        "rows": rows[:LINES_SHOWN],
        "more": max(0, len(rows) - LINES_SHOWN),
        "text": text,
        "total": len(new),
        "price_list": provider.price_list,
        "replace": reverse("admin:verification_provider_replace_prices", args=(provider.pk,)),
    }


@action(description=gettext_lazy("Update prices"), permissions=["change"], url_path="replace-prices")
def replace_prices(model_admin: ScopedAdmin, request: HttpRequest, object_id: str) -> HttpResponse:
    provider: Provider = model_admin.find(request, object_id)
    number = whole_number(request.POST.get("price_list", ""))
    back = HttpResponseRedirect(reverse("admin:verification_provider_show_prices", args=(provider.pk,)))
    if request.method != "POST" or number is None:
        return back
    try:
        lines = price_lists.read(request.POST.get("text", ""))
        price_lists.replace(provider, lines, number=number)
    except UserError as error:
        model_admin.message_user(request, str(error), "error")
        return back
    model_admin.log_change(request, provider, f"Replaced the prices: {len(lines)} now")
    model_admin.message_user(
        request,
        _("{provider} now has {number} prices. They apply to messages from now on.").format(
            provider=provider, number=grouped(len(lines))
        ),
    )
    return back
