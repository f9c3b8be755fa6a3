"""JSON Web Tokens with which vendors sign their calls, by an HMAC with a secret that we know.

We know the algorithm beforehand, so what a token says of itself decides nothing.
"""

from __future__ import annotations

import time
from collections.abc import Collection
from typing import Any

from joserfc import jwt
from joserfc.errors import JoseError
from joserfc.jwk import OctKey

from providers.errors import HookForged

LEEWAY_SECONDS = 60  # by which the vendor's clock and ours may differ
MAX_LENGTH = 4_096  # characters of a token; vendors' have a few hundred


def read(token: str, secret: str, *, issuer: str, algorithms: Collection[str] = ("HS256",)) -> dict[str, Any]:
    """Return the claims of a token. Raises :class:`HookForged` unless ``issuer`` signed it and it is valid now."""
    if not token.isascii() or len(token) > MAX_LENGTH:
        raise HookForged("the call carries no token")
    rules = jwt.JWTClaimsRegistry(
        now=int(time.time()),
        leeway=LEEWAY_SECONDS,
        iss={"essential": True, "value": issuer},
        nbf={"essential": True},
        exp={"essential": True},
    )
    try:
        claims = jwt.decode(token, OctKey.import_key(secret), algorithms=list(algorithms)).claims
        rules.validate(claims)
    except (JoseError, ValueError, TypeError, RecursionError):
        raise HookForged("the token is not the vendor's, or not valid now") from None
    return claims
