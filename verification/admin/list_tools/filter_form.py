"""The filters of a list as one form: a field for each, whatever class the filter is of."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs

from django.contrib.admin import SimpleListFilter
from django.contrib.admin.views.main import PAGE_VAR
from django.utils.text import capfirst

COUNTRY, RANGE, SELECT = "country", "range", "select"  # the kinds of fields


@dataclass(frozen=True, slots=True)
class FilterField:
    """A field. ``options`` are values with their names, without the one for all; ``shown`` is the chosen one's name."""

    kind: str
    name: str
    title: str
    value: str
    shown: str
    without: str  # the list's query without this filter
    options: list[tuple[str, str]] = field(default_factory=list)
    range: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class FilterForm:
    fields: list[FilterField]
    hidden: list[tuple[str, str]]

    @property
    def used(self) -> list[FilterField]:
        return [each for each in self.fields if each.value]

    @property
    def is_wrong(self) -> bool:
        return any(each.range.get("wrong") for each in self.fields)


def filter_form(changelist: Any) -> FilterForm:
    fields = [_field(changelist, spec) for spec in changelist.filter_specs]
    names = {each.name for each in fields} | {PAGE_VAR}
    return FilterForm(fields, [(name, value) for name, value in changelist.params.items() if name not in names])


def _field(changelist: Any, spec: Any) -> FilterField:
    name = spec.expected_parameters()[0]
    value = str(changelist.params.get(name, ""))
    kind = getattr(spec, "kind", SELECT)
    choices = [] if kind != RANGE and isinstance(spec, SimpleListFilter) else list(spec.choices(changelist))
    if kind == RANGE:
        options = []
    elif isinstance(spec, SimpleListFilter):
        options = [(str(each), str(title)) for each, title in spec.lookup_choices]
    else:
        options = list(_options(name, choices))
    shown = choices[0]["shown"] if kind == RANGE else dict(options).get(value, value[:20])
    if value and kind != RANGE and value not in dict(options):
        options.append((value, shown))  # an address may ask for what is not offered
    return FilterField(
        kind=kind,
        name=name,
        title=capfirst(str(spec.title)),
        value=value,
        shown=shown,
        without=changelist.get_query_string(remove=[name]),
        options=options,
        range=choices[0] if kind == RANGE else {},
    )


def _options(name: str, choices: list[dict[str, Any]]) -> Iterator[tuple[str, str]]:
    """Yield the values that the filter's links lead to. The link to all rows has none."""
    for choice in choices:
        value = parse_qs(str(choice["query_string"]).lstrip("?"), keep_blank_values=True).get(name, [""])[0]
        if value:
            yield value, str(choice["display"])
