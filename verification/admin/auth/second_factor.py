"""Setting up a second factor, and the user's own page of their app, security keys and recovery codes."""

from __future__ import annotations

from typing import Any

import segno
from django import forms
from django.conf import settings
from django.contrib import admin, messages
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.safestring import mark_safe
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from unfold.widgets import UnfoldAdminTextInputWidget

from verification.admin.auth import webauthn
from verification.admin.auth.session import FACTOR
from verification.admin.base.display import format_exact_time, time_ago_label
from verification.core.errors import UserError
from verification.services.users import second_factor, security_keys

SHOWN = "second_factor_shown"  # the id of the app whose secret this session saw
ADD_KEY = "add_key"  # the step of the forms that add a security key


class CodeForm(forms.Form):
    code = forms.CharField(
        label=gettext_lazy("Code"),
        max_length=30,
        widget=UnfoldAdminTextInputWidget(
            attrs={"autocomplete": "one-time-code", "autofocus": True, "spellcheck": "false"}
        ),
    )


def own(request: HttpRequest) -> HttpResponse:
    """Show a user who is logged in their factors, and let them add and remove some."""
    user: Any = request.user
    here = reverse("admin:second_factor")
    form = webauthn.KeyForm()
    if request.method == "POST":
        step = request.POST.get("step", "")
        if step == ADD_KEY:
            form = webauthn.KeyForm(request.POST)
            response = add_key(request, user, form, next_page=here)
            if response:
                return response
        elif step == "codes" and second_factor.factors_of(user):
            return show_codes(request, second_factor.renew_recovery_codes(user), here)
        else:
            _remove(request, user, step)
            return HttpResponseRedirect(here)
    factors = second_factor.factors_of(user)
    return page(
        request,
        "second_factor.html",
        _("Two-factor authentication"),
        has_app=second_factor.has_app(user),
        keys=[_line(key) for key in security_keys.of(user)],
        codes_left=second_factor.recovery_codes_left(user),
        factors=len(factors),
        may_remove=len(factors) > 1 or not settings.IS_SECOND_FACTOR_REQUIRED,
        **key_form(request, user, form),
    )


def own_app(request: HttpRequest) -> HttpResponse:
    """Let a user who is logged in set up an app, or lead back where they have one."""
    user: Any = request.user
    here = reverse("admin:second_factor")
    if second_factor.has_app(user):
        return HttpResponseRedirect(here)
    return set_up(request, user, next_page=here, back=here)


def set_up(request: HttpRequest, user: User, *, next_page: str, back: str, **more: Any) -> HttpResponse:
    """Show the QR code. The first right code switches the app on and shows the recovery codes, once.

    Then, and only then, the session holds the factor's name under ``FACTOR``.
    """
    form = CodeForm(request.POST if request.method == "POST" and request.POST.get("step") != ADD_KEY else None)
    device_id: int = request.session.get(SHOWN, 0)
    if form.is_valid():
        codes = second_factor.confirm(user, device_id, form.cleaned_data["code"])
        if codes is not None:
            request.session[FACTOR] = second_factor.app_name(request.session.pop(SHOWN))
            return show_codes(request, codes, next_page) if codes else HttpResponseRedirect(next_page)
        form.add_error("code", _("Wrong code. Wait for the app's next code and try again."))
    request.session[SHOWN], secret = second_factor.begin(user, device_id)
    picture = segno.make(second_factor.key_uri(user, secret), error="m").svg_inline(border=2, omitsize=True)
    return page(
        request,
        "enrol.html",
        _("Set up two-factor authentication"),
        form=form,
        picture=mark_safe(picture),  # drawn by segno from an address that is quoted  # noqa: S308
        secret=" ".join(secret[start : start + 4] for start in range(0, len(secret), 4)),
        back=back,
        **more,
    )


def add_key(request: HttpRequest, user: User, form: webauthn.KeyForm, *, next_page: str) -> HttpResponse | None:
    """Add the key that the form brings, and go on. Return None, with the form's errors, if it was not accepted.

    Then, and only then, the session holds the key's name under ``FACTOR``, unless another factor was given in it.
    """
    if not form.is_valid():
        return None
    try:
        ceremony = webauthn.spend(request)
        key, codes = security_keys.add(
            user, name=form.cleaned_data["name"], answer=form.cleaned_data["answer"], ceremony=ceremony
        )
    except UserError as error:
        form.add_error("name", str(error))
        return None
    request.session[FACTOR] = request.session.get(FACTOR) or second_factor.key_name(key.pk)
    if codes:
        return show_codes(request, codes, next_page)
    messages.success(request, _("{key} was added. You can use it the next time you log in.").format(key=key.name))
    return HttpResponseRedirect(next_page)


def key_form(request: HttpRequest, user: User, form: webauthn.KeyForm) -> dict[str, Any]:
    """Return what the template ``key_form.html`` needs: the form, and the options under a new challenge."""
    return {
        "key_form": form,
        "key_options": webauthn.options(request, user, security_keys.options_to_add),
        "key_step": ADD_KEY,
    }


def show_codes(request: HttpRequest, codes: list[str], next_page: str) -> HttpResponse:
    return page(request, "recovery_codes.html", _("Recovery codes"), codes=codes, next_page=next_page)


def page(request: HttpRequest, template: str, title: str, **more: Any) -> HttpResponse:
    request.current_app = admin.site.name
    context = {**admin.site.each_context(request), "title": title, **more}
    response = TemplateResponse(request, f"admin/verification/auth/{template}", context)
    response["Cache-Control"] = "no-store"
    return response


def _remove(request: HttpRequest, user: User, step: str) -> None:
    """Remove the app or a key. This session goes on with another factor, if it was opened by that one."""
    kind, _unused, number = step.partition(":")
    try:
        if kind == "remove_app":
            second_factor.remove_app(user)
            text = _("The authenticator app was removed. Also delete the entry in the app.")
        elif kind == "remove_key" and number.isascii() and number.isdigit() and len(number) < 19:
            text = _("{remove} was removed, and the sessions it opened were logged out.").format(
                remove=security_keys.remove(user, int(number))
            )
        else:
            return
    except UserError as error:
        messages.error(request, str(error))
        return
    messages.success(request, text)
    left = second_factor.factors_of(user)
    if request.session.get(FACTOR) not in left:
        request.session[FACTOR] = min(left, default=None)


def _line(key: Any) -> dict[str, Any]:
    return {
        "id": key.pk,
        "name": key.name,
        "host": key.host,
        "added": _("Added {time}").format(time=format_exact_time(key.added_at)),
        "used": time_ago_label(key.used_at) if key.used_at else "",
    }
