"""The panel's template tags and filters: breadcrumbs, the tabs of a long form, and the choice of the language."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from django import template
from django.conf import settings
from django.contrib.admin.helpers import AdminForm, Fieldset
from django.db.models import Model
from django.utils.text import capfirst, slugify
from django.utils.translation import gettext as _
from unfold.templatetags.unfold import tabs, tabs_errors_count

from verification.admin.base.navigation import menu_title
from verification.admin.traffic.decisions import title_of_rule
from verification.core.addresses import mask
from verification.models import Decision, Recipient, Suppression

HEADING = " / "  # separates, in a fieldset's name, the shared tab from the heading there

register = template.Library()


@dataclass(frozen=True, slots=True)
class Tab:
    """A fieldset of the class ``tab``, or several that share one.

    ``name`` is the English title; ``parts`` are headings, some empty, with their fieldsets.
    """

    name: str
    parts: list[tuple[str, Fieldset]] = field(default_factory=list)

    @property
    def title(self) -> str:
        return _(self.name)

    @property
    def slug(self) -> str:
        """Return the tab's name in the page's address, which is the same in every language."""
        return slugify(self.name)

    @property
    def errors(self) -> int:
        return sum(tabs_errors_count(fieldset) for _heading, fieldset in self.parts)


@register.simple_tag
def languages() -> list[tuple[str, str]]:
    """Return the code of each of the panel's languages, and its own name for itself."""
    return list(settings.LANGUAGES)


@register.simple_tag
def time_zone_cookie() -> str:
    return str(settings.TIME_ZONE_COOKIE_NAME)


@register.filter
def in_tabs(form: AdminForm) -> list[Tab]:
    """Return the tabs of a form, in the order of its fieldsets."""
    grouped: dict[str, Tab] = {}
    for fieldset in tabs(form):
        title, _sign, heading = str(fieldset.name).partition(HEADING)
        grouped.setdefault(title, Tab(title)).parts.append((_(heading) if heading else "", fieldset))
    return list(grouped.values())


@register.filter
def with_errors(tabs: list[Tab]) -> Tab | None:
    """Return the first tab with an error, which opens after a form was refused."""
    return next((tab for tab in tabs if tab.errors), None)


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
