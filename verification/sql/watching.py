"""The triggers that write the audit log, made from the list of what is watched."""

from __future__ import annotations

from typing import Any

from django.apps import apps
from django.db import connection
from django.db.models import BinaryField, ForeignKey, Model

ALWAYS_QUIET = ("id", "created_at")


def triggers(watched: dict[str, Any]) -> str:
    """The statements that make them anew."""
    return "\n".join(_trigger(apps.get_model(name), watch) for name, watch in watched.items())


def _trigger(model: type[Model], watch: Any) -> str:
    columns = {str(field.column): field for field in model._meta.concrete_fields}
    quiet = set(columns) - set(watch.only) if watch.only else {*ALWAYS_QUIET, *watch.quiet}
    secret = {*watch.secret, *(name for name, field in columns.items() if isinstance(field, BinaryField))}
    noted = ", ".join(_name(name) for name in columns if name not in quiet)
    arguments = (
        model._meta.label_lower,
        _path(model, watch.label),
        _path(model, watch.project),
        f"{{{','.join(sorted(secret))}}}",
        f"{{{','.join(sorted(quiet))}}}",
    )
    quoted = ", ".join(f"'{text}'" for text in arguments)
    return (
        f"CREATE OR REPLACE TRIGGER audit_change AFTER {'' if watch.only else 'INSERT OR DELETE OR '}UPDATE OF {noted}"
        f" ON {_name(model._meta.db_table)} FOR EACH ROW EXECUTE FUNCTION audit_change({quoted});"
    )


def _path(model: type[Model], lookup: str) -> str:
    """A lookup as ``audit_look`` reads it."""
    if not lookup:
        return ""
    first, _, rest = lookup.partition("__")
    field: Any = model._meta.get_field(first)
    if not rest:
        return str(field.column)
    assert isinstance(field, ForeignKey)
    there: Any = field.related_model._meta
    return f"{field.column}>{there.db_table}.{there.get_field(rest).column}"


def _name(text: str) -> str:
    return connection.ops.quote_name(text)
