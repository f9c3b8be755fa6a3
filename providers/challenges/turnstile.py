"""Cloudflare Turnstile. A token is at most 2048 characters long, lives for 300 seconds and works once."""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Mapping
from typing import Any

from providers.challenges import base
from providers.challenges.base import ACTION, ChallengeOutcome, ChallengeResult, Site

_ENDING = "0000000000000000000000000000000AA"


class Turnstile(base.Vendor):
    verify_url = "https://challenges.cloudflare.com/turnstile/v0/siteverify"
    max_token_characters = 2048
    max_age_seconds = 300
    dummy_secrets = frozenset({f"{kind}x{_ENDING}" for kind in "123"})
    our_errors = frozenset({"missing-input-secret", "invalid-input-secret", "bad-request"})
    passing_errors = frozenset({"internal-error"})

    def form(self, site: Site, token: str) -> dict[str, str]:
        """Add an idempotency key, with which the vendor gives the same answer if we ask again after a fault of ours.

        So the vendor does not keep a token from working twice: our own row does.
        """
        digest = hashlib.sha256(f"{site.site_key}:{token}".encode()).digest()
        return {**super().form(site, token), "idempotency_key": str(uuid.UUID(bytes=digest[:16], version=4))}

    def read_answer(self, site: Site, answer: Mapping[str, Any]) -> ChallengeResult:
        action = answer.get("action")  # empty where the widget names none
        if action and action != ACTION:
            return ChallengeResult(ChallengeOutcome.FAILED, "the token was made for another action")
        return super().read_answer(site, answer)
