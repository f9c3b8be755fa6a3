"""``/llms.txt`` and ``/llms-full.txt``: the guides for programs that read them, as https://llmstxt.org describes."""

from __future__ import annotations

from functools import lru_cache

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from verification.api.reference import guides

PLAIN = "text/plain; charset=utf-8"
ABOUT = """# Watchword

> Verification codes over Telegram, WhatsApp, SMS, voice calls and e-mail, as a service that you host. An app creates a
> session for a phone number or an e-mail address and checks what the user typed; a server exchanges the verify token
> for the address.

The API is described at {base}/docs/openapi.json, its errors at {base}/docs/errors/. All guides in one text:
{base}/llms-full.txt
"""


@require_safe
def index(request: HttpRequest) -> HttpResponse:
    return HttpResponse(_index(), content_type=PLAIN)


@require_safe
def full(request: HttpRequest) -> HttpResponse:
    return HttpResponse(_full(), content_type=PLAIN)


@lru_cache(maxsize=1)
def _index() -> str:
    parts = [ABOUT.format(base=settings.BASE_URL)]
    for group, entries in guides.index().items():
        lines = [f"- [{each.title}]({settings.BASE_URL}{each.address}): {each.about}".rstrip(": ") for each in entries]
        parts.append("\n".join([f"## {group}", "", *lines, ""]))
    return "\n".join(parts)


@lru_cache(maxsize=1)
def _full() -> str:
    """Return every guide as it is written, each under its address. Pages of single providers are guides, too."""
    pages = [path for path in guides.guides().values() if path.endswith(".md")]
    texts = [f"<!-- {settings.BASE_URL}{guides.address_of(path)} -->\n\n{_text(path)}" for path in pages]
    return "\n\n".join([ABOUT.format(base=settings.BASE_URL), *texts])


def _text(path: str) -> str:
    return (settings.BASE_DIR / path).read_text().strip()
