"""The page on which users see where they are logged in, and end it. Superusers see that of every user."""

from __future__ import annotations

import uuid
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.utils.translation import gettext as _

from verification.admin.auth.second_factor import page
from verification.admin.auth.session_store import stored_key
from verification.admin.base.display import format_exact_time, time_ago_label, time_label
from verification.core.formats import EXACT
from verification.services.users import logins


def own(request: HttpRequest) -> HttpResponse:
    return _answer(request, request.user)


def of_user(request: HttpRequest, user_id: int) -> HttpResponse:
    """Show a superuser where another user is logged in."""
    reader: Any = request.user
    if not reader.is_superuser:
        raise PermissionDenied
    user = User.objects.filter(pk=user_id).first()
    if user is None:
        raise Http404
    return _answer(request, user)


def _answer(request: HttpRequest, user: Any) -> HttpResponse:
    is_own = user.pk == request.user.pk
    here = stored_key(request.session.session_key or "")
    if request.method == "POST":
        messages.info(request, _end(request, user, here if is_own else ""))
        return HttpResponseRedirect(request.path)
    rows = [
        {
            "number": login.number,
            "browser": login.browser,
            "network": login.network,
            "since": time_label(login.started_at, EXACT),
            "since_heard": format_exact_time(login.started_at),
            "seen": time_ago_label(login.session.expire_date - timedelta(seconds=settings.SESSION_COOKIE_AGE)),
            "is_this": login.session_id == here,
        }
        for login in logins.of(user)
    ]
    title = _("Active sessions") if is_own else _("Active sessions of {user}").format(user=user.get_username())
    return page(request, "logins.html", title, rows=rows, is_own=is_own, others=[r for r in rows if not r["is_this"]])


def _end(request: HttpRequest, user: User, here: str) -> str:
    if request.POST.get("step") == "all":
        number = logins.end_all(user, but=here)
        return _("{number} logged out.").format(number=number) if number else _("There were no other sessions.")
    try:
        wanted = uuid.UUID(request.POST.get("number", ""))
    except ValueError:
        return _("There were no other sessions.")
    return _("Logged out.") if logins.end(user, wanted) else _("This session had already ended.")
