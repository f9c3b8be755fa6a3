"""A list as a CSV file: the rows that its filters and search let through, in the columns that it shows.

So the file holds nothing that the list does not: addresses stay masked, and no secret is a column. A time is whole
where the list says how long ago it was.

The file is in English whatever the reader's language: programs read it by its headings and words, and must not break
because a colleague downloaded it.
"""

from __future__ import annotations

import contextlib
import csv
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from html import unescape
from itertools import chain
from typing import Any

from django.contrib.admin.utils import display_for_field, display_for_value, label_for_field, lookup_field
from django.contrib.admin.views.main import PAGE_VAR, SEARCH_VAR
from django.core.exceptions import ObjectDoesNotExist
from django.db.models import Model
from django.http import HttpRequest, StreamingHttpResponse
from django.utils import timezone, translation
from django.utils.html import strip_tags
from django.utils.safestring import SafeString
from django.utils.text import capfirst
from django.utils.timezone import now

from verification.admin.base.pagination import CappedChangeList
from verification.models import Message
from verification.services.records import audit

PARAMETER = "csv"  # asks for the file, beside the list's filters in its address
CHECKBOX = "action_checkbox"  # the column by which Django's lists select rows for their actions
MAX_ROWS = 20_000  # rows of one file: some seconds of a thread's work. Narrower filters give the others.
BATCH = 500  # rows read and written at once, so that no file is ever held as rows in full
# A spreadsheet runs a cell that begins with one of these. Tabs and line breaks may stand before the sign.
SIGNS = ("=", "+", "-", "@", "＝", "＋", "－", "＠")  # Japanese spreadsheets read the wide ones, too
FORMULA_SIGNS = (*SIGNS, "\t", "\r", "\n")
_PARTED = re.compile(r"((?:;|(?<=[^\t\r\n])[\t\r\n])[;\t\r\n]*)")  # where cells may begin within one
_NUMBER = re.compile(r"\+\d+(\*+\d*)?")  # as addresses.mask writes it
_TIME = "%d %b %Y, %H:%M:%S UTC", "%d %b %Y, %H:%M UTC"  # as the lists write it; the file has it in ISO 8601
_TITLED = re.compile(r'\A<span\b[^>]*\btitle="([^"]*)"')  # shortened texts and times tell the whole in their title


LANGUAGE = "en"


@translation.override(LANGUAGE)
def list_file(model_admin: Any, request: HttpRequest) -> StreamingHttpResponse:
    """Return the file of a list, and record in the audit log who took it."""
    parameters = request.GET.copy()
    for name in (PARAMETER, PAGE_VAR):
        parameters.pop(name, None)
    request.GET = parameters  # type: ignore[assignment]  # the list refuses parameters that are no filters
    request.is_for_file = True  # type: ignore[attr-defined]  # what its address says no more
    changelist = model_admin.get_changelist_instance(request)
    pks = list(changelist.queryset.values_list("pk", flat=True)[: MAX_ROWS + 1])
    columns = [name for name in changelist.list_display if name != CHECKBOX]
    name = model_admin.opts.verbose_name_plural
    _record(model_admin, parameters, min(len(pks), MAX_ROWS), name)
    lines = chain(
        [[capfirst(str(label_for_field(column, model_admin.model, model_admin))) for column in columns]],
        _lines(model_admin, changelist, pks[:MAX_ROWS], columns),
        [[f"Only the first {MAX_ROWS:,} are here. Narrow the filters to get the others."]][: len(pks) > MAX_ROWS],
    )
    rows = csv.writer(_Echo())
    file_name = f"{str(name).replace(' ', '-')}-{now():%Y-%m-%d-%H%M}.csv"
    return StreamingHttpResponse(
        (rows.writerow([harmless(cell) for cell in line]) for line in lines),
        content_type="text/csv; charset=utf-8",
        headers={"Content-Disposition": f'attachment; filename="{file_name}"', "Cache-Control": "no-store"},
    )


def is_asked_for(request: HttpRequest) -> bool:
    return getattr(request, "is_for_file", False)


def harmless(text: str) -> str:
    """Return a cell that no spreadsheet takes for a formula: an apostrophe stands before its sign.

    The same holds for each part of the cell that a spreadsheet may take for a cell: many part at semicolons or tabs. A
    number with its country's sign, whole or masked, is no formula. It stays as it is: programs read it.
    """
    first, *others = _PARTED.split(text)
    is_formula = first.startswith(FORMULA_SIGNS) and not _NUMBER.fullmatch(first)
    return "".join([f"'{first}" if is_formula else first, *map(_harmless_part, others)])


def _harmless_part(text: str) -> str:
    return f"'{text}" if text.lstrip().startswith(SIGNS) and not _NUMBER.fullmatch(text.strip()) else text


class _Echo:
    """A file that gives back what is written to it, so that each line can be sent at once."""

    def write(self, line: str) -> str:
        return line


def _lines(model_admin: Any, changelist: CappedChangeList, pks: list[Any], columns: list[str]) -> Iterator[list[str]]:
    """Yield the cells of the rows with these keys, in the order of the keys."""
    for start in range(0, len(pks), BATCH):
        keys = pks[start : start + BATCH]
        by_key = {row.pk: row for row in changelist.queryset.filter(pk__in=keys)}
        changelist.prefetch(list(by_key.values()))
        # Lines are read after the page's function has returned. Programs read them, so they are the same for everybody.
        with translation.override(LANGUAGE), timezone.override(UTC):
            lines = [[_cell(model_admin, by_key[key], column) for column in columns] for key in keys if key in by_key]
        yield from lines  # without the rows that went meanwhile


def _cell(model_admin: Any, row: Model, column: str) -> str:
    try:
        field, _unused, value = lookup_field(column, row, model_admin)
    except ObjectDoesNotExist:
        return ""
    if field is not None:
        value = getattr(row, field.name) if field.is_relation else display_for_field(value, field, "")
    elif not isinstance(value, str):
        value = display_for_value(value, "")
    text = "" if value is None else str(value)
    if isinstance(value, SafeString):
        title = _TITLED.match(text)
        text = unescape(title[1] if title else strip_tags(text))
    text = " ".join(text.split()) if isinstance(value, SafeString) else text
    return "" if text == "–" else _for_programs(row, text)


def _for_programs(row: Model, text: str) -> str:
    """Return a time in ISO 8601, and a message's id as events write it.

    It has 16 digits, of which spreadsheets keep 15 where it looks like a number. Find takes it so, too.
    """
    message = row.pk if isinstance(row, Message) else getattr(row, "message_id", None)
    if message is not None and text == str(message):
        return f"msg_{text}"
    for form in _TIME if text.endswith(" UTC") else ():
        with contextlib.suppress(ValueError):
            return f"{datetime.strptime(text, form):%Y-%m-%dT%H:%M:%SZ}"
    return text


def _record(model_admin: Any, parameters: Any, number: int, name: str) -> None:
    """Write a line into the audit log. It names the filters, and not what was searched for, which may be a person."""
    filters = sorted(each for each in parameters if each != SEARCH_VAR)
    by = f" by {', '.join(filters)}" if filters else ""
    searched = ", searched" if parameters.get(SEARCH_VAR) else ""
    audit.record(f"Downloaded {number} {name} as CSV{by}{searched}", label=str(name))
