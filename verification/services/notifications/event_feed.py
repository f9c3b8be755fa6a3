"""Reading a project's events in their order, as a developer's listener does. Nothing is delivered or changed."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from verification import sql
from verification.core import numbers
from verification.core.errors import ApiError, UserError
from verification.models import WebhookEvent
from verification.sql.rows import DescribedEvent

PAGE = 100  # events of one answer at most: few enough to be read while somebody waits
# Events that one answer looks at, where only some types are asked for: about 10 ms of the database's time.
LOOK = 10_000
OLDEST = "0"  # the place before all events
# Microseconds up to the year 2286, a time that PostgreSQL and Python both have, and the id. The description has it too.
_PLACE = re.compile(r"([0-9]{1,16})-([0-9]{1,18})")
_NAMED_BY = {"evt": "id", "msg": "message"}  # the first part of an event's id, and whose number follows
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Page:
    """Events in their order, and the place from which the next page follows.

    ``has_more`` says that it follows at once. A page by types may be empty then.
    """

    events: list[DescribedEvent]
    after: str
    has_more: bool


def newest_place() -> str:
    """Return the place after all events that have happened."""
    until: datetime = sql.value("events_complete_until")
    return _place(until, 0)


def page_after(project_id: int, after: str, *, limit: int = PAGE, types: Sequence[str] | None = None) -> Page:
    """Return at most ``limit`` of the project's next events after a place that an earlier page told.

    Those of ``types`` are listed, and all where it is None. Raises :class:`UserError` for a text that is no place.

    An event is listed once no transaction can still write an earlier one. So a reader who goes from page to page misses
    none.
    """
    moment, last_id = _read(after)
    found = sql.call(
        "find_events",
        project=project_id,
        after=moment,
        after_id=last_id,
        types=None if types is None else list(types),
        limit=limit,
        look=limit + 1 if types is None else LOOK,
    )
    rows = sql.call_many(DescribedEvent, "events_to_tell", ids=found.ids) if found.ids else []
    return Page(rows, _place(found.last_at, found.last_id) if found.last_at else after, found.has_more)


def read_event(project_id: int, event_id: str) -> DescribedEvent:
    """Return the project's event of this id, as ``payloads.webhook_id`` writes it. Raises ``not_found``."""
    kind, _, number = event_id.partition("_")
    row_id = numbers.whole_number(number)
    if row_id is not None and kind in _NAMED_BY:
        events = WebhookEvent.objects.filter(project=project_id, message__isnull=kind == "evt")
        named = events.filter(**{_NAMED_BY[kind]: row_id}).values_list("id", flat=True)
        if rows := sql.call_many(DescribedEvent, "events_to_tell", ids=list(named)):
            return rows[0]
    raise ApiError("not_found", "There is no such event, or it has been deleted.")


def _place(moment: datetime, event_id: int) -> str:
    return f"{(moment - _EPOCH) // timedelta(microseconds=1)}-{event_id}"


def _read(place: str) -> tuple[datetime, int]:
    if place == OLDEST:
        return _EPOCH, 0
    found = _PLACE.fullmatch(place)
    if found is None:
        raise UserError("Give the place that an earlier answer told, or 0 for the oldest event.")
    return _EPOCH + timedelta(microseconds=int(found[1])), int(found[2])
