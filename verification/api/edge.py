"""Requests that Django itself would answer with an HTML page, or read wrongly, are put right before it sees them."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable
from typing import Any

from django.conf import settings
from django.utils.http import parse_header_parameters

Environ = dict[str, Any]
Application = Callable[[Environ, Callable[..., Any]], Iterable[bytes]]

UNREADABLE_CONTENT_TYPE = "application/unreadable"  # answered 415 where a body is read
HOOKS = "/hooks/"  # where providers report
READ_BYTES = 4096  # bytes of a chunked body that are read at a time


def edge(application: Application) -> Application:
    """Wrap a WSGI application.

    A content type that cannot be parsed crashes Django's request before any handler; here it becomes one that nothing
    accepts. A chunked body has no length, and Django would see none of it; here it gets one.
    """

    def wrapped(environ: Environ, start_response: Callable[..., Any]) -> Iterable[bytes]:
        content_type = environ.get("CONTENT_TYPE", "")
        if content_type and not _is_readable(content_type):
            environ["CONTENT_TYPE"] = UNREADABLE_CONTENT_TYPE
        if "chunked" in environ.get("HTTP_TRANSFER_ENCODING", "").lower() and not environ.get("CONTENT_LENGTH"):
            body = _read(environ["wsgi.input"], longest_body(environ.get("PATH_INFO", "")))
            environ["wsgi.input"] = io.BytesIO(body)
            environ["CONTENT_LENGTH"] = str(len(body))
        return application(environ, start_response)

    return wrapped


def longest_body(path: str) -> int:
    """Return how many bytes of a body are read at this path. The endpoints' own limits are narrower."""
    most: int = settings.HOOK_MAX_BYTES if path.startswith(HOOKS) else settings.DATA_UPLOAD_MAX_MEMORY_SIZE
    return most


def _is_readable(content_type: str) -> bool:
    try:
        _, parameters = parse_header_parameters(content_type)
        "".encode(parameters.get("charset", "utf-8"))
    except (ValueError, TypeError, LookupError):
        return False
    return True


def _read(stream: Any, most: int) -> bytes:
    """Return the body, or one byte more of it than is allowed, which is refused later."""
    body = bytearray()
    while len(body) <= most and (chunk := stream.read(READ_BYTES)):
        body += chunk
    return bytes(body[: most + 1])
