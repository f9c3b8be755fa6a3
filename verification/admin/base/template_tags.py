"""The panel's template tags and filters: breadcrumbs, the choice of the language, links that add."""

from __future__ import annotations

from typing import Any

from django import template
from django.conf import settings
from django.db.models import Model
from django.utils.text import capfirst

from verification.admin.base.navigation import menu_title
from verification.admin.traffic.decisions import title_of_rule
from verification.core.addresses import mask
from verification.models import Decision, Recipient, Suppression

register = template.Library()


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

    Its ``title`` is a row or a table's name; most have a ``link``.
    """
    title = part["title"]
    if isinstance(title, Decision):
        return f"{title_of_rule(title.rule)}: {title.subject}"  # the row's own name has the rule's code, not its title
    if isinstance(title, Recipient | Suppression):
        recipient = title if isinstance(title, Recipient) else title.recipient
        return mask(recipient.address)  # "Recipient 24083" would tell nobody who it is
    return (
        str(title) if isinstance(title, Model) else menu_title(str(part.get("link", "")), default=capfirst(str(title)))
    )
