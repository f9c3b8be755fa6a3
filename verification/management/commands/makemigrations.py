"""``makemigrations``: Django's, without what the database does not know: texts, choices and validators."""

from __future__ import annotations

from typing import Any

from django.core.management.commands import makemigrations
from django.db.migrations.autodetector import MigrationAutodetector
from django.db.migrations.state import ModelState, ProjectState
from django.db.models import BaseConstraint, Field

OF_FORMS = ("verbose_name", "help_text", "choices", "validators", "error_messages")
OF_MODELS = ("verbose_name", "verbose_name_plural")


class SchemaAutodetector(MigrationAutodetector):
    """Finds changes of the tables alone: a reworded help text or one more choice is no migration."""

    def __init__(self, from_state: ProjectState, to_state: ProjectState, questioner: Any = None) -> None:
        super().__init__(_schema_of(from_state), _schema_of(to_state), questioner)


class Command(makemigrations.Command):
    autodetector = SchemaAutodetector


def _schema_of(state: ProjectState) -> ProjectState:
    """Return a copy of the state in which our models have no texts."""
    copy = state.clone()
    for model in copy.models.values():
        if model.app_label.startswith("verification"):
            _strip(model)
    return copy


def _strip(model: ModelState) -> None:
    model.fields = {name: _without_texts(field) for name, field in model.fields.items()}
    for name in OF_MODELS:
        model.options.pop(name, None)
    if constraints := model.options.get("constraints"):
        model.options["constraints"] = [_without_message(each) for each in constraints]


def _without_texts(field: Field[Any, Any]) -> Field[Any, Any]:
    _, _, arguments, options = field.deconstruct()
    if "base_field" in options:
        options["base_field"] = _without_texts(options["base_field"])
    kept = {name: value for name, value in options.items() if name not in OF_FORMS}
    return type(field)(*arguments, **kept)


def _without_message(constraint: BaseConstraint) -> BaseConstraint:
    _, arguments, options = constraint.deconstruct()
    options.pop("violation_error_message", None)
    return type(constraint)(*arguments, **options)
