"""Signatures of callbacks, by Standard Webhooks."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import json
import time
from collections.abc import Mapping, Sequence

from watchword.errors import CallbackRefused
from watchword.types import FinishedMessage

TOLERANCE_SECONDS = 300  # how far the two clocks may differ, and how old a recorded callback may be


def verify_callback(
    headers: Mapping[str, str],
    body: bytes,
    secret: str | Sequence[str],
    *,
    tolerance: float = TOLERANCE_SECONDS,
    now: float | None = None,
) -> FinishedMessage:
    """Return the message that a genuine callback tells of, or raise :class:`CallbackRefused`.

    ``body`` is the bytes as they arrived. ``secret`` begins with ``whsec_``; several are given during a rotation.
    ``now`` is in seconds since 1970, for tests. A callback can arrive twice: act on each ``webhook-id`` once.
    """
    keys = [_key(each) for each in ([secret] if isinstance(secret, str) else secret)]
    given = {name.lower(): value for name, value in headers.items()}
    identity, timestamp = given.get("webhook-id", ""), given.get("webhook-timestamp", "")
    if not (identity and timestamp.isascii() and timestamp.isdigit()):
        raise CallbackRefused("The headers webhook-id and webhook-timestamp are missing or malformed.")
    signed = f"{identity}.{timestamp}.".encode() + body
    expected = [b"v1," + base64.b64encode(hmac.digest(key, signed, hashlib.sha256)) for key in keys]
    signatures = given.get("webhook-signature", "").encode().split(b" ")
    matches = [hmac.compare_digest(ours, theirs) for ours in expected for theirs in signatures]  # all, in even time
    if not any(matches):
        raise CallbackRefused("No signature of the callback is right.")
    if abs((time.time() if now is None else now) - int(timestamp)) > tolerance:
        raise CallbackRefused("The callback is too old, or one of the two clocks is wrong.")
    return FinishedMessage.from_json(json.loads(body))


def _key(secret: str) -> bytes:
    try:
        key = base64.b64decode(secret.removeprefix("whsec_"), validate=True)
    except (binascii.Error, ValueError):
        key = b""
    if not (secret.startswith("whsec_") and key):
        raise ValueError("The secret of callbacks begins with whsec_; the project's page in the panel shows it.")
    return key
