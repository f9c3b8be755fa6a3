"""Changing rows that people set up: the fields that are theirs, and setting values in the writing of the fields."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

from django.core.exceptions import ValidationError
from django.db import models

Field: TypeAlias = "models.Field[Any, Any]"  # Django's class takes no type arguments at run time


def fields_of(model: type[models.Model], *others: str) -> dict[str, Field]:
    """Return the fields of a row that people set, without ``others``."""
    fields = (field for field in model._meta.concrete_fields if field.editable and not field.primary_key)
    return {field.name: field for field in fields if field.name not in others}


def change_row(row: models.Model, fields: Mapping[str, Field], values: Mapping[str, Any]) -> list[str]:
    """Set values by the names of their fields, and judge them. Return the names of those that differed.

    The row is not saved. Raises ``ValidationError`` by field.
    """
    changed, refused = [], {}
    for name, value in values.items():
        try:
            if set_value(row, fields[name], value):
                changed.append(name)
        except ValidationError as error:
            refused[name] = error
    if refused:
        raise ValidationError(refused)
    return changed


def set_value(row: models.Model, field: Field, value: Any) -> bool:
    """Set one value in the writing that its field gives it. Return whether it differs from the present one."""
    cleaned = field.clean(value, row)
    is_changed: bool = cleaned != getattr(row, field.name)
    setattr(row, field.name, cleaned)
    return is_changed


def save_changes(row: models.Model, changed: list[str]) -> None:
    """Save a new row, or what has changed of an old one."""
    if row.pk is None:
        row.save()
    elif changed:
        row.save(update_fields=changed)
