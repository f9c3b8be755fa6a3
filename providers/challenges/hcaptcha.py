"""hCaptcha. It takes forms and no JSON; with our site key it refuses the tokens of others."""

from __future__ import annotations

from providers.challenges import base
from providers.challenges.base import Site


class HCaptcha(base.Vendor):
    verify_url = "https://api.hcaptcha.com/siteverify"
    dummy_secrets = frozenset({"0x0000000000000000000000000000000000000000"})
    our_errors = frozenset(
        {
            "missing-input-secret",
            "invalid-input-secret",
            "sitekey-secret-mismatch",
            "not-using-dummy-secret",
            "missing-remoteip",
            "invalid-remoteip",
            "bad-request",
        }
    )

    def form(self, site: Site, token: str) -> dict[str, str]:
        return {**super().form(site, token), "sitekey": site.site_key}
