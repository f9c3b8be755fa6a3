"""Which origins may read an answer: those that the key's own project lists. django-cors-headers asks here."""

from __future__ import annotations

import re
from typing import Any

from corsheaders.middleware import CorsMiddleware
from corsheaders.signals import check_request_enabled
from django.conf import settings
from django.dispatch import receiver
from django.http import HttpRequest, HttpResponse
from django.utils.cache import patch_vary_headers

from verification.core.caching import TTLCache
from verification.models import Project


class OriginsMiddleware(CorsMiddleware):
    """django-cors-headers' own reads all headers of a request. Servers and apps name no origin, so theirs are left."""

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if "HTTP_ORIGIN" in request.META or request.method == "OPTIONS":
            return super().__call__(request)
        is_for_browsers = re.match(settings.CORS_URLS_REGEX, request.path_info)
        response = self.get_response(request)
        if is_for_browsers:
            patch_vary_headers(response, ["origin"])
        return response


@receiver(check_request_enabled)
def may_read(sender: object, request: HttpRequest, **_: Any) -> bool:
    """Return whether the request's origin may read the answer.

    A preflight carries no key, so an origin will do that any enabled project lists. For an answer, authentication has
    left its project's origins on the request.
    """
    if not re.match(settings.CORS_URLS_REGEX, request.path_info):
        return False
    origin = request.META.get("HTTP_ORIGIN", "")
    if request.method == "OPTIONS" and "HTTP_ACCESS_CONTROL_REQUEST_METHOD" in request.META:
        return is_listed(origin)
    return origin in getattr(request, "origins", ())


_origins: TTLCache[str, frozenset[str]] = TTLCache()


def is_listed(origin: str) -> bool:
    """Return whether any enabled project lists this origin, as of at most a second ago."""
    return origin in _origins.get("all", _list_origins)


def _list_origins() -> frozenset[str]:
    lists = Project.objects.filter(is_enabled=True).values_list("origins", flat=True)
    return frozenset(item for listed in lists for item in listed)
