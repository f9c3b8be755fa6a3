"""The API's own way in and out, past the layers that only pages need.

Here every request gets its id, and every answer its headers: no caching, CORS by project, JSON for every failure.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from functools import lru_cache

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.urls import ResolverMatch, resolve

from verification import metrics, request_ids, traces
from verification.api import exceptions, probes, scrape
from verification.memory import Fresh
from verification.models import Project
from verification.refusal_log import METHODS

ALLOWED_HEADERS = "content-type, x-api-key, accept-language, x-request-id"
EXPOSED_HEADERS = "Date, Retry-After, X-Request-Id"  # by Date a page with a wrong clock knows how long a session lives
PREFLIGHT_SECONDS = 600  # how long a browser may remember that it is allowed

# An answer is data. A browser that is made to show one as a page must run and load nothing of it.
POLICY = "default-src 'none'; frame-ancestors 'none'"

URLS = "verification.api.urls"
_PREFIXES = ("/session/", "/manual/", "/events", "/hooks/", probes.LIVE, probes.READY, scrape.PATH)
UNTRACED = (probes.LIVE, probes.READY, scrape.PATH)  # asked every few seconds, by machines


class ApiMiddleware:
    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if is_for_api(request.path_info):
            return serve(request)
        request.id = request_id(request)  # type: ignore[attr-defined]
        return traced(request, self.get_response) if traces.is_on() else self.get_response(request)


def is_for_api(path: str) -> bool:
    return path.startswith(_PREFIXES)


def serve(request: HttpRequest) -> HttpResponse:
    """Answer a request to the API, whatever happens."""
    request.id = request_id(request)  # type: ignore[attr-defined]
    if traces.is_on() and request.path_info not in UNTRACED:
        return traced(request, answer_surely)
    return answer_surely(request)


def traced(request: HttpRequest, serve: Callable[[HttpRequest], HttpResponse]) -> HttpResponse:
    """Answer within a span, named by the endpoint: the path may hold a secret."""
    with traces.request_span(request.id, request.META.get("HTTP_TRACEPARENT", "")):  # type: ignore[attr-defined]
        response = serve(request)
        method = request.method if request.method in METHODS else "other"
        project = getattr(request, "project_id", None)
        endpoint = endpoint_of(request)
        traces.tell(name=f"{method} {endpoint}", endpoint=endpoint, status=response.status_code, project=project)
    return response


def answer_surely(request: HttpRequest) -> HttpResponse:
    began = time.perf_counter()
    try:
        response = answer(request)
    except Exception as error:
        response = exceptions.problem(error, request)
    response["Cache-Control"] = "no-store"
    response["X-Request-Id"] = request.id  # type: ignore[attr-defined]
    response["X-Content-Type-Options"] = "nosniff"
    response["Content-Security-Policy"] = POLICY
    if settings.SECURE_HSTS_SECONDS:
        subdomains = "; includeSubDomains" if settings.SECURE_HSTS_INCLUDE_SUBDOMAINS else ""
        response["Strict-Transport-Security"] = f"max-age={settings.SECURE_HSTS_SECONDS}{subdomains}"
    metrics.count_request(endpoint_of(request), response.status_code, time.perf_counter() - began)
    return response


def endpoint_of(request: HttpRequest) -> str:
    """Return the endpoint without what stands in its path: a hook's secret, a message's id."""
    match = request.resolver_match
    return match.route.partition("/<")[0] if match else "none"


def answer(request: HttpRequest) -> HttpResponse:
    if request.path_info in (probes.LIVE, probes.READY):
        return probes.answer(request)
    if request.path_info == scrape.PATH:
        return scrape.answer(request)
    request.get_host()  # raises DisallowedHost
    match = request.resolver_match = find(request.path_info)
    view = match.func.cls()  # type: ignore[attr-defined]  # as_view leaves its class there
    is_for_browsers = not view.is_server_only
    response: HttpResponse
    if is_for_browsers and is_preflight(request):
        response = answer_preflight(request)
    else:
        view.setup(request, **match.kwargs)
        response = view.dispatch(request, **match.kwargs)
    if is_for_browsers:
        response["Vary"] = "Origin"
        allow_origin(request, response)
    return response


@lru_cache(maxsize=256)
def find(path: str) -> ResolverMatch:
    """Return the view at ``path``, with or without a trailing slash. Raises ``Http404``."""
    return resolve(path.removesuffix("/"), urlconf=URLS)


def request_id(request: HttpRequest) -> str:
    given: str = request.META.get("HTTP_X_REQUEST_ID", "")
    if request_ids.WELL_FORMED.fullmatch(given):
        return given
    return traces.trace_id_in(request.META.get("HTTP_TRACEPARENT", "")) or request_ids.draw()


def is_preflight(request: HttpRequest) -> bool:
    return (
        request.method == "OPTIONS"
        and "HTTP_ORIGIN" in request.META
        and "HTTP_ACCESS_CONTROL_REQUEST_METHOD" in request.META
    )


def answer_preflight(request: HttpRequest) -> HttpResponse:
    """Answer a preflight. It carries no key, so accept an origin that any enabled project lists.

    The actual answer checks the project of the key.
    """
    response = HttpResponse(status=204)
    origin = request.META["HTTP_ORIGIN"]
    if is_listed(origin):
        response["Access-Control-Allow-Origin"] = origin
        response["Access-Control-Allow-Methods"] = "GET, POST"
        response["Access-Control-Allow-Headers"] = ALLOWED_HEADERS
        response["Access-Control-Max-Age"] = str(PREFLIGHT_SECONDS)
    return response


def allow_origin(request: HttpRequest, response: HttpResponse) -> None:
    origin = request.META.get("HTTP_ORIGIN")
    if origin and origin in getattr(request, "origins", ()):
        response["Access-Control-Allow-Origin"] = origin
        response["Access-Control-Expose-Headers"] = EXPOSED_HEADERS


_origins: Fresh[str, frozenset[str]] = Fresh()


def is_listed(origin: str) -> bool:
    """Return whether any enabled project lists this origin, as of at most a second ago."""
    return origin in _origins.get("all", _list_origins)


def _list_origins() -> frozenset[str]:
    lists = Project.objects.filter(is_enabled=True).values_list("origins", flat=True)
    return frozenset(item for listed in lists for item in listed)


def not_found(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    """Answer an address where there is nothing. This is Django's ``handler404``."""
    return exceptions.problem(Http404(), request)


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Answer a suspicious request, most often one for a wrong host. This is Django's ``handler400``."""
    return exceptions.problem(exception, request)


def server_error(request: HttpRequest) -> HttpResponse:
    """Answer a page's failure. This is Django's ``handler500``, called while the exception is at hand for the log."""
    error = sys.exception()
    return exceptions.problem(error if isinstance(error, Exception) else RuntimeError("a page failed"), request)
