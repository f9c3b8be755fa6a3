"""The vendors by the names that projects choose them by."""

from __future__ import annotations

from providers.challenges.base import Vendor
from providers.challenges.hcaptcha import HCaptcha
from providers.challenges.recaptcha import ReCaptcha
from providers.challenges.turnstile import Turnstile

VENDORS: dict[str, Vendor] = {"turnstile": Turnstile(), "hcaptcha": HCaptcha(), "recaptcha": ReCaptcha()}


def is_dummy_secret(vendor: str, secret: str) -> bool:
    """Whether it is one of those that the vendor publishes for tests and that let everybody pass."""
    return vendor in VENDORS and secret in VENDORS[vendor].dummy_secrets
