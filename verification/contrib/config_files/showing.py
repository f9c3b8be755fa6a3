"""A plan in words, for people."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django.utils.translation import gettext as _

from verification.contrib.config_files.plan import Change, Plan

LONGEST = 200  # characters of a value that are shown; an owner's text may be longer than a screen is wide


def lines_of(plan: Plan) -> list[str]:
    """Write a plan: a heading for each project that differs, and a line for each value."""
    lines = []
    for project in plan.projects:
        if project.is_new or project.changes:
            lines.append(f"{project.project}{' (new)' if project.is_new else ''}")
            lines += [f"  {line}" for change in project.changes for line in lines_of_change(change)]
    kept = sum(len(project.kept_secrets) for project in plan.projects)
    if kept:
        lines.append(_("Secrets not provided, whose stored values are kept: {kept}").format(kept=kept))
    return lines


def lines_of_change(change: Change) -> Iterator[str]:
    """Write one change. A row that comes is told with its values, one that goes by its name."""
    if change.sign == "~":
        yield f"~ {change.path}: {words(change.before)} → {words(change.after)}"
    elif change.sign == "-" or not isinstance(change.after, dict):
        yield f"{change.sign} {change.path}" + (f": {words(change.after)}" if change.sign == "+" else "")
    else:
        yield f"+ {change.path}"
        yield from (f"    {name}: {words(value)}" for name, value in leaves(change.after) if is_told(value))


def leaves(values: dict[str, Any], before: str = "") -> Iterator[tuple[str, Any]]:
    """List the values of a row, those within values by their path."""
    for name, value in values.items():
        if isinstance(value, dict) and value:
            yield from leaves(value, f"{before}{name}.")
        else:
            yield f"{before}{name}", value


def is_told(value: Any) -> bool:
    """Return whether a value of a new row is worth a line: what is empty goes without saying."""
    return value not in ("", None, [], {})


def words(value: Any) -> str:
    """Write one value in one line."""
    if isinstance(value, bool):
        return str(value).lower()
    if value is None:
        return "none"
    if isinstance(value, list):
        text = ", ".join(map(words, value)) or "none"
    elif isinstance(value, dict):
        text = ", ".join(f"{name} {words(item)}" for name, item in value.items()) or "none"
    else:
        text = str(value).replace("\n", "⏎") or "empty"
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}…"
