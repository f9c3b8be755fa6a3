"""Request bodies: strict JSON, read once.

Two programs that read one body differently are a security hole: the proxy sees the first `code`, we the last. So
whatever RFC 8259 leaves to the reader, and I-JSON (RFC 7493) forbids, is refused here.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from itertools import chain
from math import isinf
from typing import Any

from django.utils.http import parse_header_parameters
from rest_framework.exceptions import ParseError, UnsupportedMediaType
from rest_framework.parsers import BaseParser

from verification.core.request_bodies import read_body

# Bytes of a body. Our largest request, a session create with the longest answer to a challenge, takes about 9 KiB.
MAX_BODY_BYTES = 16 * 1024

# Levels of nesting; the object itself is level 1. Our requests use one level, the rest is for fields we do not read.
MAX_DEPTH = 5

# Members of one object. Unknown fields are ignored, so there may be more than our fields, which are under ten.
MAX_MEMBERS = 100

# Digits of a number: enough for every 64-bit integer. Longer ones only cost time to convert.
MAX_NUMBER_DIGITS = 20


class StrictJSONParser(BaseParser):
    """Reads an object of JSON in UTF-8. Raises UnsupportedMediaType, ParseError or ``body_too_large``."""

    media_type = "application/json"

    def parse(
        self, stream: Any, media_type: str | None = None, parser_context: Mapping[str, Any] | None = None
    ) -> dict[str, object]:
        assert parser_context is not None
        request, media_type = parser_context["request"], media_type or ""
        named, parameters = parse_header_parameters(media_type)
        if named != self.media_type:
            raise UnsupportedMediaType(media_type, "The Content-Type must be application/json.")
        if request.META.get("HTTP_CONTENT_ENCODING", "identity").lower() != "identity":
            raise UnsupportedMediaType(media_type, "The body must not be compressed.")
        body = read_body(request, stream, MAX_BODY_BYTES)
        if parameters.get("charset", "utf-8").lower() not in ("utf-8", "utf8"):
            raise UnsupportedMediaType(media_type, "The body must be UTF-8.")
        return parse_object(body)


def parse_object(body: bytes) -> dict[str, object]:
    """Return the JSON object in `body`, which the caller has limited in size. Raises ParseError.

    It refuses these bodies:

    - any encoding but UTF-8, and a byte order mark
    - a top level that is not an object
    - duplicate member names, and over 100 members in an object
    - more than 5 levels
    - NaN and Infinity, numbers out of range or of over 20 digits
    - NUL characters and lone surrogates, escaped ones included

    The reason is one sentence without the body's content.
    """
    try:
        text = body.decode()
    except UnicodeDecodeError:
        raise ParseError("The body is not UTF-8.") from None
    if text.startswith("\ufeff"):
        raise ParseError("The body begins with a byte order mark.")
    if "\0" in text:
        raise ParseError("The body has a NUL character.")
    if not text or text.isspace():
        raise ParseError("The body is empty.")
    try:
        value = _DECODER.decode(text)
        _check(value)
    except json.JSONDecodeError as error:
        raise ParseError(f"The body is not valid JSON (line {error.lineno}, column {error.colno}).") from None
    except RecursionError:
        raise ParseError(f"The body is nested deeper than {MAX_DEPTH} levels.") from None
    if not isinstance(value, dict):
        raise ParseError("The body is not a JSON object.")
    return value


_SURROGATE = re.compile("[\ud800-\udfff]")


def _check(value: object, level: int = 1) -> None:
    """Raise RecursionError for too many levels, and ParseError for characters that no text of ours holds."""
    match value:
        case str():
            if "\0" in value:
                raise ParseError("The body has a NUL character.")
            if not value.isascii() and _SURROGATE.search(value):
                raise ParseError("The body has half of a surrogate pair.")
        case dict() | list():
            if level > MAX_DEPTH:
                raise RecursionError
            for item in chain(value, value.values() if isinstance(value, dict) else ()):
                _check(item, level + 1)


def _unique_members(pairs: list[tuple[str, object]]) -> dict[str, object]:
    if len(pairs) > MAX_MEMBERS:
        raise ParseError(f"An object in the body has more than {MAX_MEMBERS} members.")
    members = dict(pairs)
    if len(members) != len(pairs):
        raise ParseError("An object in the body has two members of the same name.")
    return members


def _integer(text: str) -> int:
    if sum(map(str.isdigit, text)) > MAX_NUMBER_DIGITS:
        raise ParseError(f"A number in the body has more than {MAX_NUMBER_DIGITS} digits.")
    return int(text)


def _real(text: str) -> float:
    _integer("".join(filter(str.isdigit, text)))
    if isinf(number := float(text)):
        raise ParseError("A number in the body is too large.")
    return number


def _constant(name: str) -> object:
    raise ParseError("The body has NaN or Infinity, which are not JSON.")


# The standard library's decoder, because it alone reports duplicate names; the scanner is C all the same.
_DECODER = json.JSONDecoder(
    object_pairs_hook=_unique_members, parse_int=_integer, parse_float=_real, parse_constant=_constant
)
