"""The base of the pages on past traffic: filters and search. These pages are read; nothing there can be changed.

Addresses are masked, and no code, digest or ciphertext is a column.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from verification.admin.base import display
from verification.admin.base.columns import LanguageColumn
from verification.admin.base.lookups import TooManyLookUps, count_look_up
from verification.admin.base.model_admin import ScopedAdmin
from verification.admin.base.pagination import NewestList
from verification.admin.base.permissions import own_project_ids
from verification.admin.base.statistics_filters import typed_range
from verification.core.addresses import AddressInvalid, mask, parse_test_address
from verification.models import Recipient, Right

SPANS = {"hour": timedelta(hours=1), "day": timedelta(days=1), "week": timedelta(days=7), "month": timedelta(days=30)}


class CreatedFilter(admin.SimpleListFilter):
    title = gettext_lazy("time")
    parameter_name = "since"
    is_newest = True  # it lets through the newest rows, so it loses none of the newest that another filter found

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [
            ("hour", _("Last hour")),
            ("day", _("Last 24 hours")),
            ("week", _("Last 7 days")),
            ("month", _("Last 30 days")),
        ]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        span = SPANS.get(self.value() or "")
        return queryset.filter(created_at__gte=timezone.now() - span) if span else queryset


class TestLoginFilter(admin.SimpleListFilter):
    __test__ = False  # pytest would take the name for a test class
    title = gettext_lazy("test logins")
    parameter_name = "test"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [("only", _("Only test logins")), ("without", _("Without test logins"))]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        if self.value() not in ("only", "without"):
            return queryset
        return queryset.filter(is_test=self.value() == "only")


class TrafficAdmin(LanguageColumn, ScopedAdmin):
    """A page that is searched by a whole address or id, each by its index. A part of one finds nothing."""

    actions = None
    sortable_by = ()  # the one order is the page's own, which an index holds
    show_close_button = True
    searches_people = True

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        return typed_range(request) or super().changelist_view(request, extra_context)

    def get_search_results(self, request: HttpRequest, queryset: Any, search_term: str) -> tuple[Any, bool]:
        term = search_term.strip()
        if not term or not self.search_fields:
            return queryset, False
        try:
            return self.look_up(request, queryset, term), False
        except TooManyLookUps as error:
            self.message_user(request, str(error), messages.WARNING)
            return queryset.none(), False

    def look_up(self, request: HttpRequest, rows: Any, term: str) -> Any:
        raise NotImplementedError

    def recipients(self, request: HttpRequest, term: str) -> list[int]:
        """Return the ids of the recipients with this address. Raises :class:`TooManyLookUps`.

        With a subquery in their place PostgreSQL may read the whole table that is searched.
        """
        try:
            address = parse_test_address(term).text
        except AddressInvalid:
            return []
        count_look_up(request, [address])
        recipients = Recipient.objects.filter(address=address)
        if not request.user.is_superuser:
            recipients = recipients.filter(project__in=own_project_ids(request, Right.SEE_TRAFFIC))
        return list(recipients.values_list("pk", flat=True))

    @admin.display(description=gettext_lazy("Created"))
    def created(self, row: Any) -> str:
        return display.time_ago_label(row.created_at)

    @admin.display(description=gettext_lazy("Recipient"))
    def masked(self, row: Any) -> str:
        return display.monospace(mask(row.recipient.address))

    @admin.display(description=gettext_lazy("Recipient"))
    def recipient_link(self, row: Any) -> str:
        return display.page_link(display.monospace(mask(row.recipient.address)), row.recipient)


class NewestFirstAdmin(TrafficAdmin):
    """A page of a table that grows with the traffic: not sortable, with filters that look through the newest rows.

    It needs an ordering, newest first, that an index serves; ``get_ordering`` may choose it by the request.
    """

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[NewestList]:
        return NewestList

    def has_index_for(self, used: dict[str, Any]) -> bool:
        """Return whether an index finds the rows that a filter with these parameters lets through."""
        return False
