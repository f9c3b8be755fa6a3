"""Logging in: the password, then the second factor. A user is logged in only after both.

Between the two, the session holds who gave the right password, and nothing that opens a page.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from django.conf import settings
from django.contrib import admin
from django.contrib.auth import login as django_login
from django.contrib.auth.models import User
from django.contrib.auth.signals import user_logged_in, user_logged_out, user_login_failed
from django.contrib.auth.views import LoginView
from django.dispatch import receiver
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.crypto import constant_time_compare
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, gettext_noop
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_protect
from unfold.forms import AuthenticationForm

from verification.admin.auth import throttle, webauthn
from verification.admin.auth.second_factor import ADD_KEY, CodeForm, add_key, key_form, page, set_up
from verification.admin.auth.session import FACTOR
from verification.core.client_address import client_ip
from verification.core.errors import UserError
from verification.services.records import audit
from verification.services.users import second_factor, security_keys

BACKEND = "django.contrib.auth.backends.ModelBackend"
PENDING = "pending"
INVITED = "invited"  # the digest of the link of an invitation that the browser has opened, in hexadecimal
PENDING_SECONDS = 600  # how long the right password waits for the code: time to find the phone


class PasswordForm(AuthenticationForm):
    error_messages = {
        **AuthenticationForm.error_messages,
        "invalid_login": gettext_lazy("Wrong username or password. Both are case-sensitive."),
    }

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["username"].label = gettext_lazy("Username")


class PasswordView(LoginView):
    template_name = "admin/login.html"
    authentication_form = PasswordForm

    def get(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        if admin.site.has_permission(request):
            return HttpResponseRedirect(reverse("admin:index"))
        return super().get(request, *args, **kwargs)

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        shared = {
            **admin.site.each_context(self.request),
            "title": _("Log in"),
            "app_path": self.request.get_full_path(),
        }
        return {**shared, **super().get_context_data(**kwargs)}

    def form_valid(self, form: Any) -> HttpResponse:
        user: User = form.get_user()
        return after_password(self.request, user, next_page=self.get_success_url())


first_step = PasswordView.as_view()


def after_password(request: HttpRequest, user: User, *, next_page: str) -> HttpResponse:
    """Go on to the second factor, or let the user in where none is asked for. An invitation under way is kept."""
    factors, invited = second_factor.factors_of(user), request.session.get(INVITED)
    if not factors and not settings.IS_SECOND_FACTOR_REQUIRED:
        _log_in(request, user)
        return HttpResponseRedirect(next_page)
    request.session.flush()
    request.session[PENDING] = {
        "user": user.pk,
        "hash": user.get_session_auth_hash(),  # a password changed between the steps ends the login
        "at": time.time(),
        "next": next_page,
    }
    if invited:
        request.session[INVITED] = invited
    return HttpResponseRedirect(reverse("admin:second_step" if factors else "admin:enrol"))


@never_cache
@csrf_protect
def second_step(request: HttpRequest) -> HttpResponse:
    """Ask for a security key or a code. The key's answer comes in the field ``answer``, signed by the browser."""
    user = _pending_user(request)
    if user is None or not second_factor.factors_of(user):
        return HttpResponseRedirect(reverse("admin:login"))
    form, key_error = CodeForm(request.POST if "code" in request.POST else None), ""
    if "answer" in request.POST:
        factor = _check_factor(request, user, lambda: _check_key(request, user))
        key_error = "" if factor else _("The key was not accepted. Try again, or use a code.")
    elif form.is_valid():
        factor = _check_factor(request, user, lambda: second_factor.check(user, form.cleaned_data["code"]))
        if not factor:
            form.add_error("code", _("Wrong code. Each code works once; wait for the next one and try again."))
    else:
        factor = None
    if factor:
        next_page = request.session.pop(PENDING)["next"]
        _log_in(request, user, factor=factor)
        return HttpResponseRedirect(next_page)
    return page(
        request,
        "code.html",
        _("One more step"),
        form=form,
        key_error=key_error,
        key_options=webauthn.options(request, user, security_keys.options_to_sign),
        has_app=second_factor.has_app(user),
        has_keys=bool(security_keys.of(user)),
    )


def _check_factor(request: HttpRequest, user: User, check: Callable[[], str | None]) -> str | None:
    """Return the name of the factor that was proved, or None. A failure counts as a failed login."""
    name = user.get_username()
    factor = None if throttle.is_locked(request, name) else check()
    if factor is None:
        user_login_failed.send(__name__, credentials={"username": name}, request=request)
    return factor


def _check_key(request: HttpRequest, user: User) -> str | None:
    try:
        ceremony = webauthn.spend(request)
    except UserError:
        return None
    return security_keys.check(user, answer=request.POST["answer"], ceremony=ceremony)


@never_cache
@csrf_protect
def enrol(request: HttpRequest) -> HttpResponse:
    """Have a user set up their first factor, where one is demanded: an app, or a security key."""
    user = _pending_user(request)
    if user is None or second_factor.factors_of(user):
        return HttpResponseRedirect(reverse("admin:login"))
    next_page = request.session[PENDING]["next"]
    form = webauthn.KeyForm(request.POST if request.POST.get("step") == ADD_KEY else None)
    response = add_key(request, user, form, next_page=next_page)
    if response is None:
        more = key_form(request, user, form)
        response = set_up(request, user, next_page=next_page, back=reverse("admin:login"), offers_key=True, **more)
    if factor := request.session.get(FACTOR):
        request.session.pop(PENDING)
        _log_in(request, user, factor=factor)
    return response


def _pending_user(request: HttpRequest) -> User | None:
    pending = request.session.get(PENDING)
    if not pending or time.time() - pending["at"] > PENDING_SECONDS:
        return None
    user = User.objects.filter(pk=pending["user"], is_active=True, is_staff=True).first()
    is_same = user is not None and constant_time_compare(user.get_session_auth_hash(), pending["hash"])
    return user if is_same else None


def _log_in(request: HttpRequest, user: User, *, factor: str | None = None) -> None:
    django_login(request, user, backend=BACKEND)
    request.session[FACTOR] = factor


@receiver(user_logged_in)
def _record_login(request: HttpRequest, user: User, **_signal: Any) -> None:
    _record(request, gettext_noop("Logged in"), user)


@receiver(user_logged_out)
def _record_logout(request: HttpRequest, user: User | None, **_signal: Any) -> None:
    if user is not None:
        _record(request, gettext_noop("Logged out"), user)


@receiver(user_login_failed)
def _record_failure(credentials: dict[str, Any], request: HttpRequest | None = None, **_signal: Any) -> None:
    """Record a failed login; none while locked out, so that nobody can fill the log.

    The record leaves out a name that is no user's: it may be a mistyped password.
    """
    if request is None or getattr(request, "axes_locked_out", False):
        return
    _record(
        request, gettext_noop("Failed login"), User.objects.filter(username=credentials.get("username") or "").first()
    )


def _record(request: HttpRequest, action: str, user: User | None) -> None:
    who = user.get_username() if user else "unknown user"
    with audit.acting(who, client_ip(request)):
        audit.record(action, row=user, label=user.get_username() if user else "")
