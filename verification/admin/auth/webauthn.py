"""Security keys in the browser: the challenge of a session, which is good once, and the forms that carry the answer."""

from __future__ import annotations

import base64
import hashlib
import ipaddress
import secrets
import time
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

from django import forms
from django.conf import settings
from django.contrib.auth.models import User
from django.http import HttpRequest
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from unfold.widgets import UnfoldAdminTextInputWidget

from verification.core.errors import UserError
from verification.models import SpentForm
from verification.services.users import security_keys
from verification.services.users.security_keys import Ceremony

CHALLENGE = "key_challenge"  # in the session: the challenge of the page that was shown last, and since when
CHALLENGE_BYTES = 32  # 256 random bits; WebAuthn asks for 16 bytes at least
CHALLENGE_SECONDS = 600  # how long a page may be open before its key is touched; as long as the password waits


class KeyForm(forms.Form):
    name = forms.CharField(
        label=gettext_lazy("Key name"),
        max_length=60,
        widget=UnfoldAdminTextInputWidget(
            attrs={"autocomplete": "off", "placeholder": gettext_lazy("Blue key on my key ring")}
        ),
    )
    answer = forms.CharField(
        max_length=security_keys.MAX_ANSWER_CHARACTERS,
        widget=forms.HiddenInput,
        error_messages={
            "required": gettext_lazy("The browser sent no response from a key. Reload the page and try again.")
        },
    )


def host_of(request: HttpRequest) -> str:
    """Return the host that keys are bound to, or nothing for an IP address, for which browsers know no keys."""
    host = (urlsplit(f"//{request.get_host()}").hostname or "").rstrip(".")
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return host
    return ""


def options(request: HttpRequest, user: User, make: Callable[..., str]) -> str:
    """Return the options that ``make`` writes for this host, under a new challenge that this session keeps."""
    host = host_of(request)
    if not host:
        return ""
    challenge = secrets.token_bytes(CHALLENGE_BYTES)
    text = make(user, host=host, challenge=challenge)
    if text:
        request.session[CHALLENGE] = {"text": base64.b64encode(challenge).decode(), "at": time.time()}
    return text


def spend(request: HttpRequest) -> Ceremony:
    """Use the session's challenge up, and return what the answer must fit. Raises :class:`UserError` if there is none.

    Of two answers to one challenge that are sent at once, one is looked at.
    """
    stored: dict[str, Any] = request.session.pop(CHALLENGE, {})
    host = host_of(request)
    if not (host and stored) or time.time() - stored["at"] > CHALLENGE_SECONDS:
        raise UserError(_("The page was open too long. Try again."))
    challenge = base64.b64decode(stored["text"])
    _unused, is_new = SpentForm.objects.get_or_create(digest=hashlib.sha256(challenge).digest())
    if not is_new:
        raise UserError(_("This was already submitted. Try again."))
    return Ceremony(host=host, origins=_origins(request), challenge=challenge)


def _origins(request: HttpRequest) -> tuple[str, ...]:
    """Return the addresses as which a browser may know this page: as it came in, and as the settings say.

    They differ behind a proxy whose word on https is not taken.
    """
    asked, ours = f"{request.scheme}://{request.get_host()}", settings.BASE_URL
    return (asked, ours) if urlsplit(ours).hostname == host_of(request) else (asked,)
