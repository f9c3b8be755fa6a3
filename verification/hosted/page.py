"""The hosted page: a project's users verify here and go back to the owner's site with a verify token."""

from __future__ import annotations

import hashlib
import re
from typing import Any
from uuid import UUID

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from verification.hosted import colours
from verification.hosted.policy import guard, source_of
from verification.models import ChallengeMode, ChannelType, HandOver, HostedPage
from verification.services.projects import hosted_pages
from verification.services.texts.rendering import best_language

MAX_STATE = 512  # Characters: room for any random text, and not for a document.
RIGHT_TO_LEFT = ("ar", "fa")
_CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f]")  # a form would change some of them on the way

CLOSED = "There is no such page", "The link may be old, or the page may have been switched off."
NO_RETURN = (
    "This link does not say where to go next",
    "It needs return_to, the address that the page leads back to. Please go back to where you came from.",
)
UNLISTED = (
    "This link leads somewhere else",
    "It would send you on to an address that the owner of this page has not listed, so it ends here. Nothing was sent"
    " there. Please go back to where you came from.",
)
LONG_STATE = (
    "This link is damaged",
    f"Its state must be at most {MAX_STATE} characters, without line breaks. Please go back to where you came from.",
)


@require_safe
def show(request: HttpRequest, public_id: UUID) -> HttpResponse:
    page = hosted_pages.find(public_id)
    if page is None:
        return _end(request, CLOSED, 404)
    return_to, state = request.GET.get("return_to"), request.GET.get("state", "")
    if return_to is None:
        return _end(request, NO_RETURN, 400, page)
    if return_to not in page.return_addresses:
        return _end(request, UNLISTED, 400, page)
    if len(state) > MAX_STATE or _CONTROLS.search(state):
        return _end(request, LONG_STATE, 400, page)
    is_form = page.hand_over == HandOver.FORM
    context = {
        **_looks(request, page),
        "page": page,
        "version": settings.VERSION,
        "channel": _channel(request),
        "return_to": return_to,
        "state": state,
        "by": page.hand_over,
    }
    response = render(request, "hosted/page.html", context)
    return guard(
        response,
        nonce=str(request.csp_nonce),  # type: ignore[attr-defined]
        leads_to=source_of(return_to) if is_form else "'none'",
        vendor=page.project.challenge_provider if page.project.challenge_mode != ChallengeMode.OFF else "",
    )


@require_safe
def logo(request: HttpRequest, public_id: UUID) -> HttpResponse:
    page = hosted_pages.find(public_id)
    if page is None or page.logo is None:
        raise Http404
    response = HttpResponse(bytes(page.logo), content_type="image/png")
    response["Cache-Control"] = "public, max-age=86400"  # another logo has another address
    response["Content-Security-Policy"] = "default-src 'none'"
    return response


def _looks(request: HttpRequest, page: HostedPage) -> dict[str, Any]:
    language = _language(request)
    return {
        "language": language,
        "direction": "rtl" if language in RIGHT_TO_LEFT else "ltr",
        "name": page.name,
        "monogram": page.name[:1].upper(),
        "logo": f"/verify/{page.project.public_id}/logo.png?{_mark(page.logo)}" if page.logo else "",
        "light": colours.on_light(page.accent),
        "dark": colours.on_dark(page.accent),
    }


def _mark(logo: Any) -> str:
    return hashlib.sha256(bytes(logo)).hexdigest()[:12]


def _language(request: HttpRequest) -> str:
    """Return the form's language: that of the link, else of the browser, else English."""
    wanted = (request.GET.get("lang", ""), request.headers.get("Accept-Language", ""))
    return next((found for each in wanted if each and (found := best_language(each, ()))), "en")


def _channel(request: HttpRequest) -> str:
    channel = request.GET.get("channel", "")
    return channel if channel in ChannelType.values else ""


def _end(request: HttpRequest, words: tuple[str, str], status: int, page: HostedPage | None = None) -> HttpResponse:
    """Answer with a page of plain words that leads nowhere."""
    heading, text = words
    context = {"heading": heading, "text": text, **(_looks(request, page) if page else {})}
    response = render(request, "hosted/end.html", {**context, "language": "en", "direction": "ltr"}, status=status)
    return guard(response, nonce=str(request.csp_nonce))  # type: ignore[attr-defined]
