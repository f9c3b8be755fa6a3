"""Judge a migration: the code of the previous release goes on running on the schema that it leaves."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from django.contrib.postgres.operations import AddIndexConcurrently, RemoveIndexConcurrently
from django.db import migrations
from django.db.migrations.state import ProjectState
from django.db.models import NOT_PROVIDED, Field, ManyToManyField

ADDING = (
    migrations.CreateModel,
    migrations.AlterModelOptions,
    migrations.AlterModelManagers,
    migrations.RemoveIndex,
    migrations.RemoveConstraint,
    migrations.AlterConstraint,  # of its error's words alone: Django takes no other change for it
    migrations.RunPython,
    AddIndexConcurrently,
    RemoveIndexConcurrently,
)
NARROWING = (
    migrations.DeleteModel,
    migrations.RemoveField,
    migrations.RenameField,
    migrations.RenameModel,
    migrations.AlterModelTable,
    migrations.AlterUniqueTogether,
    migrations.AddConstraint,
)
NARROWING_SQL = re.compile(
    r"\b(DROP\s+(?!NOT\s+NULL|INDEX)|RENAME|SET\s+NOT\s+NULL|TYPE|ADD\s+CONSTRAINT)\b", re.IGNORECASE
)

NEEDS_DEFAULT = "needs null=True or a db_default: processes of the previous release insert rows without it"
NEEDS_CONCURRENT = "locks the table while the index is built: use AddIndexConcurrently with atomic = False"
TAKES = "takes something that the previous release may use; say `safe_since` once a release does without it"


@dataclass
class Judge:
    """``state`` is the state before the next operation; tables made since the release may change freely."""

    app: str
    state: ProjectState
    new_models: set[str] = field(default_factory=set)

    def faults(self, operations: list[Any]) -> list[str]:
        """Apply the operations to the state, and return a sentence for each that does more than add."""
        found = []
        for operation in operations:
            fault = self._fault(operation)
            if fault:
                found.append(f"{operation.describe()}: {fault}")
            operation.state_forwards(self.app, self.state)
            if isinstance(operation, migrations.CreateModel):
                self.new_models.add(operation.name_lower)
        return found

    def _fault(self, operation: Any) -> str:
        if isinstance(operation, migrations.SeparateDatabaseAndState):
            return "; ".join(filter(None, map(self._fault, operation.database_operations)))
        if isinstance(operation, migrations.RunSQL):
            return TAKES if NARROWING_SQL.search(str(operation.sql)) else ""
        if isinstance(operation, ADDING) or self._table_of(operation) in self.new_models:
            return ""
        if isinstance(operation, NARROWING):
            return TAKES
        if isinstance(operation, migrations.AddField):
            return _fault_of_new(operation.field)
        if isinstance(operation, migrations.AlterField):
            before = self.state.models[self.app, operation.model_name_lower].fields[operation.name]
            return _fault_of_change(before, operation.field)
        if isinstance(operation, migrations.AddIndex):
            return NEEDS_CONCURRENT
        return "is an operation that nobody has judged yet: add it to tests/upgrade/additions.py"

    @staticmethod
    def _table_of(operation: Any) -> str:
        return str(getattr(operation, "model_name_lower", getattr(operation, "name_lower", "")))


def _fault_of_new(new: Field[Any, Any]) -> str:
    if isinstance(new, ManyToManyField):
        return ""
    if not new.null and new.db_default is NOT_PROVIDED:
        return NEEDS_DEFAULT
    if new.db_index or new.unique:
        return NEEDS_CONCURRENT
    return ""


def _fault_of_change(before: Field[Any, Any], after: Field[Any, Any]) -> str:
    is_narrower = (
        type(after) is not type(before)
        or _length(after) < _length(before)
        or (before.null and not after.null)
        or (after.unique and not before.unique)
        or before.db_column != after.db_column
        or (before.db_default is not NOT_PROVIDED and after.db_default is NOT_PROVIDED and not after.null)
        or _target(before) != _target(after)
    )
    if is_narrower:
        return TAKES
    return NEEDS_CONCURRENT if after.db_index and not before.db_index else ""


def _length(of: Field[Any, Any]) -> float:
    return float("inf") if of.max_length is None else of.max_length


def _target(of: Field[Any, Any]) -> str:
    """Return the table that a foreign key leads to."""
    return str(of.remote_field.model).lower() if of.remote_field else ""
