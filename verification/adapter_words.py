"""Why an adapter refuses a setting, in the reader's language. Adapters are plain English, which this translates."""

from __future__ import annotations

from django.utils.text import capfirst
from django.utils.translation import gettext as _

from providers.errors import Reason


def translated(reason: str) -> str:
    """Return a reason that ``verification/locale/update`` has listed; another one as it is."""
    if isinstance(reason, Reason):
        return _(reason.words).format(**reason.values)
    return _(reason) if reason else ""


def sentence(reason: str) -> str:
    return f"{capfirst(translated(reason)).rstrip('.')}."
