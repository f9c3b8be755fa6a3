"""The panel's template tags and filters: breadcrumbs, the choice of the language, links that add."""

from __future__ import annotations

from html import unescape
from typing import Any

from django import template
from django.conf import settings
from django.db.models import Model
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.text import capfirst

from verification.admin.base.display import format_country, keep_units
from verification.admin.base.navigation import menu_title
from verification.admin.traffic.decisions import title_of_decision
from verification.core.addresses import mask
from verification.models import Decision, GuardBlock, Recipient, Suppression
from verification.models.guard import ABOUT_COUNTRIES

register = template.Library()
register.filter("keep_units", keep_units, is_safe=True)


@register.simple_tag
def languages() -> list[tuple[str, str]]:
    """Return the code of each of the panel's languages, and its own name for itself."""
    return list(settings.LANGUAGES)


@register.simple_tag
def time_zone_cookie() -> str:
    return str(settings.TIME_ZONE_COOKIE_NAME)


@register.filter
def breadcrumb(part: dict[str, Any]) -> str:
    """Return the text of one of unfold's breadcrumbs.

    Its ``title`` is a row or a table's name, or a page's title, which unfold has escaped; most have a ``link``.
    """
    title = part["title"]
    if isinstance(title, SafeString):
        title = unescape(title)
    if isinstance(title, GuardBlock) and title.rule in ABOUT_COUNTRIES and title.subject:
        return format_html("{}: {}", title.get_rule_display(), format_country(title.subject))
    if isinstance(title, Decision):
        return title_of_decision(title)  # the row's own name has neither the rule nor the country in words
    if isinstance(title, Recipient | Suppression):
        recipient = title if isinstance(title, Recipient) else title.recipient
        return mask(recipient.address)  # "Recipient 24083" would tell nobody who it is
    return (
        str(title) if isinstance(title, Model) else menu_title(str(part.get("link", "")), default=capfirst(str(title)))
    )
