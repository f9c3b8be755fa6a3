"""What is done around every request to the API, one purpose a class, and Django's handlers of failures.

``config/settings.py`` has their order. ``RequestIdMiddleware`` and ``TracingMiddleware`` serve the pages too.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

from csp.constants import HEADER as POLICY_HEADER
from django.http import Http404, HttpRequest, HttpResponse

from verification.api import exceptions, probes
from verification.core import metrics, request_ids, tracing
from verification.core.logs import METHODS

GetResponse = Callable[[HttpRequest], HttpResponse]

# An answer is data. A browser that is made to show one as a page must run and load nothing of it.
POLICY = "default-src 'none'; frame-ancestors 'none'"

PREFIXES = ("/session/", "/manual/", "/events", "/hooks/", probes.LIVE, probes.READY, probes.METRICS_PATH)
LIST_OF_SESSIONS = "/session"  # the only endpoint without a part behind its prefix
BY_MACHINES = {probes.LIVE: probes.answer, probes.READY: probes.answer, probes.METRICS_PATH: probes.answer_scrape}


def is_for_api(request: HttpRequest) -> bool:
    return request.path_info.startswith(PREFIXES) or request.path_info == LIST_OF_SESSIONS


class RequestIdMiddleware:
    """Gives every request its id, the caller's own if that is well formed. The API's answers name it."""

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        request.id = request_id(request)  # type: ignore[attr-defined]
        is_named = is_for_api(request)
        response = self.get_response(request)
        if is_named:
            response["X-Request-Id"] = request.id  # type: ignore[attr-defined]
        return response


def request_id(request: HttpRequest) -> str:
    given: str = request.META.get("HTTP_X_REQUEST_ID", "")
    if request_ids.REQUEST_ID.fullmatch(given):
        return given
    return tracing.trace_id_in(request.META.get("HTTP_TRACEPARENT", "")) or request_ids.generate_request_id()


class TracingMiddleware:
    """Answers within a span, named by the endpoint: the path may hold a secret. Probes and scrapes get no span."""

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if not tracing.is_on() or request.path_info in BY_MACHINES:
            return self.get_response(request)
        with tracing.request_span(request.id, request.META.get("HTTP_TRACEPARENT", "")):  # type: ignore[attr-defined]
            response = self.get_response(request)
            method = request.method if request.method in METHODS else "other"
            project = getattr(request, "project_id", None)
            endpoint = endpoint_of(request)
            tracing.annotate(
                name=f"{method} {endpoint}", endpoint=endpoint, status=response.status_code, project=project
            )
        return response


class MetricsMiddleware:
    """Counts the API's requests, and times them."""

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if not is_for_api(request):
            return self.get_response(request)
        began = time.perf_counter()
        response = self.get_response(request)
        metrics.count_request(endpoint_of(request), response.status_code, time.perf_counter() - began)
        return response


def endpoint_of(request: HttpRequest) -> str:
    """Return the endpoint without what stands in its path: a hook's secret, a message's id."""
    match = request.resolver_match
    return match.route.partition("/<")[0] if match else "none"


class AnswerHeadersMiddleware:
    """The API's answers are never stored, and run and load nothing in a browser."""

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        is_answer = is_for_api(request)
        response = self.get_response(request)
        if is_answer:
            response["Cache-Control"] = "no-store"
            response[POLICY_HEADER] = POLICY
        return response


class ProbesMiddleware:
    """Answers probes and scrapes under any host name, which Django's own middleware would refuse."""

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        answer = BY_MACHINES.get(request.path_info)
        if answer is None:
            return self.get_response(request)
        try:
            return answer(request)
        except Exception as error:
            return exceptions.problem(error, request)


class TrailingSlashMiddleware:
    """An endpoint answers with a trailing slash as without, and without a redirect."""

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if is_for_api(request):
            request.path_info = request.path_info.removesuffix("/")
        return self.get_response(request)


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
