"""Signatures of callbacks and other events, by Standard Webhooks."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import json
import time
from collections.abc import Mapping, Sequence
from typing import Any

from watchword.errors import CallbackRefused
from watchword.types import FinishedMessage, SessionEvent

TOLERANCE_SECONDS = 300  # how far the two clocks may differ, and how old a recorded callback may be


def verify_callback(
    headers: Mapping[str, str],
    body: bytes,
    secret: str | Sequence[str],
    *,
    tolerance: float = TOLERANCE_SECONDS,
    now: float | None = None,
) -> FinishedMessage:
    """Return the message that a genuine callback reports, or raise :class:`CallbackRefused`.

    ``body`` is the bytes as they arrived. ``secret`` begins with ``whsec_``; pass several during a rotation.
    ``now`` is in seconds since 1970, for tests. A callback can arrive twice: act on each ``webhook-id`` once.
    """
    return FinishedMessage.from_json(_genuine(headers, body, secret, tolerance, now))


def verify_event(
    headers: Mapping[str, str],
    body: bytes,
    secret: str | Sequence[str],
    *,
    tolerance: float = TOLERANCE_SECONDS,
    now: float | None = None,
) -> SessionEvent:
    """Return the event of a session that a genuine call reports, as :func:`verify_callback` does for a message."""
    return SessionEvent.from_json(_genuine(headers, body, secret, tolerance, now))


def signed_headers(identity: str, body: bytes, secret: str) -> dict[str, str]:
    """Return the headers with which the service would report an event now."""
    timestamp = str(int(time.time()))
    signature = _signature(_key(secret), f"{identity}.{timestamp}.".encode() + body)
    return {"webhook-id": identity, "webhook-timestamp": timestamp, "webhook-signature": signature.decode()}


def _genuine(
    headers: Mapping[str, str], body: bytes, secret: str | Sequence[str], tolerance: float, now: float | None
) -> Any:
    """Return the JSON of a genuine call, or raise :class:`CallbackRefused`."""
    keys = [_key(each) for each in ([secret] if isinstance(secret, str) else secret)]
    given = {name.lower(): value for name, value in headers.items()}
    identity, timestamp = given.get("webhook-id", ""), given.get("webhook-timestamp", "")
    if not (identity and timestamp.isascii() and timestamp.isdigit()):
        raise CallbackRefused("The headers webhook-id and webhook-timestamp are missing or malformed.")
    signed = f"{identity}.{timestamp}.".encode() + body
    expected = [_signature(key, signed) for key in keys]
    signatures = given.get("webhook-signature", "").encode().split(b" ")
    matches = [hmac.compare_digest(ours, theirs) for ours in expected for theirs in signatures]  # all, in even time
    if not any(matches):
        raise CallbackRefused("No signature of the callback is valid.")
    if abs((time.time() if now is None else now) - int(timestamp)) > tolerance:
        raise CallbackRefused("The callback is too old, or one of the two clocks is wrong.")
    return json.loads(body)


def _signature(key: bytes, signed: bytes) -> bytes:
    return b"v1," + base64.b64encode(hmac.digest(key, signed, hashlib.sha256))


def _key(secret: str) -> bytes:
    try:
        key = base64.b64decode(secret.removeprefix("whsec_"), validate=True)
    except (binascii.Error, ValueError):
        key = b""
    if not (secret.startswith("whsec_") and key):
        raise ValueError("A callback secret begins with whsec_; the project's page in the panel shows it.")
    return key
