"""The endpoints by which a customer's own programs read what happened in the project."""

from __future__ import annotations

from typing import Any

from rest_framework.request import Request
from rest_framework.response import Response

from verification.api.base import SecretKeyView
from verification.api.reference import event_operations
from verification.api.serializers.events import Event, EventList, EventsQuery
from verification.core.errors import FieldError, FieldsInvalid, UserError
from verification.services.notifications import event_feed
from verification.services.notifications.payloads import body_of, webhook_id
from verification.sql.rows import DescribedEvent


class EventsView(SecretKeyView):
    @event_operations.list_events
    def get(self, request: Request) -> Response:
        query = self.query(request, EventsQuery)
        if "after" not in query:
            return self.answer(EventList, {"events": [], "after": event_feed.newest_place(), "has_more": False})
        try:
            page = event_feed.page_after(self.project.id, query["after"], limit=query["limit"], types=query.get("type"))
        except UserError as error:
            raise FieldsInvalid(FieldError("after", "invalid", str(error))) from None
        rows = [_event_data(row) for row in page.events]
        return self.answer(EventList, {"events": rows, "after": page.after, "has_more": page.has_more})


class EventView(SecretKeyView):
    @event_operations.read_event
    def get(self, request: Request, id: str) -> Response:
        return self.answer(Event, _event_data(event_feed.read_event(self.project.id, id)))


def _event_data(row: DescribedEvent) -> dict[str, Any]:
    return {"id": webhook_id(row), "type": row.type, "timestamp": row.created_at, "body": body_of(row)}
