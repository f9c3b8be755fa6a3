"""The guide beside a provider's form: what to do at the vendor, what to enter, and our webhook address.

It is the type's page of docs/providers, so that one text serves both. It is in English, as the guides are.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from django.conf import settings
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext as _
from markdown import Markdown

from providers import registry
from providers.base import Adapter
from verification.core.crypto import DecryptionFailed
from verification.models import Provider
from verification.services.delivery.polling import BOT_TYPE
from verification.services.providers.accounts import hook_url, reports_back

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise

_LINE = re.compile(r"^\| `(?P<name>\w+)` \| (?P<text>.+) \|$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class VendorGuide:
    """``steps`` are what to do at the vendor, empty where there is nothing; ``entries`` what to enter, by label."""

    steps: SafeString
    entries: list[tuple[StrOrPromise, SafeString]]
    link: str


@dataclass(frozen=True, slots=True)
class Hook:
    """Our webhook address, empty before the provider is saved, and what to do with it."""

    address: str
    text: str


def guide_of(adapter: type[Adapter]) -> VendorGuide | None:
    """Return the guide of a type; None for one of the operator's own, which has no page."""
    page = _read(adapter.type)
    if page is None:
        return None
    told = {line["name"]: line["text"] for line in _LINE.finditer(page.get("In the panel", ""))}
    entries = [
        (each.label, _html(told[each.name], is_inline=True))
        for each in adapter.declared
        if each.name in told and not _says_nothing(told[each.name], str(each.label))
    ]
    steps = page.get("At the vendor", "").strip()
    return VendorGuide(_html("" if steps == "Nothing." else steps), entries, f"/docs/guides/providers/{adapter.type}/")


def hook_of(provider: Provider | None, provider_type: str) -> Hook | None:
    """Return what the page tells of our webhook address; None where the vendor reports nothing back."""
    if not reports_back(registry.adapter_class(provider_type)):
        return None
    if provider is None:
        return Hook("", _("Shown here after you save the provider."))
    try:
        address = hook_url(provider)
    except DecryptionFailed:
        text = _(
            "It cannot be read with the current encryption keys. Saving creates a new one; enter it at the vendor."
        )
        return Hook("", text)
    told = (
        _("“Connect the bot” registers it with Telegram.")
        if provider.type == BOT_TYPE
        else _("Enter it at the vendor to get delivery reports.")
    )
    warning = _("Treat it as a secret.")
    return Hook(address, f"{told} {warning}")


@cache
def _read(provider_type: str) -> dict[str, str] | None:
    """Return the sections of a type's page by their headings."""
    path = settings.BASE_DIR / "docs/providers" / f"{provider_type}.md"
    if not path.is_file():
        return None
    parts = re.split(r"^## (.+)$", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def _says_nothing(text: str, label: str) -> bool:
    """Return whether a text repeats the label, as "the server" does."""
    return text.lower().removeprefix("the ") == label.lower() or text == "leave as it is"


def _html(text: str, *, is_inline: bool = False) -> SafeString:
    html = Markdown(extensions=["sane_lists"], output_format="html").convert(text)
    if is_inline:
        html = html.removeprefix("<p>").removesuffix("</p>")
    return mark_safe(html)  # noqa: S308  # the pages are the project's own; nothing of them comes from a caller
