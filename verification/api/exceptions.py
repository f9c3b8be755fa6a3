"""Turning any exception into one refusal, and a refusal into its problem document."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django.conf import settings
from django.core.exceptions import BadRequest, DisallowedHost, RequestDataTooBig, SuspiciousOperation
from django.http import Http404, HttpRequest, HttpResponse
from django.http.multipartparser import MultiPartParserError
from rest_framework.exceptions import (
    MethodNotAllowed,
    NotAuthenticated,
    ParseError,
    UnsupportedMediaType,
    ValidationError,
)
from rest_framework.request import Request

from verification.api.renderers import JSONRenderer
from verification.api.serializers.errors import Problem, problem_address
from verification.core import logs, metrics, request_ids
from verification.core.errors import ApiError, FieldError, FieldsInvalid
from verification.services.records.decisions import record_refusal
from verification.services.records.faults import refusal_of_error

PROBLEM_JSON = "application/problem+json"
IN_AUTHORIZATION = "Send your key in the x-api-key header; it is not read from Authorization."


def handle(error: Exception, context: dict[str, Any]) -> HttpResponse:
    """Answer what a view raised, and note a refusal for its owner. This is REST framework's ``EXCEPTION_HANDLER``.

    Nothing is rolled back: counts stay counted.
    """
    request: Request = context["request"]
    if isinstance(error, ApiError):
        record_refusal(error)
    response = problem(error, request)
    if response.status_code == 401:
        response["WWW-Authenticate"] = context["view"].get_authenticate_header(request)
        request._request.is_refused = True  # type: ignore[attr-defined]  # the middleware for origins asks
    return response


def problem(error: Exception, request: HttpRequest | Request) -> HttpResponse:
    """Answer an exception with its problem document, and log a line of it."""
    refusal = to_refusal(error, request)
    metrics.count_refusal(refusal.problem_code)
    if refusal.status < 500:  # to_refusal has logged the others, with their cause
        logs.log_refusal(request, code=refusal.problem_code, status=refusal.status)
    return problem_response(refusal, request_id=request_ids.request_id_of(request))


def problem_response(refusal: ApiError, *, request_id: str) -> HttpResponse:
    """Answer a refusal with RFC 9457 problem details. ``type`` is the page that explains the code."""
    given = {name: value for name, value in refusal.extra.items() if value is not None}
    if refusal.retry_after is not None:
        given["retry_after"] = refusal.retry_after
    document = {
        "type": problem_address(settings.BASE_URL, refusal.problem_code),
        "title": refusal.title,
        "status": refusal.status,
        "code": refusal.problem_code,
        "detail": refusal.detail,
        "request_id": request_id,
        **given,
    }
    response = HttpResponse(
        JSONRenderer().render(Problem().to_representation(document)), status=refusal.status, content_type=PROBLEM_JSON
    )
    response["Cache-Control"] = "no-store"
    response["X-Request-Id"] = request_id
    if refusal.retry_after is not None:
        response["Retry-After"] = str(refusal.retry_after)
    return response


def to_refusal(error: Exception, request: HttpRequest | Request) -> ApiError:
    """Return the refusal that an exception stands for. An unforeseen one is logged and becomes ``internal_error``."""
    match error:
        case ValidationError():
            return FieldsInvalid(*_field_errors(error))
        case NotAuthenticated():
            return ApiError("missing_api_key", IN_AUTHORIZATION if "HTTP_AUTHORIZATION" in request.META else "")
        case MethodNotAllowed():
            return ApiError("method_not_allowed", f"{request.method} is not served here. See the Allow header.")
        case ParseError():
            return ApiError("parse_error", str(error.detail))
        case RequestDataTooBig():
            return ApiError("body_too_large", str(error))
        case UnsupportedMediaType():
            return ApiError("unsupported_media_type", str(error.detail))
        case Http404():
            return ApiError("not_found")
        case DisallowedHost():
            return ApiError("host_not_allowed")
        case SuspiciousOperation() | BadRequest() | MultiPartParserError():
            return ApiError("parse_error", "The request cannot be read.")
        case _:
            return refusal_of_error(
                error, request_id=request_ids.request_id_of(request), endpoint=logs.logged_path(request)
            )


def _field_errors(error: ValidationError) -> Iterator[FieldError]:
    """Yield the first error of each field, in the order of the fields."""
    wrong: Any = error.get_full_details()
    for name, [first, *_] in wrong.items():
        yield FieldError(name, str(first["code"]), str(first["message"]))
