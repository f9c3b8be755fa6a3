"""The columns of a list by choice: those of its address, or else those that the user chose last, or else all usual."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.contrib.admin.utils import label_for_field
from django.http import HttpRequest
from django.utils.text import capfirst

from verification.models import ColumnChoice

PARAMETER = "columns"  # in the address of a list
SEPARATOR = ","


def chosen_columns(model_admin: Any, request: HttpRequest) -> tuple[str, ...]:
    """Return the columns that a list shows of those that it has, in its own order."""
    usual, offered = tuple(model_admin.list_display), offered_columns(model_admin)
    named = request.GET.get(PARAMETER, "")
    wanted = named.split(SEPARATOR) if named else remembered(model_admin, request)
    kept = [each for each in offered if each in wanted or each in fixed_columns(model_admin)]
    return tuple(kept) if set(kept) - set(fixed_columns(model_admin)) else usual


def offered_columns(model_admin: Any) -> tuple[str, ...]:
    """Return all columns of a list. Those beyond the usual ones stand before its last, which is a time in most."""
    usual: Sequence[str] = model_admin.list_display
    more: Sequence[str] = model_admin.more_columns
    return (*usual[:-1], *more, *usual[-1:])


def fixed_columns(model_admin: Any) -> tuple[str, ...]:
    """Return the columns that lead to a row's page: without them a list leads nowhere."""
    return tuple(model_admin.list_display_links or model_admin.list_display[:1])


def remembered(model_admin: Any, request: HttpRequest) -> list[str]:
    choice = _choices(model_admin, request).first()
    return list(choice.columns) if choice else []


def remember(model_admin: Any, request: HttpRequest, columns: Sequence[str]) -> None:
    """Store the user's choice; delete it where they chose the usual columns, or none."""
    wanted = [each for each in offered_columns(model_admin) if each in columns or each in fixed_columns(model_admin)]
    mine = _choices(model_admin, request)
    if set(wanted) == set(model_admin.list_display) or not set(wanted) - set(fixed_columns(model_admin)):
        mine.delete()
    else:
        user: Any = request.user
        mine.update_or_create(user=user, page=model_admin.opts.label_lower, defaults={"columns": wanted})


def column_choices(model_admin: Any, shown: Sequence[str]) -> list[tuple[str, str, bool]]:
    """Return the name, the heading and whether it is shown, of each column that may be hidden."""
    return [
        (name, capfirst(str(label_for_field(name, model_admin.model, model_admin))), name in shown)
        for name in offered_columns(model_admin)
        if name not in fixed_columns(model_admin)
    ]


def _choices(model_admin: Any, request: HttpRequest) -> Any:
    """The user's choice for this list: one row, or none."""
    return ColumnChoice.objects.filter(user=request.user.pk, page=model_admin.opts.label_lower)
