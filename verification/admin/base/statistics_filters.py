"""The filters of past traffic by time, provider, country and language, which the figures lead to as well."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, time, timedelta
from typing import Any

from django.contrib.admin import SimpleListFilter
from django.db.models import CharField, Func, OuterRef, QuerySet, Subquery
from django.http import HttpRequest, HttpResponseRedirect
from django.utils import timezone
from django.utils.timezone import now
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from phonenumbers import SUPPORTED_REGIONS

from verification.admin.base.current_project import current_projects
from verification.admin.list_tools.filter_form import COUNTRY, RANGE
from verification.core.formats import (
    DAY,
    DAY_AND_TIME,
    EARLIEST_YEAR,
    FIRST_MOMENT,
    LATEST_YEAR,
    written_date,
    zone_name,
)
from verification.core.ids import first_session_id
from verification.core.numbers import whole_number
from verification.models import Message, NumberArea, Provider, Recipient

BETWEEN = "between"  # the parameter by which the lists take a range of time
EMPTY = "none"  # in an address, the value of what has no provider, country or language
FROM, TO = "from", "to"  # the names of the form's fields
HOUR, MINUTE = "%Y-%m-%dT%H", "%Y-%m-%dT%H:%M"
A_DAY, A_YEAR = timedelta(days=1), timedelta(days=365)
PROVIDERS_SHOWN = 200
CLOCKS_APART = timedelta(hours=1)  # at most, between the clock of an id and that of its row


class UsedFilter(SimpleListFilter):
    """A filter that is shown once the address uses it."""

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        value = self.value()
        return [(value, self.label(value, request))] if value else []

    def label(self, value: str, request: HttpRequest) -> str:
        return _("None") if value == EMPTY else value[:20]


class BetweenFilter(SimpleListFilter):
    """A filter by a range of time in UTC, such as ``2026-11-01T00..2026-11-08T12:30``.

    An index finds the rows of a range, so the other filters look through the newest of the range. The form takes the
    ends in the reader's zone; :func:`typed_range` makes the range of them.
    """

    title = gettext_lazy("period")
    kind = RANGE
    parameter_name = BETWEEN
    is_scope = is_range = True
    column = "created_at"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return []

    def has_output(self) -> bool:
        return True

    def choices(self, changelist: Any) -> Iterator[Any]:
        value = self.value() or ""
        first, last = read_between(value) or (None, None)
        yield {
            "first": _for_input(first),
            "last": _for_input(last),
            "shown": _in_words(first, last) if first and last else value[:20],
            "zone": zone_name(last or now()),
            "wrong": _("This is not a valid period.") if value and last is None else _is_backwards(first, last),
        }

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
        first = first_session_id(max(ends[0] - CLOCKS_APART, FIRST_MOMENT))
        last = first_session_id(ends[1] + CLOCKS_APART)
        return rows.filter(id__gte=first, id__lt=last)


class LastBetweenFilter(BetweenFilter):
    """The filter of rows that are sorted by the time of their last event."""

    column = "last_at"


class CountryFilter(SimpleListFilter):
    """A filter by the country of a number's first digits, as the figures have it.

    Each recipient is looked up by its key; as a join PostgreSQL may read the whole table of recipients.
    """

    title = gettext_lazy("country")
    kind = COUNTRY
    parameter_name = "country"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [(EMPTY, _("None")), *((code, code) for code in sorted(SUPPORTED_REGIONS))]

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


class ProviderFilter(SimpleListFilter):
    """A filter by the provider that took the message, or a message of the session."""

    title = gettext_lazy("provider")
    parameter_name = "provider"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        providers = (
            Provider.objects.of(current_projects(request))
            .select_related("project")
            .order_by("name", "pk")[:PROVIDERS_SHOWN]
        )
        several = len({each.project_id for each in providers}) > 1
        named = [
            (str(each.pk), f"{each.name} ({each.project or _('System')})" if several else each.name)
            for each in providers
        ]
        return [(EMPTY, _("None")), *named]

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
        first, last = (datetime.strptime(part, MINUTE if ":" in part else HOUR).replace(tzinfo=UTC) for part in parts)
    except ValueError:
        return None
    return (first, last) if EARLIEST_YEAR <= first.year <= last.year <= LATEST_YEAR else None


def typed_range(request: HttpRequest) -> HttpResponseRedirect | None:
    """Return a redirect to the list with the range that was typed into the filter's form, in the reader's zone.

    Without a beginning it begins with the rows of a year ago, without an end it ends now.
    """
    if FROM not in request.GET and TO not in request.GET:
        return None
    query = request.GET.copy()
    typed = [query.pop(name, [""])[-1] for name in (FROM, TO)]
    query.pop(BETWEEN, None)
    if any(typed):
        try:
            first = _read_input(typed[0]) if typed[0] else now() - A_YEAR
            last = _read_input(typed[1]) if typed[1] else now() + timedelta(minutes=1)
            query[BETWEEN] = f"{first.astimezone(UTC):{MINUTE}}..{last.astimezone(UTC):{MINUTE}}"
        except (ValueError, OverflowError):  # the latter for a time that is outside the calendar in UTC
            query[BETWEEN] = "..".join(typed)[:50]
    return HttpResponseRedirect(f"{request.path}?{query.urlencode()}" if query else request.path)


def _read_input(text: str) -> datetime:
    moment = datetime.fromisoformat(text)
    return moment if moment.tzinfo else timezone.make_aware(moment)


def _for_input(moment: datetime | None) -> str:
    return f"{timezone.localtime(moment):{MINUTE}}" if moment else ""


def _in_words(first: datetime, last: datetime) -> str:
    """Write the range in the reader's zone; one of whole days by its first and last day, as people say it."""
    begin, end = timezone.localtime(first), timezone.localtime(last)
    if begin < end and begin.time() == end.time() == time.min:
        days = [written_date(day.date(), DAY) for day in (begin, end - A_DAY)]
        text = " – ".join(dict.fromkeys(days))
    else:
        text = f"{written_date(begin, DAY_AND_TIME)} – {written_date(end, DAY_AND_TIME)}"
    return f"{text} {zone_name(last)}"


def _is_backwards(first: datetime | None, last: datetime | None) -> str:
    return _("The end is before the start.") if first and last and last < first else ""
