"""Answers to systems, each in its own form. A refusal tells its status alone: the owner's log has the reason."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse, JsonResponse

from verification.contrib.connections.base import NOT_SENT, System
from verification.contrib.connections.calls import Answer
from verification.core import logs, metrics, request_ids
from verification.services.records.decisions import record_refusal
from verification.services.records.faults import refusal_of_error


def written(answer: Answer) -> HttpResponse:
    match answer.body:
        case None:
            return HttpResponse(status=answer.status)
        case str():
            return HttpResponse(answer.body, status=answer.status, content_type="text/plain; charset=utf-8")
        case _:
            return JsonResponse(answer.body, status=answer.status)


def refused(error: Exception, request: HttpRequest, system: System | None) -> HttpResponse:
    """Answer what the address raised, and note a refusal for its owner. Nothing is rolled back: counts stay counted."""
    refusal = refusal_of_error(error, request_id=request_ids.request_id_of(request), endpoint=logs.logged_path(request))
    record_refusal(refusal)
    metrics.count_refusal(refusal.problem_code)
    if refusal.status < 500:  # refusal_of_error has logged the others, with their cause
        logs.log_refusal(request, code=refusal.problem_code, status=refusal.status)
    answer = system.refused(refusal.status) if system else Answer(refusal.status, {"message": NOT_SENT})
    response = written(answer)
    if refusal.status == 405:
        response["Allow"] = "POST"
    # A limit is not over within the seconds that a system waits, and some try again as soon as they are told a time.
    if refusal.status == 503 and refusal.retry_after is not None:
        response["Retry-After"] = str(refusal.retry_after)
    return response
