"""The endpoint by which a customer's own programs read what happened in the project."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse

from verification import timestamps
from verification.api.base import SecretKeyView, query_fields
from verification.api.reference import event_operations
from verification.api.rendering import json_response
from verification.errors import FieldError, FieldsInvalid, Misuse
from verification.services.notices import listening
from verification.services.notices.bodies import body_of, webhook_id
from verification.sql.rows import DescribedEvent

AFTER_MAX_CHARACTERS = 40  # characters of a place: two numbers with a hyphen between have fewer


class EventsView(SecretKeyView):
    @event_operations.list_events
    def get(self, request: HttpRequest) -> HttpResponse:
        fields = query_fields(request)
        after = fields.text("after", required=False, max_length=AFTER_MAX_CHARACTERS)
        fields.check()
        if after is None:
            return json_response({"events": [], "after": listening.newest_place()})
        try:
            page = listening.page_after(self.caller.project.id, after)
        except Misuse as error:
            raise FieldsInvalid(FieldError("after", "invalid", str(error))) from None
        return json_response({"events": [_told(row) for row in page.events], "after": page.after})


def _told(row: DescribedEvent) -> dict[str, Any]:
    return {
        "id": webhook_id(row),
        "type": row.type,
        "timestamp": timestamps.iso(row.created_at),
        "body": body_of(row),
    }
