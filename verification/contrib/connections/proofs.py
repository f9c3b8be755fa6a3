"""Proofs that a system made a call: signatures and shared secrets. All are compared in constant time."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import re
from typing import Any

from joserfc import jwt
from joserfc.errors import JoseError
from joserfc.jwk import KeySet
from standardwebhooks.webhooks import Webhook, WebhookVerificationError

from verification.contrib.connections.calls import Call, ProofInvalid
from verification.contrib.connections.published_keys import keys_at

FRESH_SECONDS = 300  # how old a signed call may be, as Standard Webhooks and Zitadel say

_WEBHOOK_SIGNATURE = re.compile(r"v1,([A-Za-z0-9+/]+={0,2})")
_ZITADEL_PART = re.compile(r"(t|v1)=([0-9a-fA-F]+)")
LEEWAY_SECONDS = 60  # by which two clocks may differ
MAX_TOKEN = 8_192  # characters; Entra's have under two thousand
MAX_SIGNATURES = 10  # that are compared: two during a rotation, and nobody's call may cost more


def standard_webhook(call: Call, secret: str) -> None:
    """Check a signature of Standard Webhooks. Several may stand in one header, parted by spaces or by commas.

    The specification parts them by spaces; Supabase joins them by ``", "``. Raises :class:`ProofInvalid`.
    """
    given = _WEBHOOK_SIGNATURE.findall(call.headers.get("webhook-signature", ""))[:MAX_SIGNATURES]
    if not given:
        raise ProofInvalid("there is no signature")
    headers = {
        "webhook-id": call.headers.get("webhook-id", ""),
        "webhook-timestamp": call.headers.get("webhook-timestamp", ""),
        "webhook-signature": " ".join(f"v1,{signature}" for signature in given),
    }
    try:
        Webhook(secret.removeprefix("v1,")).verify(call.body, headers, json_parse=False)
    except WebhookVerificationError as error:
        raise ProofInvalid(str(error).lower()) from None
    except (ValueError, OverflowError):  # no base64, no UTF-8, no time
        raise ProofInvalid("the signature cannot be read") from None


def zitadel(call: Call, secret: str, *, now: float) -> None:
    """Check ``ZITADEL-Signature: t=<unix>,v1=<hex of HMAC-SHA256 over "t.body">``. Raises :class:`ProofInvalid`.

    ``pkg/actions/signing.go`` of Zitadel writes it; a new key may sign beside the old one.
    """
    parts = _ZITADEL_PART.findall(call.headers.get("zitadel-signature", ""))
    times = [value for name, value in parts if name == "t" and value.isdigit() and len(value) < 12]
    given = [value.lower() for name, value in parts if name == "v1"][:MAX_SIGNATURES]
    if not times or not given:
        raise ProofInvalid("there is no signature")
    expected = hmac.new(secret.encode(), times[0].encode() + b"." + call.body, hashlib.sha256).hexdigest()
    if not _is_one_of(given, expected):
        raise ProofInvalid("the signature is wrong")
    if abs(now - int(times[0])) > FRESH_SECONDS:
        raise ProofInvalid("the signature is too old")


def shared_secret(call: Call, secret: str, *, header: str = "") -> None:
    """Check the secret itself: as a Basic password, whatever the username, a bearer token, or a header's whole text.

    Without ``header`` it stands in ``Authorization``. Raises :class:`ProofInvalid`.
    """
    text = call.headers.get((header or "authorization").lower(), "").strip()
    if not text:
        raise ProofInvalid("there is no secret")
    scheme, _, rest = text.partition(" ")
    given = [text]
    if scheme.lower() == "bearer":
        given.append(rest.strip())
    elif scheme.lower() == "basic":
        given.append(_password(rest.strip()))
    if not _is_one_of(given, secret):
        raise ProofInvalid("the secret is wrong")


def access_token(call: Call, keys_url: str, *, now: float) -> dict[str, Any]:
    """Check a bearer token that the system's own keys sign (RS256), and return its claims.

    Whom it is for and by whom is not checked here. Raises :class:`ProofInvalid`, and ``service_unavailable`` while the
    keys cannot be fetched.
    """
    scheme, _, text = call.headers.get("authorization", "").partition(" ")
    if scheme.lower() != "bearer" or not 0 < len(text) <= MAX_TOKEN:
        raise ProofInvalid("there is no token")

    def keys(signed: Any) -> KeySet:
        return keys_at(keys_url, str(signed.headers().get("kid")), project_id=call.project_id)

    try:
        token = jwt.decode(text.strip(), keys, algorithms=["RS256"])
        claims = jwt.JWTClaimsRegistry(now=int(now), leeway=LEEWAY_SECONDS, exp={"essential": True})
        claims.validate(token.claims)
    except (JoseError, ValueError, TypeError):
        raise ProofInvalid("the token is not signed by the system, or no longer good") from None
    return token.claims


def _password(encoded: str) -> str:
    try:
        return base64.b64decode(encoded, validate=True).decode().partition(":")[2]
    except (binascii.Error, ValueError):
        return ""


def _is_one_of(given: list[str], expected: str) -> bool:
    """Return whether one is the expected text. No time tells how much of one was right."""
    same = [hmac.compare_digest(_digest(text), _digest(expected)) for text in given]
    return any(same)


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).digest()
