"""JSON Web Tokens with which vendors sign their calls: three parts in base64, under an HMAC with a secret that we know.

We know the algorithm beforehand, so what a token says of itself decides nothing.
"""

from __future__ import annotations

import base64
import binascii
import hmac
import json
import time
from collections.abc import Collection
from typing import Any

from providers.errors import HookForged
from providers.parsing import hooks

LEEWAY_SECONDS = 60  # by which the vendor's clock and ours may differ
MAX_LENGTH = 4_096  # characters of a token; vendors' have a few hundred
_DIGESTS = {"HS256": "sha256", "HS384": "sha384", "HS512": "sha512"}


def read(token: str, secret: str, *, issuer: str, algorithms: Collection[str] = ("HS256",)) -> dict[str, Any]:
    """Return the claims of a token. Raises :class:`HookForged` unless ``issuer`` signed it and it is valid now."""
    head, _, rest = token.partition(".")
    body, _, signature = rest.partition(".")
    if not token.isascii() or len(token) > MAX_LENGTH or not (head and body and signature):
        raise HookForged("the call carries no token")
    algorithm = _object(head).get("alg")
    if not isinstance(algorithm, str) or algorithm not in algorithms:
        raise HookForged("the token is signed in another way")
    expected = hmac.digest(secret.encode(), f"{head}.{body}".encode(), _DIGESTS[algorithm])
    hooks.require_same(signature, base64.urlsafe_b64encode(expected).rstrip(b"=").decode())
    claims = _object(body)
    now = time.time()
    begins, ends = _moment(claims, "nbf"), _moment(claims, "exp")
    if claims.get("iss") != issuer or not begins - LEEWAY_SECONDS <= now <= ends + LEEWAY_SECONDS:
        raise HookForged("the token is another's, too old or from the future")
    return claims


def _object(part: str) -> dict[str, Any]:
    try:
        found = json.loads(base64.b64decode(part + "=" * (-len(part) % 4), altchars=b"-_", validate=True))
    except (binascii.Error, ValueError, RecursionError):
        raise HookForged("the token cannot be read") from None
    if not isinstance(found, dict):
        raise HookForged("the token cannot be read")
    return found


def _moment(claims: dict[str, Any], name: str) -> float:
    value = claims.get(name)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise HookForged("the token tells no time")
    return value
