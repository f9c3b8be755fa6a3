"""What machines of the operator ask under any host name: a load balancer, an orchestrator, Prometheus.

``/livez`` asks nobody: a process that answers runs, and to restart it would bring back nothing that is away.
``/readyz`` asks the database, and says whether the service is degraded.
"""

from __future__ import annotations

import hmac
from functools import lru_cache
from ipaddress import ip_network
from typing import Any

from django.conf import settings
from django.core.exceptions import DisallowedHost
from django.db import DatabaseError, InterfaceError
from django.http import HttpRequest, HttpResponse, JsonResponse

from verification.core.client_address import client_address
from verification.core.errors import ApiError
from verification.core.networks import Network, contain
from verification.services.maintenance import degradation, exposition, visits
from verification.services.maintenance.health import AWAY, failing

LIVE, READY = "/livez", "/readyz"
RETRY_SECONDS = 1  # wait that a caller of /readyz is told; the state is asked anew once a second
OK: dict[str, Any] = {"status": "ok"}
VISIT = f"HTTP_{visits.HEADER.upper().replace('-', '_')}"


def answer(request: HttpRequest) -> JsonResponse:
    """Answer a probe, whatever its method."""
    if VISIT in request.META and visits.is_ours(request.META[VISIT]):
        return compact(OK | {"seen": _seen(request)})
    if request.path_info == READY and (reason := failing()):
        raise ApiError("service_unavailable", reason, retry_after=RETRY_SECONDS)
    if request.path_info == LIVE:
        return compact(OK)
    return compact(_readiness(request))


def compact(body: dict[str, Any]) -> JsonResponse:
    return JsonResponse(body, json_dumps_params={"separators": (",", ":")})


def _seen(request: HttpRequest) -> dict[str, Any]:
    """Return how we see a visitor who has our SECRET_KEY: ``manage.py doctor`` compares it with what it sent.

    The address is not asked of ``client_address``, which would note the visitor's forged header as a proxy's.
    """
    forwarded = request.META.get("HTTP_X_FORWARDED_FOR", "")
    try:
        is_host_served = bool(request.get_host())
    except DisallowedHost:
        is_host_served = False
    return {
        "version": settings.VERSION,
        "host": request.META.get("HTTP_HOST", ""),
        "is_host_served": is_host_served,
        "is_https": request.is_secure(),
        "peer": request.META.get("REMOTE_ADDR", ""),
        "forwarded_for": [entry.strip() for entry in forwarded.split(",")] if forwarded else [],
        "trusted_proxies": settings.TRUSTED_PROXIES,
    }


def _readiness(request: HttpRequest) -> dict[str, Any]:
    """Return ``ok`` or ``degraded``, to the operator's own networks with the parts that are degraded.

    A degraded process serves: a load balancer that took it out would make a delay an outage.
    """
    try:
        degraded = degradation.current().meanings
    except (DatabaseError, InterfaceError):  # it went away since it was asked
        raise ApiError("service_unavailable", AWAY, retry_after=RETRY_SECONDS) from None
    body: dict[str, Any] = {"status": "degraded"} if degraded else dict(OK)
    if contain(_operator_networks(tuple(settings.OPERATOR_NETWORKS)), client_address(request)):
        body["degraded"] = degraded
    return body


@lru_cache(maxsize=1)
def _operator_networks(texts: tuple[str, ...]) -> tuple[Network, ...]:
    return tuple(ip_network(text) for text in texts)


METRICS_PATH = "/metrics"
METRICS_SCHEME = "Bearer "


def answer_scrape(request: HttpRequest) -> HttpResponse:
    """Answer a scrape of ``/metrics``. Raises ``not_found`` without a token, ``invalid_api_key`` for another."""
    token = settings.METRICS_TOKEN
    if not token:
        raise ApiError("not_found")
    given = request.META.get("HTTP_AUTHORIZATION", "")
    if not hmac.compare_digest(given.encode(), f"{METRICS_SCHEME}{token}".encode()):
        raise ApiError("invalid_api_key", "Send METRICS_TOKEN as: Authorization: Bearer …")
    return HttpResponse(exposition.text(), content_type=exposition.CONTENT_TYPE)
