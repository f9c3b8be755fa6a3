"""The tabs of a long form. Each is a fieldset of the class ``tab``, or several that share one."""

from __future__ import annotations

from dataclasses import dataclass, field

from django import template
from django.contrib.admin.helpers import AdminForm, Fieldset
from django.utils.text import slugify
from django.utils.translation import gettext as _
from unfold.templatetags.unfold import tabs, tabs_errors_count

HEADING = " / "  # separates, in a fieldset's name, the shared tab from the heading there

register = template.Library()


@dataclass(frozen=True, slots=True)
class Tab:
    """``name`` is the English title; ``parts`` are headings, some empty, with their fieldsets."""

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


@register.filter
def in_tabs(form: AdminForm) -> list[Tab]:
    found: dict[str, Tab] = {}
    for fieldset in tabs(form):
        title, _sign, heading = str(fieldset.name).partition(HEADING)
        found.setdefault(title, Tab(title)).parts.append((_(heading) if heading else "", fieldset))
    return list(found.values())


@register.filter
def with_errors(tabs: list[Tab]) -> Tab | None:
    """Return the first tab with an error, which opens after a form was refused."""
    return next((tab for tab in tabs if tab.errors), None)
