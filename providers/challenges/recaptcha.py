"""Google reCAPTCHA, v2 and v3, at the address that takes a key's legacy secret. Only v3 gives a score and an action."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from providers.challenges import base
from providers.challenges.base import ACTION, ChallengeOutcome, ChallengeResult, Site


class ReCaptcha(base.Vendor):
    verify_url = "https://www.google.com/recaptcha/api/siteverify"
    dummy_secrets = frozenset({"6LeIxAcTAAAAAGG-vFI1TnRWxMZNFuojJ4WifJWe"})
    our_errors = frozenset({"missing-input-secret", "invalid-input-secret", "bad-request"})

    def read_answer(self, site: Site, answer: Mapping[str, Any]) -> ChallengeResult:
        if "score" in answer:
            if answer.get("action") != ACTION:
                return ChallengeResult(ChallengeOutcome.FAILED, "the token was made for another action")
            score = answer["score"]
            if not isinstance(score, int | float) or score < site.min_score:
                return ChallengeResult(ChallengeOutcome.FAILED, "the score is too low")
        return super().read_answer(site, answer)
