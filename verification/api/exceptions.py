"""Turning any exception into one refusal, and a refusal into its problem document."""

from __future__ import annotations

import logging
import traceback

from django.conf import settings
from django.core.exceptions import BadRequest, DisallowedHost, RequestDataTooBig, SuspiciousOperation
from django.db import InterfaceError, InternalError, OperationalError
from django.http import Http404, HttpRequest, HttpResponse, UnreadablePostError
from django.http.multipartparser import MultiPartParserError

from verification import metrics, refusal_log, request_ids, sql
from verification.api import rendering
from verification.api.parsing import BodyTooLarge, BodyUnreadable, UnsupportedMedia
from verification.errors import Refusal
from verification.services.records.decisions import note_refusal
from verification.sql import read_only

log = logging.getLogger(__name__)

DATABASE_RETRY_SECONDS = (
    1  # seconds that callers are told to wait while the database is away: a brief fault is over by then
)

BUSY_RETRY_SECONDS = 1  # seconds that callers are told to wait while a process has all the requests that it holds

OF_NOBODY = {
    "internal_error": "",  # its own words say enough
    "service_unavailable": "Too many requests wait at this moment; nothing was accepted. Try again in a moment.",
    "parse_error": "The request cannot be read.",
    "method_not_allowed": "No endpoint serves this method.",
}


def handle(error: Exception, request: HttpRequest) -> HttpResponse:
    """Answer what a view raised, and note a refusal for its owner. Nothing is rolled back: counts stay counted."""
    if isinstance(error, Refusal):
        note_refusal(error)
    return problem(error, request)


def problem(error: Exception, request: HttpRequest) -> HttpResponse:
    """Answer an exception with its problem document, and log a line of it."""
    refusal = to_refusal(error, request)
    metrics.count_refusal(refusal.problem_code)
    if refusal.status < 500:  # to_refusal has logged the others, with their cause
        refusal_log.note(request, code=refusal.problem_code, status=refusal.status)
    return rendering.problem_response(refusal, base_url=settings.BASE_URL, request_id=getattr(request, "id", ""))


def problem_of_nobody(code: str) -> HttpResponse:
    """Answer what did not get as far as a request: nothing is known of it, not even its id."""
    refusal = Refusal(code, OF_NOBODY[code], retry_after=BUSY_RETRY_SECONDS if code == "service_unavailable" else None)
    response = rendering.problem_response(refusal, base_url=settings.BASE_URL, request_id=request_ids.draw())
    if code == "method_not_allowed":
        response["Allow"] = "GET, POST"
    return response


def to_refusal(error: Exception, request: HttpRequest) -> Refusal:
    """Return the refusal that an exception stands for. An unforeseen one is logged and becomes ``internal_error``."""
    match error:
        case Refusal():
            return error
        case BodyUnreadable():
            return Refusal("parse_error", str(error))
        case BodyTooLarge() | RequestDataTooBig():
            return Refusal("body_too_large", str(error))
        case UnsupportedMedia():
            return Refusal("unsupported_media_type", str(error))
        case Http404():
            return Refusal("not_found")
        case DisallowedHost():
            return Refusal("host_not_allowed")
        case UnreadablePostError():
            return Refusal("parse_error", "The body did not arrive whole.")
        case SuspiciousOperation() | BadRequest() | MultiPartParserError():
            return Refusal("parse_error", "The request cannot be read.")
        case OperationalError() | InterfaceError():
            refusal_log.note_unserved(request, sql.reason(error))
            return Refusal(
                "service_unavailable",
                retry_after=DATABASE_RETRY_SECONDS,
            )
        case InternalError() if read_only.is_reason(error):
            refusal_log.note_unserved(request, read_only.WORDS)
            read_only.leave()
            return Refusal("service_unavailable", retry_after=DATABASE_RETRY_SECONDS)
        case _:
            # The text of an exception may hold what was sent to us, so the log gets the place and the kind alone.
            places = "".join(traceback.format_tb(error.__traceback__))
            told = {"request_id": _id(request), "error": type(error).__name__, "places": places}
            log.error("a request failed", extra=told)
            return Refusal("internal_error")


def _id(request: HttpRequest) -> str:
    return getattr(request, "id", "-")
