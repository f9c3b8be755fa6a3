"""Vonage Identity Insights, the insight *SIM swap*. Its application needs the operators' approval (Network Registry).

Sources: Vonage's guide, and its demonstration vcr-react-express-monorepo-identity-insights (read in November 2026): the
fields of the request, and the JWT with ``application_id``, ``iat``, ``exp`` and ``jti``, signed by RS256 with the
application's private key. Not confirmed: the path below, and that ``is_swapped`` stands in ``insights.sim_swap``.
Whatever else is answered is no verdict.
"""

from __future__ import annotations

import base64
import binascii
import re
import time
import uuid
from typing import Any

from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
from cryptography.hazmat.primitives.serialization import load_der_private_key
from joserfc import jwt
from joserfc.jwk import RSAKey

from providers.errors import Outcome, ProviderError
from providers.http.client import HttpAnswer, HttpClient
from providers.risk import base
from providers.risk.base import Judgement, Question, RiskAccount, Verdict

URL = "https://api-eu.vonage.com"
TOKEN_SECONDS = 60  # one request's
PURPOSE = "FraudPreventionAndDetection"
_ARMOUR = re.compile(r"-----[A-Z ]+-----|\s")


class VonageIdentity(base.Check):
    name = "vonage_identity"
    label = "Vonage Identity Insights"
    needs = ("vonage_application", "vonage_key")

    def request(
        self, question: Question, account: RiskAccount, *, http: HttpClient, url: str = "", **_: Any
    ) -> HttpAnswer:
        """``url`` is for tests."""
        return http.request(
            "POST",
            f"{url or URL}/identity-insights/v1/requests",
            headers={"authorization": f"Bearer {_token(account)}"},
            json={
                "phone_number": question.to,
                "purpose": PURPOSE,
                "insights": {"sim_swap": {"period": account.swap_hours}},
            },
            timeout=base.TIMEOUTS,
        )

    def judge(self, answer: HttpAnswer, account: RiskAccount) -> Judgement:
        found = base.body_of(answer)
        insights = found.get("insights") if found else None
        swap = insights.get("sim_swap") if isinstance(insights, dict) else None
        if not isinstance(swap, dict) or not isinstance(swap.get("is_swapped"), bool):
            return base.unread(answer)
        if swap["is_swapped"]:
            return Judgement(Verdict.DENY, f"the SIM was changed within {account.swap_hours} hours")
        return Judgement(Verdict.ALLOW, f"the SIM was not changed within {account.swap_hours} hours")


def private_key(text: str) -> RSAPrivateKey:
    """Return the key of a PEM file's text, also where a form has made one line of it. Raises ``ValueError``."""
    try:
        key = load_der_private_key(base64.b64decode(_ARMOUR.sub("", text), validate=True), password=None)
    except (binascii.Error, TypeError) as error:
        raise ValueError(str(error)) from None
    if not isinstance(key, RSAPrivateKey):
        raise ValueError("it is not an RSA key")
    return key


def _token(account: RiskAccount) -> str:
    now = int(time.time())
    claims = {
        "application_id": account.vonage_application,
        "iat": now,
        "exp": now + TOKEN_SECONDS,
        "jti": str(uuid.uuid4()),
    }
    try:
        key = RSAKey.import_key(private_key(account.vonage_key))
    except ValueError:
        raise ProviderError("the private key cannot be read", Outcome.MISCONFIGURED) from None
    return jwt.encode({"alg": "RS256"}, claims, key)
