"""The tabs of a long form: fieldsets of the class ``tab``, several of which may share one."""

from __future__ import annotations

from dataclasses import dataclass, field

from django import template
from django.contrib.admin.helpers import AdminForm, Fieldset
from django.utils.text import slugify
from unfold.templatetags.unfold import tabs, tabs_errors_count

HEADING = " / "  # in a fieldset's name, between the tab that it shares and its heading there

register = template.Library()


@dataclass(frozen=True, slots=True)
class Tab:
    """``slug`` is the tab's name in the page's address; ``parts`` are headings, some empty, with their fieldsets."""

    title: str
    parts: list[tuple[str, Fieldset]] = field(default_factory=list)

    @property
    def slug(self) -> str:
        return slugify(self.title)

    @property
    def errors(self) -> int:
        return sum(tabs_errors_count(fieldset) for _, fieldset in self.parts)


@register.filter
def in_tabs(form: AdminForm) -> list[Tab]:
    found: dict[str, Tab] = {}
    for fieldset in tabs(form):
        title, _, heading = str(fieldset.name).partition(HEADING)
        found.setdefault(title, Tab(title)).parts.append((heading, fieldset))
    return list(found.values())


@register.filter
def with_errors(tabs: list[Tab]) -> Tab | None:
    """The first to look at after a form was refused."""
    return next((tab for tab in tabs if tab.errors), None)
