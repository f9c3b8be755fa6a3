"""``setproject PROJECT name=value …``"""

from __future__ import annotations

from typing import Any

from django.contrib.postgres.fields import ArrayField
from django.core.management.base import CommandParser
from django.db import models

from verification.errors import Misuse
from verification.management.base import WatchwordCommand, aligned
from verification.models import Project
from verification.services.projects import ONLY_OFF, SETTABLE, find_project, set_project


class Command(WatchwordCommand):
    help = "Set a project's defaults and limits. Every process goes by them within a second."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("project", metavar="PROJECT", help="The project's id or name.")
        parser.add_argument("values", metavar="NAME=VALUE", nargs="+", help="One or more of the names below.")
        parser.epilog = (
            f"names, with the kind of value and its default:\n{aligned(describe(name) for name in SETTABLE)}\n"
            f"{aligned((name, 'off, the only value there is so far.') for name in ONLY_OFF)}\n\n"
            "Lists are written with commas; an empty value empties them.\n\n"
            "example:\n"
            "  manage.py setproject Shop code_length=4 origins=https://shop.example,https://m.shop.example"
        )

    def handle(self, *, project: str, values: list[str], json: bool, **_: Any) -> None:
        found = find_project(project)
        given = dict(split(text) for text in values)
        set_project(project=found, values=given)
        data = {"project": found.pk, **{name: getattr(found, name, given[name]) for name in given}}
        self.show(data, f"Project {found.pk} ({found.name}) is set: {', '.join(values)}", as_json=json)


def split(text: str) -> tuple[str, str]:
    name, sign, value = text.partition("=")
    if not sign or not name:
        raise Misuse(f"Write NAME=VALUE instead of {text!r}.")
    return name, value


def describe(name: str) -> tuple[str, str]:
    """How one name stands in the help: kind, default, and what it does."""
    field = Project._meta.get_field(name)
    assert isinstance(field, models.Field)
    return name, " ".join(filter(None, [f"{_kind(field)}{_default(field)}.", str(field.help_text)]))


def _kind(field: models.Field[Any, Any]) -> str:
    if field.choices:
        return " | ".join(str(value) for value, _ in field.flatchoices)
    if isinstance(field, models.BooleanField):
        return "true | false"
    if isinstance(field, ArrayField):
        return "list"
    return "number" if isinstance(field, models.IntegerField) else "text"


def _default(field: models.Field[Any, Any]) -> str:
    if not field.has_default() or field.default is list:
        return ""
    return f", {str(field.default).lower() if isinstance(field.default, bool) else field.default}"
