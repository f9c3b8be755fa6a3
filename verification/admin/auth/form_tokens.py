"""Forms that act once. A page that is loaded again sends its form again, and two clicks send it twice."""

from __future__ import annotations

import hashlib
import secrets
from typing import TYPE_CHECKING

from django.core import signing
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from verification.admin.auth.session import MAX_SECONDS
from verification.models import SpentForm

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise

FIELD = "_once"
SALT = "verification.admin.auth.form_tokens"
RANDOM_BYTES = 12  # 96 bits: no two forms of a user have the same text
USED = _("This form was already submitted, so nothing was done.")
STALE = _("This form was open too long. Please submit it again.")


def issue(request: HttpRequest) -> str:
    """Return a new text for the hidden field of this user's form on this page."""
    return signing.dumps([request.user.pk, request.path, secrets.token_urlsafe(RANDOM_BYTES)], salt=SALT)


def spend(request: HttpRequest) -> StrOrPromise:
    """Mark the form as used. Return why it must not act, or nothing. Of two sent at once, one acts."""
    text = request.POST.get(FIELD, "")
    try:
        user, page, _unused = signing.loads(text, salt=SALT, max_age=MAX_SECONDS)
    except (signing.BadSignature, ValueError):
        return STALE
    if (user, page) != (request.user.pk, request.path):
        return STALE
    _unused, is_new = SpentForm.objects.get_or_create(digest=hashlib.sha256(text.encode()).digest())
    return "" if is_new else USED
