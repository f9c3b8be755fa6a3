"""``/metrics`` for Prometheus: only with the operator's token, under any host name, and not at all without one."""

from __future__ import annotations

import hmac

from django.conf import settings
from django.http import HttpRequest, HttpResponse

from verification.core.errors import ApiError
from verification.services.maintenance import exposition

PATH = "/metrics"
SCHEME = "Bearer "


def answer(request: HttpRequest) -> HttpResponse:
    """Answer a scrape. Raises ``not_found`` where no token is set, ``invalid_api_key`` for another one."""
    token = settings.METRICS_TOKEN
    if not token:
        raise ApiError("not_found")
    given = request.META.get("HTTP_AUTHORIZATION", "")
    if not hmac.compare_digest(given.encode(), f"{SCHEME}{token}".encode()):
        raise ApiError("invalid_api_key", "Send METRICS_TOKEN as: Authorization: Bearer …")
    return HttpResponse(exposition.text(), content_type=exposition.CONTENT_TYPE)
