"""Basic authentication by a secret key: its username is the project's Account SID or the key's own SID."""

from __future__ import annotations

import base64
import hmac

from django.http import HttpRequest

from verification.core import sids
from verification.core.client_address import client_address
from verification.core.errors import ApiError
from verification.models import KeyKind
from verification.services.projects import keys
from verification.services.projects.keys import Caller
from verification.services.projects.snapshot import ProjectConfig
from verification.services.protection import leaked_keys, limits


def identify(request: HttpRequest) -> Caller:
    """Return the caller behind the key. Unknown keys are counted by client address, as those of the other endpoints.

    Credentials that cannot be read are an unknown key.

    Raises ``missing_api_key``, ``invalid_api_key``, ``wrong_key_kind`` and ``rate_limited``.
    """
    credentials = _credentials(request.META.get("HTTP_AUTHORIZATION", ""))
    address = client_address(request)
    try:
        if credentials is None:
            raise ApiError("invalid_api_key")
        name, key = credentials
        is_held_off = limits.has_sent_unknown_keys(address)
        caller = keys.authenticate(key, client_address=address, is_held_off=is_held_off)
        if not _is_of(caller, key, name):
            raise ApiError("invalid_api_key")
    except ApiError:
        limits.count_unknown_key(address)
        raise
    if caller.kind != KeyKind.SECRET:
        raise ApiError("wrong_key_kind")
    if "HTTP_ORIGIN" in request.META:
        leaked_keys.alert_on_browser(caller, request.META["HTTP_ORIGIN"])
    return caller


def require_service(project: ProjectConfig, service_sid: str) -> None:
    """Raise ``not_found`` unless the SID is the project's own and its owner has switched these endpoints on."""
    if not project.has_twilio_endpoints or service_sid != sids.of_project(sids.SERVICE, project.public_id):
        raise ApiError("not_found")


def _credentials(header: str) -> tuple[str, str] | None:
    """Return the name and the key, or None for what cannot be read. Raises ``missing_api_key``."""
    scheme, _, encoded = header.partition(" ")
    if scheme.lower() != "basic":
        raise ApiError("missing_api_key")
    try:
        name, _, key = base64.b64decode(encoded.strip(), validate=True).decode().partition(":")
    except ValueError:  # no base64, no UTF-8, or characters outside ASCII
        return None
    if not (name and key):
        raise ApiError("missing_api_key")
    return name, key


def _is_of(caller: Caller, key: str, name: str) -> bool:
    own = (sids.of_project(sids.ACCOUNT, caller.project.public_id), sids.of_key(keys.digest_of(key)))
    return any(hmac.compare_digest(name.encode(), sid.encode()) for sid in own)
