"""What the hooks of several vendors have in common: where they report to, and how their calls are read."""

from __future__ import annotations

import hmac
import json
import re
import time
from collections.abc import Sequence
from typing import Any
from urllib.parse import parse_qs

from providers.base import HookRequest, OutgoingMessage
from providers.door import outbound
from providers.errors import AddressBlocked, HookForged, HookUnreadable

FORM = "application/x-www-form-urlencoded"
FRESH_SECONDS = 300  # either way; no vendor gives a number
MAX_FIELDS = 200
MAX_QUERY_FIELDS = 20  # ours are few, and an operator adds hardly any

_OUR_ID = re.compile(r"[0-9]{1,18}")
_TIMESTAMP = re.compile(r"[0-9]{1,12}")


def report_url(message: OutgoingMessage, allowed_networks: Sequence[str]) -> str:
    """Our address for reports; empty where a report could not arrive, such as on a private address."""
    try:
        outbound.judge_url(message.hook_url or "", allowed_networks)
    except AddressBlocked:
        return ""
    return message.hook_url or ""


def our_id(value: object) -> int | None:
    """Our own number of a message, as we gave it to the vendor; None for anything else."""
    return int(value) if isinstance(value, str) and _OUR_ID.fullmatch(value) else None


def form_lists(text: bytes | str) -> dict[str, list[str]]:
    """Every field of a form or a query, the empty ones included, for they are signed too.

    Raises :class:`HookUnreadable`.
    """
    try:
        decoded = text.decode("ascii") if isinstance(text, bytes) else text
        return parse_qs(decoded, keep_blank_values=True, max_num_fields=MAX_FIELDS)
    except ValueError:
        raise HookUnreadable("the body is not a form") from None


def form_fields(text: bytes | str) -> dict[str, str]:
    """As :func:`form_lists`; of a name that stands there twice the last value counts."""
    return {name: values[-1] for name, values in form_lists(text).items()}


def query_fields(query: str) -> dict[str, str]:
    """The fields of a query that carries what we wrote into our own address: of a name that stands there twice the
    first value counts, since ours come first. One that cannot be read has none.
    """
    try:
        found = parse_qs(query, keep_blank_values=True, max_num_fields=MAX_QUERY_FIELDS)
    except ValueError:
        return {}
    return {name: values[0] for name, values in found.items()}


def json_object(body: bytes) -> dict[str, Any]:
    """Raises :class:`HookUnreadable`."""
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        raise HookUnreadable("the body is not JSON") from None
    if not isinstance(found, dict):
        raise HookUnreadable("the body is not a JSON object")
    return found


def content_type(request: HookRequest) -> str:
    return request.headers.get("content-type", "").partition(";")[0].strip().lower()


def is_same(given: str, expected: str) -> bool:
    """Whether a secret or a signature is the one we expect, compared in constant time."""
    return hmac.compare_digest(given.encode("utf-8", "replace"), expected.encode())


def require_same(given: str, expected: str) -> None:
    """Raises :class:`HookForged` unless the signature that was given is the one we expect."""
    if not is_same(given, expected):
        raise HookForged("the signature does not hold")


def require_fresh(timestamp: str) -> None:
    """Raises :class:`HookForged` unless ``timestamp``, in seconds since 1970, is at most five minutes from now."""
    if not _TIMESTAMP.fullmatch(timestamp) or abs(time.time() - int(timestamp)) > FRESH_SECONDS:
        raise HookForged("the signature is too old or from the future")
