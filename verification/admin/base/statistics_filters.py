"""The filters by which a row of the figures leads to the sessions and messages behind it.

They show up in a list only where they are used: a choice of all countries or languages would fill the page.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from django.contrib.admin import SimpleListFilter
from django.db.models import CharField, Func, OuterRef, QuerySet, Subquery
from django.http import HttpRequest
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from verification.admin.base.permissions import own_projects
from verification.admin.base.statistics import BETWEEN, EMPTY
from verification.core.dates import DAY_AND_TIME, written_date, written_moment
from verification.core.ids import first_session_id
from verification.core.whole_numbers import whole_number
from verification.models import Message, NumberArea, Provider, Recipient

EARLIEST_YEAR, LATEST_YEAR = 1970, 9_000  # of a range: ids tell the time from the first on, and dates end before 10000
CLOCKS_APART = timedelta(hours=1)  # at most, between the clock of an id and that of its row


class UsedFilter(SimpleListFilter):
    """A filter that is shown once the address uses it."""

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        value = self.value()
        return [(value, self.label(value, request))] if value else []

    def label(self, value: str, request: HttpRequest) -> str:
        return _("None") if value == EMPTY else value[:20]


class BetweenFilter(UsedFilter):
    """A filter by a range of time, whole hours (UTC), such as ``2026-11-01T00..2026-11-08T00``.

    An index finds the rows of a range, so the other filters look through the newest of the range.
    """

    title = gettext_lazy("range")
    parameter_name = BETWEEN
    is_scope = is_range = True
    column = "created_at"

    def label(self, value: str, request: HttpRequest) -> str:
        ends = read_between(value)
        return (
            _("{end} to {end2}").format(
                end=written_date(timezone.localtime(ends[0]), DAY_AND_TIME), end2=written_moment(ends[1], DAY_AND_TIME)
            )
            if ends
            else _("No range")
        )

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        value = self.value()
        if not value:
            return queryset
        ends = read_between(value)
        if ends is None:
            return queryset.none()
        return queryset.filter(**{f"{self.column}__gte": ends[0], f"{self.column}__lt": ends[1]})


class SessionBetweenFilter(BetweenFilter):
    """The filter of the sessions. A list in the order of the ids finds a range by them, as they tell the time."""

    def __init__(self, request: HttpRequest, params: Any, model: Any, model_admin: Any) -> None:
        self.is_by_id = model_admin.get_ordering(request)[0] == "-id"
        super().__init__(request, params, model, model_admin)

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        rows, ends = super().queryset(request, queryset), read_between(self.value() or "")
        if not (ends and self.is_by_id):
            return rows
        first, last = first_session_id(ends[0] - CLOCKS_APART), first_session_id(ends[1] + CLOCKS_APART)
        return rows.filter(id__gte=first, id__lt=last)


class LastBetweenFilter(BetweenFilter):
    """The filter of rows that are sorted by the time of their last event."""

    column = "last_at"


class CountryFilter(UsedFilter):
    """A filter by the country of a number's first digits, as the figures have it.

    Each recipient is looked up by its key; as a join PostgreSQL may read the whole table of recipients.
    """

    title = gettext_lazy("country")
    parameter_name = "country"

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        value = self.value()
        if not value:
            return queryset
        area = Func("address", function="number_area", output_field=CharField())
        recipient = Recipient.objects.filter(pk=OuterRef("recipient")).order_by()
        areas = NumberArea.objects.filter(country=value[:3]).values_list("pk", flat=True)
        rows: QuerySet[Any] = queryset.alias(area=Subquery(recipient.values_list(area)[:1])).filter(
            area__in=[""] if value == EMPTY else list(areas)
        )
        return rows


class LanguageFilter(UsedFilter):
    title = gettext_lazy("language")
    parameter_name = "language"

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        return queryset.filter(language=self.value()) if self.value() else queryset


class ProviderFilter(UsedFilter):
    """A filter by the provider that took the message, or a message of the session."""

    title = gettext_lazy("provider")
    parameter_name = "provider"

    def label(self, value: str, request: HttpRequest) -> str:
        provider = Provider.objects.of(own_projects(request.user)).filter(pk=whole_number(value) or 0).first()
        return str(provider) if provider else super().label(value, request)

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        value = self.value()
        if not value:
            return queryset
        return queryset.filter(provider_id=None if value == EMPTY else whole_number(value) or 0)


class SessionProviderFilter(ProviderFilter):
    """The filter of the sessions: the provider took a message of them.

    One message is looked up by its index for each session; as a join PostgreSQL may read the whole table of messages.
    """

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        value = self.value()
        if not value:
            return queryset
        provider = {"provider__isnull": False} if value == EMPTY else {"provider": whole_number(value) or 0}
        taken = Message.objects.filter(session=OuterRef("pk"), **provider).order_by().values("pk")[:1]
        rows: QuerySet[Any] = queryset.alias(taken=Subquery(taken)).filter(taken__isnull=value == EMPTY)
        return rows


def read_between(text: str) -> tuple[datetime, datetime] | None:
    """Return the two ends of a range as an address writes it; None for anything else."""
    parts = text.split("..")
    if len(parts) != 2:
        return None
    try:
        first, last = (datetime.strptime(part, "%Y-%m-%dT%H").replace(tzinfo=UTC) for part in parts)
    except ValueError:
        return None
    return (first, last) if EARLIEST_YEAR <= first.year <= last.year <= LATEST_YEAR else None
