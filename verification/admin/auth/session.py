"""The marks in a session of the panel, and how long it is valid."""

from __future__ import annotations

import time
from typing import Any

from django.conf import settings
from django.contrib.auth.signals import user_logged_in
from django.dispatch import receiver
from django.http import HttpRequest

from verification.admin.auth.session_store import BROWSER, NETWORK, STARTED
from verification.core.client_address import client_ip
from verification.services.users import second_factor
from verification.services.users.logins import MAX_LIFE, browser_of, masked_network

MAX_SECONDS = int(MAX_LIFE.total_seconds())  # SESSION_COOKIE_AGE ends an idle one
FRESH_SECONDS = 600  # how long after a login, or an answer to "Is it you?", a change asks nothing
BY_ITSELF = "by_itself"  # in the address by which a page reloads itself, so that nobody's absence looks like a click
CONFIRMED, FACTOR = "confirmed_at", "second_factor"


def is_allowed(request: HttpRequest) -> bool:
    """Return whether the session is young enough and one of the user's second factors was given in it.

    The session names that factor. If it is removed, or a first one is set up elsewhere, the session is over.
    """
    started_at: float = request.session.get(STARTED, 0)
    if time.time() - started_at > MAX_SECONDS:
        return False
    user: Any = request.user
    if not hasattr(user, "factors"):
        user.factors = second_factor.factors_of(user)  # read once in a request
    if not user.factors:
        return request.session.get(FACTOR) is None and not settings.IS_SECOND_FACTOR_REQUIRED
    return request.session.get(FACTOR) in user.factors


def renew(request: HttpRequest) -> None:
    """Extend the session to its full time, unless the page reloaded by itself."""
    if BY_ITSELF not in request.GET:
        request.session.modified = True


def is_fresh(request: HttpRequest) -> bool:
    confirmed_at: float = request.session.get(CONFIRMED, 0)
    return time.time() - confirmed_at <= FRESH_SECONDS


def confirm(request: HttpRequest) -> None:
    request.session[CONFIRMED] = time.time()


@receiver(user_logged_in)
def start(request: HttpRequest, **_: Any) -> None:
    request.session[STARTED] = request.session[CONFIRMED] = time.time()
    request.session[BROWSER] = browser_of(request.META.get("HTTP_USER_AGENT", ""))
    request.session[NETWORK] = masked_network(client_ip(request))
