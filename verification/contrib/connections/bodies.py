"""Reading the bodies of calls: JSON or a form, and a text at a path within."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qsl

import orjson

from verification.contrib.connections.calls import Call, CallUnreadable

FORM = "application/x-www-form-urlencoded"
PLACE = "{code}"  # in the text around a code
MAX_FIELDS = 50  # fields of a form; systems send under ten
_BARE_PLUS = re.compile(r"=\+(?=[0-9])")  # a number's, which a system did not escape; elsewhere a plus is a space
MAX_TEXT = 2_000  # characters of a text that is read: a message has a few hundred


_CODE = r"(?<![A-Za-z0-9])(?=[A-Za-z]{0,9}[0-9])([A-Za-z0-9]{4,10})(?![A-Za-z0-9])"
_SPACES_FOR_CONTROLS = bytes.maketrans(bytes(range(1, 32)), b" " * 31)


def read_json(body: bytes) -> dict[str, Any]:
    """Return the object. Raises :class:`CallUnreadable`."""
    try:
        found = orjson.loads(body)
    except orjson.JSONDecodeError:
        raise CallUnreadable("the body is not JSON") from None
    if not isinstance(found, dict):
        raise CallUnreadable("the body is not an object")
    return found


def read_json_or_form(call: Call) -> dict[str, Any]:
    """Return the object of JSON, or the fields of a form. Raises :class:`CallUnreadable`.

    Systems that glue their JSON together leave line breaks in its texts as they are, which become spaces here.
    """
    if call.headers.get("content-type", "").partition(";")[0].strip().lower() != FORM:
        return read_json(call.body.translate(_SPACES_FOR_CONTROLS))
    try:
        text = _BARE_PLUS.sub("=%2B", call.body.decode())
        pairs = parse_qsl(text, keep_blank_values=True, errors="strict", max_num_fields=MAX_FIELDS)
    except ValueError:
        raise CallUnreadable("the body is not a form in UTF-8") from None
    return dict(pairs)


def text_at(body: Mapping[str, Any], *paths: str) -> str:
    """Return the text at the first of these paths that has one, such as ``user.phone``; else the empty text.

    Names are compared as they stand. Raises :class:`CallUnreadable` for a text that is too long or holds a NUL.
    """
    for path in paths:
        found: Any = body
        for name in path.split("."):
            found = found.get(name) if isinstance(found, Mapping) else None
        if isinstance(found, str) and found.strip():
            if len(found) > MAX_TEXT or "\0" in found:
                raise CallUnreadable(f"{path} cannot be read")
            return found.strip()
    return ""


def required(body: Mapping[str, Any], what: str, *paths: str) -> str:
    """Return the text at the first of these paths that has one. Raises :class:`CallUnreadable`, naming ``what``."""
    text = text_at(body, *paths)
    if not text:
        raise CallUnreadable(f"there is no {what} at {' or '.join(paths)}")
    return text


def code_in(text: str, pattern: str = PLACE) -> str:
    """Return the text's one code, within the words of a pattern. Raises :class:`CallUnreadable` for none or several.

    It is a word of 4 to 10 letters and digits that holds a digit. The words around it are compared as they stand, so
    nobody's pattern takes long.
    """
    before, _, after = pattern.partition(PLACE)
    found = set(re.findall(re.escape(before) + _CODE + re.escape(after), text))
    if len(found) != 1:
        raise CallUnreadable(f"the text contains {'several codes' if found else 'no code'}")
    return str(found.pop())
