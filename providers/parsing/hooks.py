"""Helpers for the hooks of all vendors: where they report to, and how we read and verify their calls."""

from __future__ import annotations

import hmac
import json
import re
import time
from collections.abc import Mapping, Sequence
from email import message_from_bytes
from typing import Any
from urllib.parse import parse_qs

from providers.base import HookRequest, MessagePrice, OutgoingMessage, Receipt, ReceiptStatus
from providers.errors import AddressBlocked, HookForged, HookUnreadable
from providers.http import ssrf

FORM, MULTIPART = "application/x-www-form-urlencoded", "multipart/form-data"
FRESH_SECONDS = 300  # the most that a signed moment may differ from now, either way; no vendor gives a number
MAX_FIELDS = 200  # fields of one form; more are refused unread
MAX_QUERY_FIELDS = 20  # fields of the query of our own address: ours are few, and an operator adds hardly any

NOT_DELIVERED = (ReceiptStatus.FAILED, ReceiptStatus.EXPIRED)
NO_REASONS: Mapping[int, str] = {}

_OUR_ID = re.compile(r"[0-9]{1,18}")
_TIMESTAMP = re.compile(r"[0-9]{1,12}")


def report_url(message: OutgoingMessage, allowed_networks: Sequence[str]) -> str:
    """Return our address for reports; empty if a report could not arrive there, such as at a private address."""
    try:
        ssrf.check_url(message.hook_url or "", allowed_networks)
    except AddressBlocked:
        return ""
    return message.hook_url or ""


def our_id(value: object) -> int | None:
    """Return our own number of a message, as we gave it to the vendor; None for anything else."""
    return int(value) if isinstance(value, str) and _OUR_ID.fullmatch(value) else None


def receipt(
    status: ReceiptStatus,
    *,
    vendor: str,
    identity: str,
    word: str,
    code: int | None = None,
    reasons: Mapping[int, str] = NO_REASONS,
    reference: object = None,
    is_suppressed: bool = False,
    is_opted_out: bool = False,
    price: MessagePrice | None = None,
) -> Receipt:
    """Return the receipt of a vendor that reports a ``word`` and, of a failure, a number of the error.

    ``reasons`` are our words for these numbers. ``reference`` carries our own number of the message. A number of 0 is
    a vendor's way of writing that there is none.
    """
    failure = f"{vendor}: it was not delivered ({word})"
    if code:
        failure = f"{vendor}: {reasons.get(code, 'it was not delivered')} (error {code})"
    return Receipt(
        status,
        provider_message_id=identity,
        message_id=our_id(reference),
        error=failure if status in NOT_DELIVERED else "",
        provider_status=f"{word} {code}" if code else word,
        is_suppressed=is_suppressed,
        is_opted_out=is_opted_out,
        price=price,
    )


def form_lists(text: bytes | str) -> dict[str, list[str]]:
    """Read every field of a form or a query, empty ones too, because they are signed too.

    Raises :class:`HookUnreadable`.
    """
    try:
        decoded = text.decode("ascii") if isinstance(text, bytes) else text
        return parse_qs(decoded, keep_blank_values=True, max_num_fields=MAX_FIELDS)
    except ValueError:
        raise HookUnreadable("the body is not a form") from None


def form_fields(text: bytes | str) -> dict[str, str]:
    """Read a form or a query; the last value of a repeated name counts. Raises :class:`HookUnreadable`."""
    return {name: values[-1] for name, values in form_lists(text).items()}


def signed_form(request: HookRequest) -> dict[str, list[str]]:
    """Read every field of a signed form. Raises :class:`HookForged` for a call that is no form."""
    if content_type(request) != FORM:
        raise HookForged("only forms are signed as we verify it")
    try:
        return form_lists(request.body)
    except HookUnreadable as error:
        raise HookForged(str(error)) from None


def query_fields(query: str) -> dict[str, str]:
    """Read the query of our own address, which carries what we wrote into it; empty if it cannot be read.

    The first value of a repeated name counts, because ours come first.
    """
    try:
        found = parse_qs(query, keep_blank_values=True, max_num_fields=MAX_QUERY_FIELDS)
    except ValueError:
        return {}
    return {name: values[0] for name, values in found.items()}


def is_json(request: HookRequest) -> bool:
    """Return whether the body is JSON, by its type or, where a vendor calls it a text or a form, by its look."""
    kind = content_type(request)
    return kind == "application/json" or kind.endswith("+json") or request.body.lstrip()[:1] in (b"{", b"[")


def posted_lists(request: HookRequest) -> dict[str, list[str]]:
    """Read every field of a form in either encoding. Raises :class:`HookUnreadable`."""
    if content_type(request) != MULTIPART:
        return form_lists(request.body)
    head = f"Content-Type: {request.headers['content-type']}\r\n\r\n".encode("utf-8", "replace")
    parts = [part for part in message_from_bytes(head + request.body).walk() if not part.is_multipart()]
    if not 0 < len(parts) <= MAX_FIELDS:
        raise HookUnreadable("the body is not a form")
    found: dict[str, list[str]] = {}
    for part in parts:
        name, value = part.get_param("name", header="content-disposition"), part.get_payload(decode=True)
        if isinstance(name, str) and isinstance(value, bytes):
            found.setdefault(name, []).append(value.decode("utf-8", "replace"))
    return found


def posted_fields(request: HookRequest) -> Mapping[str, Any]:
    """Read a JSON object, or a form whose last value of a repeated name counts. Raises :class:`HookUnreadable`."""
    if is_json(request):
        return json_object(request.body)
    return {name: values[-1] for name, values in posted_lists(request).items()}


def with_plus(value: str) -> str:
    """Return a number with the plus that its vendor did not escape in a form or a query, where it means a space."""
    return f"+{value[1:].rstrip()}" if re.match(" [0-9]", value) else value.strip()


def json_object(body: bytes) -> dict[str, Any]:
    """Read a body that must be a JSON object. Raises :class:`HookUnreadable`."""
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
    """Return whether a secret or a signature is the expected one, in constant time. An empty one never is."""
    return bool(expected) and hmac.compare_digest(given.encode("utf-8", "replace"), expected.encode())


def require_same(given: str, expected: str) -> None:
    """Raise :class:`HookForged` unless the given signature is the expected one."""
    if not is_same(given, expected):
        raise HookForged("the signature is not valid")


def require_fresh(timestamp: str) -> None:
    """Raise :class:`HookForged` unless ``timestamp``, in seconds since 1970, is at most five minutes from now."""
    if not _TIMESTAMP.fullmatch(timestamp) or abs(time.time() - int(timestamp)) > FRESH_SECONDS:
        raise HookForged("the signature is too old or from the future")
