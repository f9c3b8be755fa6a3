"""Request bodies: strict JSON, read once.

Two programs that read one body differently are a security hole: the proxy sees the first `code`, we the last. So
whatever RFC 8259 leaves to the reader, and I-JSON (RFC 7493) forbids, is refused here.
"""

import json
import re
from collections.abc import Iterator
from typing import Protocol

from django.http import HttpRequest
from django.utils.http import parse_header_parameters

from verification.content_length import announced_length

MEDIA_TYPE = "application/json"

# Bytes of a body. Our largest request, a session create with the longest answer to a challenge, takes about 9 KiB.
MAX_BODY_BYTES = 16 * 1024

# Levels of nesting; the object itself is level 1. Our requests use one level, the rest is for fields we do not read.
MAX_DEPTH = 5

# Members of one object. Unknown fields are ignored, so there may be more than our fields, which are under ten.
MAX_MEMBERS = 100

# Digits of a number: enough for every 64-bit integer. Longer ones only cost time to convert.
MAX_NUMBER_DIGITS = 20


class BodyUnreadable(ValueError):
    """The body is not JSON as we accept it; `str(error)` is one sentence without the body's content."""


class BodyTooLarge(ValueError):
    """The body has more than MAX_BODY_BYTES."""


class UnsupportedMedia(ValueError):
    """The body is announced as something else than JSON in UTF-8."""


class UnsupportedCharset(UnsupportedMedia):
    """The content type names a charset other than UTF-8."""


# --- Numbers and members, as the decoder meets them ---------------------------------------------------


def _unique_members(pairs: list[tuple[str, object]]) -> dict[str, object]:
    if len(pairs) > MAX_MEMBERS:
        raise BodyUnreadable(f"An object in the body has more than {MAX_MEMBERS} members.")
    members = dict(pairs)
    if len(members) != len(pairs):
        raise BodyUnreadable("An object in the body has two members of the same name.")
    return members


def _check_digits(text: str) -> None:
    if sum(map(str.isdigit, text)) > MAX_NUMBER_DIGITS:
        raise BodyUnreadable(f"A number in the body has more than {MAX_NUMBER_DIGITS} digits.")


def _integer(text: str) -> int:
    _check_digits(text)
    return int(text)


def _real(text: str) -> float:
    _check_digits(text)
    number = float(text)
    if number in (float("inf"), float("-inf")):
        raise BodyUnreadable("A number in the body is too large.")
    return number


def _constant(_name: str) -> object:
    raise BodyUnreadable("The body has NaN or Infinity, which are not JSON.")


# The standard library's decoder, because it alone reports duplicate names; the scanner is C all the same.
_DECODER = json.JSONDecoder(
    object_pairs_hook=_unique_members, parse_int=_integer, parse_float=_real, parse_constant=_constant
)


# --- The whole body -----------------------------------------------------------------------------------


def parse_object(body: bytes) -> dict[str, object]:
    """Return the JSON object in `body`, which the caller has limited in size; raises BodyUnreadable.

    It refuses these bodies:

    - any encoding but UTF-8, and a byte order mark
    - a top level that is not an object
    - duplicate member names, and over 100 members in an object
    - more than 5 levels
    - NaN and Infinity, numbers out of range or of over 20 digits
    - NUL characters and lone surrogates, escaped ones included
    """
    text = _decode(body)
    _check_depth(text)
    try:
        value = _DECODER.decode(text)
    except json.JSONDecodeError as error:
        message = f"The body is not valid JSON (line {error.lineno}, column {error.colno})."
        raise BodyUnreadable(message) from None
    if not isinstance(value, dict):
        raise BodyUnreadable("The body is not a JSON object.")
    # Unescaped, neither NUL nor a surrogate gets past `_decode`.
    if "\\u" in text:
        _check_characters(value)
    return value


def _decode(body: bytes) -> str:
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError:
        raise BodyUnreadable("The body is not UTF-8.") from None
    if text.startswith("\ufeff"):
        raise BodyUnreadable("The body begins with a byte order mark.")
    if "\0" in text:
        raise BodyUnreadable("The body has a NUL character.")
    if not text or text.isspace():
        raise BodyUnreadable("The body is empty.")
    return text


# Strings come first, so that brackets in them do not count; a string without an end takes the rest. The quantifiers
# are possessive, so the time is linear whatever the body holds.
_STRUCTURE = re.compile(r'"(?:[^"\\]++|\\.)*+"?|[\[{]|[\]}]', re.DOTALL)


def _check_depth(text: str) -> None:
    """Raise BodyUnreadable for too many levels, before the decoder, which recurses once for each."""
    if text.count("{") + text.count("[") <= MAX_DEPTH:
        return
    depth = 0
    for match in _STRUCTURE.finditer(text):
        sign = match[0]
        if sign in "[{":
            depth += 1
        elif sign in "]}":
            depth -= 1
        if depth > MAX_DEPTH:
            raise BodyUnreadable(f"The body is nested deeper than {MAX_DEPTH} levels.")


def _check_characters(value: object) -> None:
    for text in _strings(value):
        if "\0" in text:
            raise BodyUnreadable("The body has a NUL character.")
        if any("\ud800" <= char <= "\udfff" for char in text):
            raise BodyUnreadable("The body has half of a surrogate pair.")


def _strings(value: object) -> Iterator[str]:
    """Yield every string in `value`, member names included."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        yield from value
        for member in value.values():
            yield from _strings(member)
    elif isinstance(value, list):
        for item in value:
            yield from _strings(item)


# --- From a request --------------------------------------------------------------------------------------


class Readable(Protocol):
    """A stream of bytes: a file, or Django's request."""

    def read(self, size: int, /) -> bytes: ...


def read_object(stream: Readable, content_type: str) -> dict[str, object]:
    """Return the JSON object in `stream`; raises BodyUnreadable, BodyTooLarge or UnsupportedCharset."""
    _check_charset(content_type)
    return parse_object(_read_body(stream))


def _check_charset(content_type: str) -> None:
    try:
        _, parameters = parse_header_parameters(content_type)
    except ValueError:  # an RFC 2231 parameter in an encoding that does not exist
        parameters = {"charset": ""}
    if parameters.get("charset", "utf-8").lower() not in ("utf-8", "utf8"):
        raise UnsupportedCharset("The body must be UTF-8.")


def _read_body(stream: Readable) -> bytes:
    """Return all of `stream`; raises BodyTooLarge one byte over the limit, whatever length was declared."""
    body = bytearray()
    # A read may return less than asked for before the end.
    while chunk := stream.read(MAX_BODY_BYTES + 1 - len(body)):
        body += chunk
        if len(body) > MAX_BODY_BYTES:
            raise BodyTooLarge(f"The body is larger than {MAX_BODY_BYTES} bytes.")
    return bytes(body)


def require_length(request: HttpRequest, most: int) -> None:
    """Raise BodyTooLarge for a body announced as longer than `most` bytes. The web server may not have read it."""
    if announced_length(request) > most:
        raise BodyTooLarge(f"The body is larger than {most} bytes.")


def read_body(request: HttpRequest) -> dict[str, object]:
    """Return the object in the request's body. An empty body is unreadable too.

    Raises BodyUnreadable, BodyTooLarge or UnsupportedMedia.
    """
    content_type = request.META.get("CONTENT_TYPE", "")
    if content_type.partition(";")[0].strip().lower() != MEDIA_TYPE:
        raise UnsupportedMedia("The Content-Type must be application/json.")
    if request.META.get("HTTP_CONTENT_ENCODING", "identity").lower() != "identity":
        raise UnsupportedMedia("The body must not be compressed.")
    require_length(request, MAX_BODY_BYTES)
    return read_object(request, content_type)
