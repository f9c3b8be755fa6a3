"""The hosted page: a project's users verify here and go back to the owner's site with a verify token."""

from __future__ import annotations

import hashlib
import re
import tomllib
from functools import lru_cache
from pathlib import Path
from typing import Any
from uuid import UUID

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from verification.contrib.hosted import colours, hosted_pages
from verification.contrib.hosted.policy import guard, source_of
from verification.models import ChallengeMode, ChannelType, HandOver, HostedPage
from verification.services.texts.rendering import RIGHT_TO_LEFT, best_language

MAX_STATE = 512  # Characters: room for any random text, and not for a document.
_CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f]")  # a form would change some of them on the way


@require_safe
def show(request: HttpRequest, public_id: UUID) -> HttpResponse:
    page = hosted_pages.find(public_id)
    if page is None:
        return _end(request, "closed", 404)
    return_to, state = request.GET.get("return_to"), request.GET.get("state", "")
    if return_to is None:
        return _end(request, "no_return", 400, page)
    if return_to not in page.return_addresses:
        return _end(request, "unlisted", 400, page)
    if len(state) > MAX_STATE or _CONTROLS.search(state):
        return _end(request, "damaged", 400, page)
    is_form = page.hand_over == HandOver.FORM
    spoken = spoken_of(request)
    context = {
        **spoken,
        **_looks(page),
        "page": page,
        "scripts": words_of(spoken["language"])["scripts"],
        "form_version": settings.FORM_VERSION,
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
def unknown(request: HttpRequest, rest: str = "") -> HttpResponse:
    """Answer any other address below ``/verify/``, as a damaged link has it: to people, who read no JSON."""
    return _end(request, "closed", 404)


@require_safe
def logo(request: HttpRequest, public_id: UUID) -> HttpResponse:
    page = hosted_pages.find(public_id)
    if page is None or page.logo is None:
        raise Http404
    response = HttpResponse(bytes(page.logo), content_type="image/png")
    response["Cache-Control"] = "public, max-age=86400"  # another logo has another address
    response["Content-Security-Policy"] = "default-src 'none'"
    return response


def _looks(page: HostedPage) -> dict[str, Any]:
    return {
        "name": page.name,
        "monogram": page.name[:1].upper(),
        "logo": f"/verify/{page.project.public_id}/logo.png?{_mark(page.logo)}" if page.logo else "",
        "light": colours.on_light(page.accent),
        "filled": colours.filled(page.accent),
        "on_filled": colours.on_filled(page.accent),
        "dark": colours.on_dark(page.accent),
    }


def _mark(logo: Any) -> str:
    return hashlib.sha256(bytes(logo)).hexdigest()[:12]


def spoken_of(request: HttpRequest) -> dict[str, str]:
    """Return the page's language, which is that of the link, else of the browser, else English; and its direction."""
    wanted = (request.GET.get("lang", ""), request.headers.get("Accept-Language", ""))
    language = next((found for each in wanted if each and (found := best_language(each, ()))), "en")
    return {"language": language, "direction": "rtl" if language in RIGHT_TO_LEFT else "ltr"}


def _channel(request: HttpRequest) -> str:
    channel = request.GET.get("channel", "")
    return channel if channel in ChannelType.values else ""


def _end(request: HttpRequest, refusal: str, status: int, page: HostedPage | None = None) -> HttpResponse:
    """Answer with a page of plain words that leads nowhere. ``refusal`` is the name of its words."""
    spoken = spoken_of(request)
    words = words_of(spoken["language"])
    context = {
        **spoken,
        **(_looks(page) if page else {}),
        "heading": words[refusal],
        "text": words[f"{refusal}_why"].replace("{most}", str(MAX_STATE)),
        "back": words["back"] if page else "",
    }
    response = render(request, "hosted/end.html", context, status=status)
    return guard(response, nonce=str(request.csp_nonce))  # type: ignore[attr-defined]


def words_of(language: str) -> dict[str, str]:
    """Return the words by name."""
    return _words()[language]


@lru_cache(maxsize=1)
def _words() -> dict[str, dict[str, str]]:
    return tomllib.loads(Path(__file__).with_name("words.toml").read_text(encoding="utf-8"))
