"""The way to a page, at its top: the menu's own words, and rows by their names letter by letter."""

from __future__ import annotations

from typing import Any

from django import template
from django.db.models import Model
from django.utils.text import capfirst

from verification.models import Decision
from verification.panel.frame.navigation import menu_title
from verification.panel.pages.decisions import title_of_rule

register = template.Library()


@register.filter
def breadcrumb(part: dict[str, Any]) -> str:
    """The text of one of unfold's crumbs: a ``title`` that is a row or a table's name, and mostly a ``link``."""
    title = part["title"]
    if isinstance(title, Decision):
        return f"{title_of_rule(title.rule)}: {title.subject}"  # the row itself knows its rule by its code alone
    return (
        str(title) if isinstance(title, Model) else menu_title(str(part.get("link", "")), default=capfirst(str(title)))
    )
