"""Setting up a second factor, and the user's own page of it."""

from __future__ import annotations

from typing import Any

import segno
from django import forms
from django.contrib import admin
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.safestring import mark_safe
from unfold.widgets import UnfoldAdminTextInputWidget

from verification.panel.door.session import FACTOR
from verification.services.users import second_factor

SHOWN = "second_factor_shown"  # the id of the factor whose secret this session was shown


class CodeForm(forms.Form):
    code = forms.CharField(
        label="Code",
        max_length=30,
        widget=UnfoldAdminTextInputWidget(
            attrs={"autocomplete": "one-time-code", "autofocus": True, "spellcheck": "false"}
        ),
    )


def own(request: HttpRequest) -> HttpResponse:
    """Show the page of a user who is logged in: set up a factor, or draw new recovery codes."""
    user: Any = request.user
    if second_factor.factor_of(user) is None:
        return set_up(request, user, next_page=reverse("admin:second_factor"))
    if request.method == "POST":
        return show_codes(request, second_factor.renew_recovery_codes(user), reverse("admin:second_factor"))
    return page(request, "second_factor.html", "Second factor")


def set_up(request: HttpRequest, user: User, *, next_page: str) -> HttpResponse:
    """Show the QR code. The first right code switches the factor on and shows the recovery codes, once.

    Then, and only then, the session holds the factor's id under ``FACTOR``.
    """
    form = CodeForm(request.POST if request.method == "POST" else None)
    shown: int = request.session.get(SHOWN, 0)
    if form.is_valid():
        codes = second_factor.confirm(user, shown, form.cleaned_data["code"])
        if codes is not None:
            request.session[FACTOR] = request.session.pop(SHOWN)
            return show_codes(request, codes, next_page)
        form.add_error("code", "This is not the code that the app shows now. Wait for the next one and try again.")
    request.session[SHOWN], secret = second_factor.begin(user, shown)
    picture = segno.make(second_factor.key_uri(user, secret), error="m").svg_inline(border=2, omitsize=True)
    return page(
        request,
        "enrol.html",
        "Set up your second factor",
        form=form,
        picture=mark_safe(picture),  # drawn by segno from an address that is quoted  # noqa: S308
        secret=" ".join(secret[start : start + 4] for start in range(0, len(secret), 4)),
    )


def show_codes(request: HttpRequest, codes: list[str], next_page: str) -> HttpResponse:
    return page(request, "recovery_codes.html", "Recovery codes", codes=codes, next_page=next_page)


def page(request: HttpRequest, template: str, title: str, **more: Any) -> HttpResponse:
    request.current_app = admin.site.name
    context = {**admin.site.each_context(request), "title": title, **more}
    response = TemplateResponse(request, f"admin/verification/door/{template}", context)
    response["Cache-Control"] = "no-store"
    return response
