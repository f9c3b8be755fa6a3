"""What tables and columns are called where their models do not say: by the names in the code, in the reader's language.

``NAMES`` is written by verification/locale/update, from which the catalogues take them; a test compares it with the
models.
"""

from __future__ import annotations

from typing import Any

from django.apps import apps
from django.contrib import admin
from django.db.models import Field, Model
from django.utils.functional import Promise

from verification.lazy_words import gettext_lazy
from verification.models.audit import WATCHED
from verification.panel.frame.written_names import NAMES

IS = "is_"  # begins the column of a switch; its label leaves that out


def label_of(column: str) -> str:
    """Return the words of a column's name: "is_enabled" is "enabled", "project_id" is "project"."""
    return column.removeprefix(IS).removesuffix("_id").replace("_", " ")


def translate() -> None:
    """Let the names be translated wherever Django shows them. Migrations keep the names that the models spell out.

    It comes before the pages are loaded: a form takes the names of its fields when its class is made.
    """
    known = set(NAMES)
    for model in apps.get_app_config("verification").get_models():
        options: Any = model._meta
        for field in _columns(model):
            if (name := _name(field)) in known:
                field.verbose_name = gettext_lazy(name)
        for attribute in ("verbose_name", "verbose_name_plural"):
            if (words := str(getattr(options, attribute))) in known:
                setattr(options, attribute, gettext_lazy(words))


def derived() -> list[str]:
    """Return the names that no model marks for translation, of all tables that a page or the audit log shows."""
    found: set[str] = set()
    for model in _shown():
        found.update(filter(None, map(_name, _columns(model))))
        given = model._meta.original_attrs
        for attribute in ("verbose_name", "verbose_name_plural"):
            if not isinstance(given.get(attribute), Promise):
                found.add(str(getattr(model._meta, attribute)))
    return sorted(found)


def _shown() -> set[type[Model]]:
    pages = admin.site._registry
    inlines = {inline.model for page in pages.values() for inline in page.inlines}
    watched = {apps.get_model(name) for name in WATCHED}
    return {model for model in {*pages, *inlines, *watched} if model._meta.app_label == "verification"}


def _columns(model: type[Model]) -> list[Field[Any, Any]]:
    return [field for field in model._meta.get_fields() if isinstance(field, Field)]


def _name(field: Field[Any, Any]) -> str:
    """Return the field's name in words; empty where the model marks one for translation."""
    given = field._verbose_name  # type: ignore[attr-defined]  # what the model says, before Django derives one
    if isinstance(given, Promise):
        return ""
    return str(given) if given else label_of(field.name)
