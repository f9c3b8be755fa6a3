"""The template tag for the panel's languages, each by its own name."""

from __future__ import annotations

from django import template
from django.conf import settings

register = template.Library()


@register.simple_tag
def own_names() -> list[tuple[str, str]]:
    return list(settings.LANGUAGES)
