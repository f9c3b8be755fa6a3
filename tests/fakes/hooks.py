"""Calls of vendors to our hooks."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from providers.base import HookRequest
from tests.fakes.messages import HOOK_URL

FORM, JSON = "application/x-www-form-urlencoded", "application/json"


def call(
    body: bytes | dict[str, Any], *, kind: str = JSON, url: str = HOOK_URL, query: str = "", **headers: str
) -> Any:
    """A POST. Fields become a form; an underscore in a header's name stands for a hyphen."""
    if isinstance(body, dict):
        body, kind = urlencode(body).encode(), FORM
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return HookRequest("POST", url, query, {"content-type": kind, **named}, body)


def receipts_of(adapter: Any, request: HookRequest) -> tuple[Any, ...]:
    """Read a call as the service does: verified first."""
    adapter.verify_hook(request)
    return adapter.parse_hook(request).events
