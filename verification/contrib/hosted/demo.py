"""The demo of an embedded start: the form, the inbox and the customer's server, side by side.

It shows codes to whoever sees it. So it is served in embedded mode alone, and only to the machine that it runs on,
unless an app shows everybody other messages.
"""

from __future__ import annotations

import ipaddress
import json
import re
import textwrap
from collections.abc import Callable
from functools import lru_cache, wraps
from typing import Any

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.templatetags.static import static
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_POST, require_safe
from django_redis.exceptions import ConnectionInterrupted
from redis.exceptions import RedisError

from verification.contrib.hosted.page import spoken_of
from verification.contrib.hosted.policy import guard
from verification.core import request_ids
from verification.core.client_address import client_address
from verification.core.errors import ApiError
from verification.core.request_bodies import announced_length
from verification.models import ChannelType
from verification.services.maintenance.demo import Demo, read_demo, read_inbox, to_everybody
from verification.services.maintenance.demo import path as demo_path
from verification.services.projects.keys import authenticate
from verification.services.sessions.check import redeem_verify_token

MAX_SHOWN = 20  # messages; somebody who tries things sends a few
MAX_BODY = 1_000  # bytes: a token with its quotes has 60
GUIDE = "component.md"  # whose server does for the form what this page does for it
_SERVER = re.compile(r"^ *```python\n(.*?)^ *```$", re.DOTALL | re.MULTILINE)

View = Callable[[HttpRequest, Demo], HttpResponse]


def for_this_machine(view: View) -> Callable[[HttpRequest], HttpResponse]:
    """Hand the view the demo. There is none outside embedded mode, for other machines, and once its keys are gone."""

    @wraps(view)
    def wrapped(request: HttpRequest) -> HttpResponse:
        is_shown = settings.IS_EMBEDDED and settings.SHOW_CODES_TO_OPERATORS and _is_local(request)
        if not (is_shown or to_everybody):
            raise Http404
        demo = read_demo(demo_path())
        if demo is None or not (demo.api_key and demo.secret_key):
            raise Http404
        return view(request, demo)

    return wrapped


def _is_local(request: HttpRequest) -> bool:
    """Return whether the caller is on this machine. What a proxy sends on comes from elsewhere."""
    address = client_address(request)
    is_forwarded = any(name in request.META for name in ("HTTP_X_FORWARDED_FOR", "HTTP_FORWARDED", "HTTP_VIA"))
    return bool(address) and not is_forwarded and ipaddress.ip_address(address.partition("%")[0]).is_loopback


@require_safe
@for_this_machine
def show(request: HttpRequest, demo: Demo) -> HttpResponse:
    context = {
        "api_key": demo.api_key,
        "form_version": settings.FORM_VERSION,
        "server": _server(),
        "base": settings.BASE_URL,
        "showing": to_everybody[0] if to_everybody else None,
        "language": spoken_of(request)["language"],
    }
    return guard(render(request, "hosted/demo.html", context), nonce=str(request.csp_nonce))  # type: ignore[attr-defined]


@require_safe
@for_this_machine
def inbox(request: HttpRequest, demo: Demo) -> HttpResponse:
    """Answer with the newest messages, as JSON."""
    try:
        kept = to_everybody[0].messages(demo, MAX_SHOWN) if to_everybody else read_inbox(demo)[:MAX_SHOWN]
    except (RedisError, ConnectionInterrupted, OSError):
        return _json({"detail": "The inbox is not available: Valkey or Redis does not answer."}, 503)
    return _json({"messages": [_message(each) for each in kept]})


@csrf_exempt  # it does nothing without a verify token, which no other site has
@require_POST
@for_this_machine
def redeem(request: HttpRequest, demo: Demo) -> HttpResponse:
    """Do what a customer's server does with a verify token, and answer what it was answered."""
    try:
        token = json.loads(request.body)["verify_token"] if announced_length(request) <= MAX_BODY else None
    except (ValueError, TypeError, KeyError):
        token = None
    if not isinstance(token, str) or not token.isascii() or "\0" in token:
        return _json({"detail": "Send a verify_token as JSON."}, 400)
    try:
        server = authenticate(demo.secret_key, client_address=client_address(request))
        verified = redeem_verify_token(
            project=server.project, token=token, request_id=request_ids.request_id_of(request)
        )
    except ApiError as error:
        return _json({"code": error.problem_code, "detail": error.detail}, error.status)
    return _json({verified.kind.value: verified.text})


def _json(answer: dict[str, Any], status: int = 200) -> HttpResponse:
    return JsonResponse(answer, status=status, headers={"Cache-Control": "no-store"})


def _message(kept: Any) -> dict[str, str]:
    return {
        "to": kept.to,
        "channel": str(ChannelType(kept.channel).label),
        "icon": static(f"verification/channels/{kept.channel}.svg"),
        "subject": kept.subject,
        "text": kept.text,
        "code": kept.code,
        "at": kept.at,
    }


@lru_cache(maxsize=1)
def _server() -> str:
    """Return the server of the guide on the form, word for word."""
    found = _SERVER.search((settings.BASE_DIR / "docs" / GUIDE).read_text())
    assert found
    return textwrap.dedent(found[1]).strip()
