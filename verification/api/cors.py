"""Which origins may read an answer: those that the key's own project lists. django-cors-headers asks here."""

from __future__ import annotations

import re
from typing import Any, cast

from corsheaders.middleware import CorsMiddleware
from corsheaders.signals import check_request_enabled
from django.conf import settings
from django.db import InterfaceError, OperationalError
from django.dispatch import receiver
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.utils.cache import patch_vary_headers

from verification.core.caching import FRESH_SECONDS, cached_for
from verification.models import Project


class OriginsMiddleware(CorsMiddleware):
    """django-cors-headers for requests that name an origin, as browsers do.

    It reads all headers of a request, which servers and apps need not pay for; and to it OPTIONS without an origin is
    a preflight.
    """

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        if "HTTP_ORIGIN" in request.META:
            return cast(HttpResponseBase, super().__call__(request))
        is_for_browsers = re.match(settings.CORS_URLS_REGEX, request.path_info)
        response = cast(HttpResponseBase, self.get_response(request))
        if is_for_browsers:
            patch_vary_headers(response, ["origin"])
        return response


@receiver(check_request_enabled)
def may_read(sender: object, request: HttpRequest, **_: Any) -> bool:
    """Return whether the request's origin may read the answer.

    A preflight carries no key, so an origin will do that any enabled project lists, and so it is where the key is
    refused. For an answer, authentication has left its project's origins on the request.
    """
    if not re.match(settings.CORS_URLS_REGEX, request.path_info):
        return False
    origin = request.META.get("HTTP_ORIGIN", "")
    if request.method == "OPTIONS" and "HTTP_ACCESS_CONTROL_REQUEST_METHOD" in request.META:
        return is_listed(origin)
    if getattr(request, "is_refused", False):
        return _is_surely_listed(origin)
    return origin in getattr(request, "origins", ())


def _is_surely_listed(origin: str) -> bool:
    """Return whether an origin may read that its key is wrong: no project is known then, so that of any one will do."""
    try:
        return is_listed(origin)
    except (OperationalError, InterfaceError):  # the answer stays, and nobody knows who may read it
        return False


def is_listed(origin: str) -> bool:
    """Return whether any enabled project lists this origin, as of at most a second ago."""
    return origin in _listed_origins()


@cached_for(FRESH_SECONDS)
def _listed_origins() -> frozenset[str]:
    lists = Project.objects.filter(is_enabled=True).values_list("origins", flat=True)
    return frozenset(item for listed in lists for item in listed)
