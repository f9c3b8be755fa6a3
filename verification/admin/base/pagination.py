"""Bounds on what a list reads of its table: how many rows it counts, and how many its filters look through."""

from __future__ import annotations

from typing import Any

from django.core.paginator import Paginator
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.functional import cached_property
from django.utils.translation import gettext as _
from unfold.views import ChangeList

from verification.admin.base import database_router
from verification.admin.base.current_project import PARAMETER
from verification.admin.base.display import format_exact_time
from verification.admin.base.nouns import counted, none_of
from verification.admin.list_tools import columns
from verification.admin.list_tools.filter_form import FilterForm, filter_form
from verification.admin.list_tools.saved_views import ListTools, tools_of

# Rows that a list counts at most, 40 pages: beyond, the exact number helps nobody. A filter that works by ids looks up
# as many rows by id, for the count and again for the page: about 30 us of PostgreSQL's time each.
MAX_COUNT = 2_000
# Newest rows that a filter without an index looks through at most: a tenth of a second's work on two cores.
LOOKED_THROUGH = 50_000


class CappedPaginator(Paginator):  # type: ignore[type-arg]  # not generic at run time
    """A paginator that stops counting at :data:`MAX_COUNT`: a list of millions opens as fast as a short one."""

    template_name = "admin/verification/pages.html"

    @cached_property
    def count(self) -> int:
        counted: int = self._counted
        return min(counted, MAX_COUNT)

    @property
    def is_cut(self) -> bool:
        """Say whether there are more rows than were counted."""
        return self._counted > MAX_COUNT

    @cached_property
    def _counted(self) -> int:
        rows = self.object_list
        if not isinstance(rows, QuerySet):
            return len(rows)
        order = rows.query.order_by[:1]  # what the index holds: with nothing else asked for, it is all that is read
        column = [name.removeprefix("-") for name in order if isinstance(name, str) and "__" not in name]
        return rows.order_by(*order).values(*(column or ["pk"]))[: MAX_COUNT + 1].count()


class CappedChangeList(ChangeList):
    """A list that counts its rows once: without a filter, the rows found are all there are.

    With a filter the number of all rows is not asked for, as no page shows it.
    """

    result_list: Any

    def __init__(self, request: HttpRequest, *arguments: Any, **options: Any) -> None:
        self.request = request
        super().__init__(request, *arguments, **options)

    @cached_property
    def tools(self) -> ListTools:
        return tools_of(self, self.request)

    @cached_property
    def filter_form(self) -> FilterForm:
        return filter_form(self)

    @property
    def in_words(self) -> str:
        """Return how many rows are found, with their name."""
        if self.paginator.is_cut:
            return _("more than {counted}").format(counted=counted(self.opts, MAX_COUNT))
        return counted(self.opts, self.result_count)

    @property
    def none_in_words(self) -> str:
        return none_of(self.opts)

    def prefetch(self, rows: list[Any]) -> None:
        """Read what the columns of a page or a part of the file need from other tables, in a statement for each table.

        Read row by row it would be a statement for each row.
        """

    def get_queryset(self, request: HttpRequest, exclude_parameters: Any = None) -> QuerySet[Any]:
        shown = self.model_admin.of_chosen_project(self.model_admin.get_queryset(request), request)
        self.root_queryset = shown.using(database_router.database_for(request))
        rows: QuerySet[Any] = super().get_queryset(request, exclude_parameters)
        return rows

    def get_filters_params(self, params: Any = None) -> dict[str, Any]:
        """Leave out the project, which the switcher in the menu shows, and the columns: they are no filters."""
        named: dict[str, Any] = super().get_filters_params(params)
        return {name: value for name, value in named.items() if name not in (PARAMETER, columns.PARAMETER)}

    def get_results(self, request: HttpRequest) -> None:
        """Read one page of rows, with a limit in the statement also where all rows fit on the page."""
        super().get_results(request)
        rows: QuerySet[Any] = self.result_list if self.multi_page else self.queryset[: self.list_per_page]
        self.result_list = list(rows)
        self.prefetch(self.result_list)
        if not (self.query or self.has_active_filters):
            self.full_result_count = self.result_count


class NewestList(CappedChangeList):
    """A list of a table that grows with the traffic, in the one order that an index holds: the newest first.

    A filter without an index would read the whole table where few rows match. So it looks through the newest rows
    alone, and the page says how far back that is.
    """

    looks_back = ""  # how far back the filters have looked; empty where they saw the whole table

    def get_ordering(self, request: HttpRequest, queryset: QuerySet[Any]) -> list[str]:
        """Return the page's own order, whatever the address asks for."""
        return list(self._get_deterministic_ordering(self.model_admin.get_ordering(request)))

    def get_queryset(self, request: HttpRequest, exclude_parameters: Any = None) -> QuerySet[Any]:
        rows: QuerySet[Any] = super().get_queryset(request, exclude_parameters)
        used = [spec for spec in self.filter_specs if spec.used_parameters]
        scopes = [spec for spec in used if getattr(spec, "is_scope", False)]
        others = [spec.used_parameters for spec in used if spec not in scopes]
        if self.query or not others:
            return rows
        is_range = any(getattr(spec, "is_range", False) for spec in scopes)
        if not is_range and any(self.model_admin.has_index_for(each) for each in others):
            rest = [spec for spec in used if not any(getattr(spec, name, False) for name in ("is_scope", "is_newest"))]
            if len(rest) > 1 and any(getattr(spec, "is_cut", False) for spec in rest):
                self.looks_back = _("Filters search only the newest {counted}.").format(
                    counted=counted(self.opts, MAX_COUNT)
                )
            return rows
        newest = self.model_admin.get_ordering(request)[0]
        name = newest.removeprefix("-")
        scope = self.root_queryset
        for spec in scopes:
            scope = spec.queryset(request, scope)
        edge = scope.order_by(newest).values_list(name, "created_at")[LOOKED_THROUGH - 1 : LOOKED_THROUGH]
        for value, moment in edge:
            self.looks_back = _(
                "Filters search only the newest {counted}, back to {time}. Use search to find older ones."
            ).format(counted=counted(self.opts, LOOKED_THROUGH), time=format_exact_time(moment))
            rows = rows.filter(**{f"{name}__gte": value})
        return rows
