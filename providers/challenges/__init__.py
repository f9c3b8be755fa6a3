"""Bot protection: one file for each vendor, and one for the proof of work that needs none."""

from __future__ import annotations

from providers.challenges.base import Vendor
from providers.challenges.hcaptcha import HCaptcha
from providers.challenges.recaptcha import ReCaptcha
from providers.challenges.turnstile import Turnstile

VENDORS: dict[str, Vendor] = {"turnstile": Turnstile(), "hcaptcha": HCaptcha(), "recaptcha": ReCaptcha()}


def is_dummy_secret(vendor: str, secret: str) -> bool:
    """Return whether the vendor publishes this secret for tests: it would let everybody pass."""
    return vendor in VENDORS and secret in VENDORS[vendor].dummy_secrets
