"""Django's middleware for pages. A request to the API passes it by: it has no cookies, and its answer is no page.

They would open a session, a user and a store of messages for each request, and put a policy together for each answer.
"""

from __future__ import annotations

from typing import Any

from csp.constants import HEADER as POLICY_HEADER
from csp.middleware import CSPMiddleware
from django.contrib.auth.middleware import AuthenticationMiddleware
from django.contrib.messages.middleware import MessageMiddleware
from django.contrib.sessions.middleware import SessionMiddleware
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase

from verification.api.middleware import is_for_api


class SkipForApi:
    """Passes a request to the API on, past the class that this one is put before."""

    get_response: Any

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if is_for_api(request):
            return self.get_response(request)  # type: ignore[no-any-return]
        return super().__call__(request)  # type: ignore[misc, no-any-return]


class PagePolicyMiddleware(SkipForApi, CSPMiddleware):
    """django-csp's, which puts a policy together at every answer, for those that have none yet."""

    def process_response(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        return response if POLICY_HEADER in response else super().process_response(request, response)


class PageSessionMiddleware(SkipForApi, SessionMiddleware):
    pass


class PageUserMiddleware(SkipForApi, AuthenticationMiddleware):
    pass


class PageMessageMiddleware(SkipForApi, MessageMiddleware):
    pass
