"""The bodies of requests, read up to a limit."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, UnreadablePostError

from verification.core.errors import ApiError


def announced_length(request: HttpRequest) -> int:
    """Return the length of the body in bytes, as its sender tells it; 0 where none is told."""
    text = request.META.get("CONTENT_LENGTH") or ""
    return int(text) if text.isascii() and text.isdigit() else 0


def read_body(request: Any, stream: Any, most: int) -> bytes:
    """Return the bytes of a request's body, which ``stream`` has.

    Raises ``body_too_large`` for one that is, or is announced as, longer than ``most`` bytes, and ``parse_error`` where
    its sender stopped.
    """
    too_large = ApiError("body_too_large", f"The body is larger than {most} bytes.")
    if announced_length(request) > most:
        raise too_large
    try:
        body: bytes = stream.read(most + 1)
    except UnreadablePostError:
        raise ApiError("parse_error", "The request body is incomplete.") from None
    if len(body) > most:
        raise too_large
    return body
