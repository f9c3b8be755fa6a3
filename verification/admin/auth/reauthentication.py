"""Asking users again who they are, before a change.

Every POST to the panel asks unless its view is marked :func:`skip_reauthentication`, so a new page is safe from the
start. The question itself keeps what was typed, encrypted and bound to session and address. The right answer carries
it out.
"""

from __future__ import annotations

import base64
from collections.abc import Callable
from functools import wraps
from typing import Any

from django.contrib import admin
from django.contrib.auth import authenticate
from django.contrib.auth.signals import user_login_failed
from django.http import HttpRequest, HttpResponse, QueryDict
from django.template.response import TemplateResponse
from django.utils.translation import gettext as _

from verification.admin.auth import throttle
from verification.admin.auth.session import confirm, is_fresh
from verification.core import crypto
from verification.core.crypto import DecryptionFailed, decrypt, encrypt
from verification.services.users import second_factor

ANSWER, HELD = "_confirm", "_held"
View = Callable[..., Any]


def skip_reauthentication(view: View) -> View:
    """Mark a view whose POST harms nobody, such as a check or a test message: it asks nothing."""
    view.skips_reauthentication = True  # type: ignore[attr-defined]
    return view


def reauthenticated(view: View) -> View:
    @wraps(view)
    def wrapped(request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
        if request.method != "POST" or getattr(view, "skips_reauthentication", False):
            return view(request, *args, **kwargs)
        held = request.POST.get(HELD)
        if held is None:
            return view(request, *args, **kwargs) if is_fresh(request) else _ask(request, _seal(request))
        if not (is_fresh(request) or _check_answer(request)):
            return _ask(request, held, error=_("That is not correct. Please try again."))
        try:
            request.POST = _unseal(request, held)  # type: ignore[assignment]
        except (DecryptionFailed, ValueError):
            return _ask(request, held, error=_("This form belongs to another session. Please open it again."))
        return view(request, *args, **kwargs)

    return wrapped


def _check_answer(request: HttpRequest) -> bool:
    """Check the password or the code of the app, and confirm the session. A wrong answer counts as a failed login."""
    user: Any = request.user
    answer = request.POST.get(ANSWER, "")
    if len(answer) == 6 and answer.isascii() and answer.isdigit() and second_factor.has_app(user):
        is_right = not throttle.is_locked(request, user.get_username()) and bool(second_factor.check(user, answer))
        if not is_right:
            user_login_failed.send(__name__, credentials={"username": user.get_username()}, request=request)
    else:
        is_right = authenticate(request, username=user.get_username(), password=answer) == user
    if is_right:
        confirm(request)
    return is_right


def _seal(request: HttpRequest) -> str:
    return base64.b64encode(encrypt(request.POST.urlencode(), binding=_binding(request))).decode()


def _unseal(request: HttpRequest, held: str) -> QueryDict:
    return QueryDict(decrypt(base64.b64decode(held), binding=_binding(request)))


def _binding(request: HttpRequest) -> str:
    return crypto.held_form_binding(request.session.session_key, request.get_full_path())


def _ask(request: HttpRequest, held: str, error: str = "") -> HttpResponse:
    request.current_app = admin.site.name
    context = {
        **admin.site.each_context(request),
        "title": _("Confirm it's you"),
        "held": held,
        "error": error,
        "has_app": second_factor.has_app(request.user),  # type: ignore[arg-type]
    }
    response = TemplateResponse(request, "admin/verification/confirm.html", context)
    response["Cache-Control"] = "no-store"
    return response
