"""The endpoint by which a customer's own programs read what happened in the project."""

from __future__ import annotations

from typing import Any

from rest_framework.request import Request
from rest_framework.response import Response

from verification.api.base import SecretKeyView
from verification.api.reference import event_operations
from verification.api.serializers.events import EventList, EventsQuery
from verification.errors import FieldError, FieldsInvalid, Misuse
from verification.services.notices import listening
from verification.services.notices.bodies import body_of, webhook_id
from verification.sql.rows import DescribedEvent


class EventsView(SecretKeyView):
    @event_operations.list_events
    def get(self, request: Request) -> Response:
        after = self.query(request, EventsQuery).get("after")
        if after is None:
            return self.answer(EventList, {"events": [], "after": listening.newest_place()})
        try:
            page = listening.page_after(self.project.id, after)
        except Misuse as error:
            raise FieldsInvalid(FieldError("after", "invalid", str(error))) from None
        return self.answer(EventList, {"events": [_told(row) for row in page.events], "after": page.after})


def _told(row: DescribedEvent) -> dict[str, Any]:
    return {"id": webhook_id(row), "type": row.type, "timestamp": row.created_at, "body": body_of(row)}
