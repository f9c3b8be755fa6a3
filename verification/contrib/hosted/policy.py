"""The headers of a page that users see: what it may load and where it may lead.

Both follow from the project, so django-csp's decorators, whose policies are set when a view is made, do not serve here.
"""

from __future__ import annotations

from urllib.parse import urlsplit

from django.conf import settings
from django.http import HttpResponse

from verification.models import ChallengeProvider

# Each vendor's page on content security policies names these.
VENDORS: dict[str, dict[str, str]] = {
    ChallengeProvider.TURNSTILE.value: {
        "script-src": "https://challenges.cloudflare.com",
        "frame-src": "https://challenges.cloudflare.com",
    },
    ChallengeProvider.HCAPTCHA.value: dict.fromkeys(
        ("script-src", "frame-src", "style-src", "connect-src"), "https://hcaptcha.com https://*.hcaptcha.com"
    ),
    ChallengeProvider.RECAPTCHA.value: {
        "script-src": "https://www.google.com/recaptcha/ https://www.gstatic.com/recaptcha/",
        "frame-src": "https://www.google.com/recaptcha/ https://recaptcha.google.com/recaptcha/",
        "connect-src": "https://www.google.com/recaptcha/",
    },
}


def guard(response: HttpResponse, *, nonce: str, leads_to: str = "'none'", vendor: str = "") -> HttpResponse:
    """Set the headers. ``leads_to`` is where its form may be sent, ``vendor`` the maker of its challenges."""
    own = {
        "default-src": "'none'",
        "script-src": f"'nonce-{nonce}'",
        "style-src": f"'nonce-{nonce}'",
        "connect-src": f"'self' {settings.BASE_URL}",
        "img-src": f"'self' data: https: {settings.BASE_URL}",  # icons of channels stand where owners put them
        "form-action": leads_to,
        "frame-ancestors": "'none'",
        "base-uri": "'none'",
    }
    for name, sources in VENDORS.get(vendor, {}).items():
        own[name] = f"{own.get(name, '')} {sources}".strip()
    response["Content-Security-Policy"] = "; ".join(f"{name} {sources}" for name, sources in own.items())
    response["Cache-Control"] = "no-store"
    response["Referrer-Policy"] = "no-referrer"
    response["X-Robots-Tag"] = "noindex"
    return response


def source_of(address: str) -> str:
    """Return an address as a policy names it: without its query."""
    parts = urlsplit(address)
    return f"{parts.scheme}://{parts.netloc}{parts.path}"
