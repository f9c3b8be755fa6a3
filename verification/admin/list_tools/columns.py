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


def chosen_columns(page: Any, request: HttpRequest) -> tuple[str, ...]:
    """Return the columns that a list shows of those that it has, in its own order."""
    usual, offered = tuple(page.list_display), offered_columns(page)
    named = request.GET.get(PARAMETER, "")
    wanted = named.split(SEPARATOR) if named else remembered(page, request)
    kept = [each for each in offered if each in wanted or each in fixed_columns(page)]
    return tuple(kept) if set(kept) - set(fixed_columns(page)) else usual


def offered_columns(page: Any) -> tuple[str, ...]:
    """Return all columns of a list. Those beyond the usual ones stand before its last, which is a time in most."""
    usual: Sequence[str] = page.list_display
    more: Sequence[str] = page.more_columns
    return (*usual[:-1], *more, *usual[-1:])


def fixed_columns(page: Any) -> tuple[str, ...]:
    """Return the columns that lead to a row's page: without them a list leads nowhere."""
    return tuple(page.list_display_links or page.list_display[:1])


def remembered(page: Any, request: HttpRequest) -> list[str]:
    choice = ColumnChoice.objects.filter(user=request.user.pk, page=page.opts.label_lower).first()
    return list(choice.columns) if choice else []


def remember(page: Any, request: HttpRequest, columns: Sequence[str]) -> None:
    """Keep the choice. The usual columns are none to keep, nor is an empty one."""
    wanted = [each for each in offered_columns(page) if each in columns or each in fixed_columns(page)]
    mine = ColumnChoice.objects.filter(user=request.user.pk, page=page.opts.label_lower)
    if set(wanted) == set(page.list_display) or not set(wanted) - set(fixed_columns(page)):
        mine.delete()
    else:
        user: Any = request.user
        mine.update_or_create(user=user, page=page.opts.label_lower, defaults={"columns": wanted})


def column_choices(page: Any, shown: Sequence[str]) -> list[tuple[str, str, bool]]:
    """Return the name, the heading and whether it is shown, of each column that may be hidden."""
    return [
        (name, capfirst(str(label_for_field(name, page.model, page))), name in shown)
        for name in offered_columns(page)
        if name not in fixed_columns(page)
    ]
