"""The ``x-api-key`` header, which names the caller."""

from __future__ import annotations

from django.http import HttpRequest
from rest_framework.authentication import BaseAuthentication
from rest_framework.request import Request

from verification.core.client_address import client_address
from verification.core.errors import ApiError
from verification.models import KeyKind
from verification.services.projects import keys
from verification.services.projects.keys import Caller
from verification.services.protection import leaked_keys, limits

HEADER = "HTTP_X_API_KEY"
SCHEME = "ApiKey"  # what a 401 asks for, as HTTP wants to be told


class KeyAuthentication(BaseAuthentication):
    """Leaves the caller as ``request.auth``; no user of the panel is behind a key.

    Middleware finds the project's id and origins on Django's request.
    """

    def authenticate(self, request: Request) -> tuple[None, Caller] | None:
        """Return the caller, or None without a key. Raises ``invalid_api_key`` and ``rate_limited`` (unknown keys)."""
        text = request.META.get(HEADER, "")
        if not text:
            return None
        address = client_address(request)
        try:
            is_held_off = limits.has_sent_unknown_keys(address)
            caller = keys.authenticate(text, client_address=address, is_held_off=is_held_off)
        except ApiError:
            limits.count_unknown_key(address)
            raise
        if caller.kind == KeyKind.SECRET and "HTTP_ORIGIN" in request.META:
            leaked_keys.alert_on_browser(caller, request.META["HTTP_ORIGIN"])
        django_request: HttpRequest = request._request
        django_request.project_id = caller.project.id  # type: ignore[attr-defined]
        django_request.origins = caller.project.origins  # type: ignore[attr-defined]
        return None, caller

    def authenticate_header(self, request: Request) -> str:
        return SCHEME
