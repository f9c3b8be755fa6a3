"""Answers are JSON, whatever ``Accept`` asks for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson
from django.http import HttpResponse

from verification.errors import Refusal

PROBLEM_DOCS = "/docs/errors/"


def json_response(data: Any, *, status: int = 200, content_type: str = "application/json") -> HttpResponse:
    return HttpResponse(orjson.dumps(data), status=status, content_type=content_type)


def problem_address(base_url: str, code: str) -> str:
    """Return the address of the page that explains a code: the ``type`` of its problem documents."""
    return f"{base_url}{PROBLEM_DOCS}{code}/"


def problem_response(refusal: Refusal, *, base_url: str, request_id: str) -> HttpResponse:
    """Answer a refusal with RFC 9457 problem details. ``type`` is the page that explains the code."""
    document: dict[str, Any] = {
        "type": problem_address(base_url, refusal.problem_code),
        "title": refusal.title,
        "status": refusal.status,
        "code": refusal.problem_code,
        "detail": refusal.detail,
        "request_id": request_id,
        **_given(refusal.extra),
    }
    if refusal.retry_after is not None:
        document["retry_after"] = refusal.retry_after
    response = json_response(document, status=refusal.status, content_type="application/problem+json")
    response["Cache-Control"] = "no-store"
    response["X-Request-Id"] = request_id
    if refusal.retry_after is not None:
        response["Retry-After"] = str(refusal.retry_after)
    return response


def _given(extra: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in extra.items() if value is not None}
