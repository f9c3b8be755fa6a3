"""Google reCAPTCHA, v2 and v3, at the address that takes a key's legacy secret. Only v3 gives a score and an action."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from providers.challenges import base
from providers.challenges.base import ACTION, Judgement, Site, Verdict


class ReCaptcha(base.Vendor):
    verify_url = "https://www.google.com/recaptcha/api/siteverify"
    dummy_secrets = frozenset({"6LeIxAcTAAAAAGG-vFI1TnRWxMZNFuojJ4WifJWe"})
    our_errors = frozenset({"missing-input-secret", "invalid-input-secret", "bad-request"})

    def judge(self, site: Site, answer: Mapping[str, Any]) -> Judgement:
        if "score" in answer:
            if answer.get("action") != ACTION:
                return Judgement(Verdict.FAILED, "the token was made for another action")
            score = answer["score"]
            if not isinstance(score, int | float) or score < site.min_score:
                return Judgement(Verdict.FAILED, "the score is too low")
        return super().judge(site, answer)
