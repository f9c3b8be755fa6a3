"""Each setting of a project in words: for the help of commands, and for the page of settings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.contrib.postgres.fields import ArrayField
from django.db import models

from verification.models.project_settings import SECRETS, SETTABLE_GROUPS
from verification.models.projects import Project


@dataclass(frozen=True, slots=True)
class Described:
    """One setting. ``default`` is empty where there is none."""

    name: str
    kind: str
    default: str
    about: str
    is_secret: bool


def described() -> dict[str, list[Described]]:
    """Return all settings by the titles of their groups."""
    return {title: [describe(name) for name in names] for title, names in SETTABLE_GROUPS.items()}


def describe(name: str, model: type[models.Model] = Project) -> Described:
    field = model._meta.get_field(name)
    assert isinstance(field, models.Field)
    return Described(name, _kind(field), _default(field), str(field.help_text), name in SECRETS)


def _kind(field: models.Field[Any, Any]) -> str:
    if field.choices:
        return " | ".join(str(value) for value, _ in field.flatchoices)
    if isinstance(field, models.BooleanField):
        return "true | false"
    if isinstance(field, ArrayField):
        return "list"
    return "number" if isinstance(field, models.IntegerField | models.FloatField) else "text"


def _default(field: models.Field[Any, Any]) -> str:
    if not field.has_default() or field.default is list:
        return ""
    return str(field.default).lower() if isinstance(field.default, bool) else str(field.default)
