"""Repairs of what comes from the web server, before Django's request is made, and that request: no middleware runs as
early."""

from __future__ import annotations

import codecs
import io
from collections.abc import Callable, Iterable
from typing import Any

from django.conf import settings
from django.core.handlers.wsgi import WSGIRequest
from django.utils.http import parse_header_parameters

Environ = dict[str, Any]
Application = Callable[[Environ, Callable[..., Any]], Iterable[bytes]]

UNREADABLE_CONTENT_TYPE = "application/unreadable"  # answered 415 where a body is read
HOOKS = "/hooks/"  # where providers report


def with_readable_content_type(application: Application) -> Application:
    """Replace a content type that cannot be parsed, or names no charset of text, by one that nothing accepts.

    Django parses it as it makes its request, where an exception is answered by no handler.
    """

    def wrapped(environ: Environ, start_response: Callable[..., Any]) -> Iterable[bytes]:
        content_type = environ.get("CONTENT_TYPE", "")
        if content_type and not _is_readable(content_type):
            environ["CONTENT_TYPE"] = UNREADABLE_CONTENT_TYPE
        return application(environ, start_response)

    return wrapped


def with_length_of_chunked_body(application: Application) -> Application:
    """Read a chunked body and tell its length: of a body without a length Django reads nothing."""

    def wrapped(environ: Environ, start_response: Callable[..., Any]) -> Iterable[bytes]:
        if "chunked" in environ.get("HTTP_TRANSFER_ENCODING", "").lower() and not environ.get("CONTENT_LENGTH"):
            try:
                # One byte more than is allowed is refused by who reads it.
                body = environ["wsgi.input"].read(longest_body(environ.get("PATH_INFO", "")) + 1)
            except OSError:
                environ |= {"wsgi.input": IncompleteBody(), "CONTENT_LENGTH": "1"}
            else:
                environ |= {"wsgi.input": io.BytesIO(body), "CONTENT_LENGTH": str(len(body))}
        return application(environ, start_response)

    return wrapped


class LazyQueryRequest(WSGIRequest):
    """Django's request, whose query is UTF-8 whatever charset the content type names, and is read when it is needed.

    Django would read it in that charset, and at once: what cannot be read is then answered by no handler. In UTF-16 it
    is read as Django does, which fails at nothing: so it is recorded in ``tests/api/corpus``.
    """

    @property
    def encoding(self) -> str | None:
        return self._encoding

    @encoding.setter
    def encoding(self, charset: str) -> None:
        self._encoding = charset if codecs.lookup(charset).name == "utf-16" else None


class IncompleteBody:
    """A body that did not arrive whole. Django's request tells who reads it, as of one that had a length."""

    def read(self, size: int = -1) -> bytes:
        raise OSError("the body did not arrive whole")

    readline = read


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
