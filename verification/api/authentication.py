"""The ``x-api-key`` header: it names the caller, and must be of the kind that the endpoint takes."""

from __future__ import annotations

from django.http import HttpRequest

from verification.client_address import client_address
from verification.errors import Refusal
from verification.models import KeyKind
from verification.services.projects import keys
from verification.services.projects.callers import Caller
from verification.services.protection import leaked_keys, limits

HEADER = "HTTP_X_API_KEY"


def identify(request: HttpRequest, kind: KeyKind) -> Caller:
    """Return the caller behind the key. The project's id and origins are left on the request.

    Raises ``missing_api_key``, ``invalid_api_key``, ``rate_limited`` (unknown keys) and ``wrong_key_kind``.
    """
    text = request.META.get(HEADER, "")
    if not text:
        raise Refusal("missing_api_key")
    address = client_address(request)
    try:
        is_held_off = limits.has_sent_unknown_keys(address)
        caller = keys.authenticate(text, client_address=address, is_held_off=is_held_off)
    except Refusal:
        limits.count_unknown_key(address)
        raise
    if caller.kind == KeyKind.SECRET and "HTTP_ORIGIN" in request.META:
        leaked_keys.note_browser(caller, request.META["HTTP_ORIGIN"])
    request.project_id = caller.project.id  # type: ignore[attr-defined]
    request.origins = caller.project.origins  # type: ignore[attr-defined]
    if caller.kind != kind:
        raise Refusal("wrong_key_kind", WRONG_KIND[kind])
    return caller


WRONG_KIND = {
    KeyKind.API: "This is a secret key; the endpoint takes an API key (ww_api_...).",
    KeyKind.SECRET: "This is an API key; the endpoint takes a secret key (ww_secret_...), and only from your server.",
}
