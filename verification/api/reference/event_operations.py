"""The list of events, and the events themselves, in words and examples."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import OpenApiExample, OpenApiParameter, OpenApiResponse, OpenApiWebhook, extend_schema

from verification.api.reference import examples
from verification.api.reference.schema import EVENTS, SECRET_KEY, operation
from verification.api.serializers import events
from verification.models import EventType

_HAPPENED_AT = "2026-05-04T09:31:12.418Z"
_BODY = {
    "type": "session.verified",
    "timestamp": _HAPPENED_AT,
    "data": {
        "session_id": examples.SESSION_ID,
        "reference": "login-4711",
        "recipient": "+467******05",
        "channel": "sms",
        "reason": None,
        "language": "sv",
        "is_test": False,
        "created_at": "2026-05-04T09:30:00.000Z",
        "expires_at": examples.EXPIRY,
    },
}

_EVENT = {"id": "evt_481516", "type": "session.verified", "timestamp": _HAPPENED_AT, "body": _BODY}
_TYPES = OpenApiParameter(
    "type",
    {"type": "array", "items": {"type": "string", "enum": EventType.values}, "minItems": 1},
    explode=False,
    description="The types to list, separated by commas. If left out, all types.",
    examples=[OpenApiExample("Two types", value=["session.verified", "session.locked"])],
)

list_events = operation(
    "listEvents",
    tag=EVENTS,
    key=SECRET_KEY,
    summary="List events",
    description="""Lists the project's events after a given position: for a listener while you develop, or to catch up
on what your server missed.

The first request, without `after`, returns no events but the current position, from which new events follow. With
`after=0` it returns the oldest events that are kept. Then repeat the request with the `after` of the last answer, at
once while `has_more` is true. A client that does so misses no event.

Session events are listed only if the project has chosen them; it needs no webhook URL for that. An event is kept as
long as its session or message.""",
    parameters=[events.EventsQuery, _TYPES],
    answer=events.EventList,
    answer_description="The next events.",
    answer_example={
        "events": [_EVENT],
        "after": "1777887072418000-481516",
        "has_more": False,
    },
    errors=("validation_error",),
)

read_event = operation(
    "readEvent",
    tag=EVENTS,
    key=SECRET_KEY,
    summary="Read one event",
    description="Returns one event of the project, for example to inspect it or to replay it while you develop.",
    parameters=[
        OpenApiParameter(
            "id",
            {"type": "string", "pattern": "^(evt|msg)_[0-9]{1,19}$"},
            OpenApiParameter.PATH,
            description="The event's `webhook-id`.",
            examples=[OpenApiExample("An event of a session", value=_EVENT["id"])],
        )
    ],
    answer=events.Event,
    answer_description="The event.",
    answer_example=_EVENT,
    errors=("not_found",),
)

_RULES = """The project chooses its events. Each one is signed by Standard Webhooks with the project's webhook secret
and delivered at least once: act on each `webhook-id` once. Retries are those of a callback. No event contains the
code."""


def _webhook(event: EventType, summary: str, description: str, **data: Any) -> OpenApiWebhook:
    body = {"type": event.value, "timestamp": _HAPPENED_AT, "data": {**_BODY["data"], **data}}  # type: ignore[dict-item]
    return OpenApiWebhook(
        event.value,
        extend_schema(
            summary=summary,
            description=f"{description}\n\n{_RULES}",
            tags=[EVENTS],
            request=events.SessionEvent,
            responses={200: OpenApiResponse(description="Any 2xx: received.")},
            examples=[OpenApiExample(str(event.label), value=body)],
        ),
    )


opened = _webhook(
    EventType.SESSION_OPENED,
    "A session was opened",
    "A create opened a session. A create that returns a live session sends no event. `channel` is null if no code was "
    "sent.",
)
verified = _webhook(
    EventType.SESSION_VERIFIED,
    "A session was verified",
    "The right code was entered, and a verify token was issued. **Do not let the user in because of this event**: your "
    "server has to redeem the token.",
)
locked = _webhook(
    EventType.SESSION_LOCKED, "A session was locked", "Too many wrong codes were entered. The session cannot be used."
)
expired = _webhook(
    EventType.SESSION_EXPIRED,
    "A session expired",
    "The session expired without being verified or locked. The event follows within a minute of its end.",
)
refused = _webhook(
    EventType.SESSION_REFUSED,
    "A code was refused",
    "A create or a send was refused by a rule of the decision log; `reason` names it. The same refusal sends at most"
    " one event per minute, and a project gets about 60 of them per minute.",
    session_id=None,
    reference=None,
    channel=None,
    reason="too_many_sends",
    language=None,
    created_at=None,
    expires_at=None,
)
undelivered = _webhook(
    EventType.SESSION_UNDELIVERED,
    "A code was not delivered",
    "The code was sent over `channel` and did not arrive: the message is `failed` or `expired`, as `reason` says. The"
    " code may still arrive over another channel. A session that was verified or cancelled before sends no such event.",
    reason="failed",
)
finished = OpenApiWebhook(
    EventType.MESSAGE_FINISHED.value,
    extend_schema(
        summary="A message is final",
        description="A message of a session or of manual/send is `success`, `failed` or `expired`. A message that was"
        f" sent with a `callback_url` is reported there only.\n\n{_RULES}",
        tags=[EVENTS],
        request=events.MessageFinished,
        responses={200: OpenApiResponse(description="Any 2xx: received.")},
        examples=[
            OpenApiExample(
                "Finished",
                value={
                    "id": 5125890120348313,
                    "channel": "sms",
                    "status": "success",
                    "error": None,
                    "finished_at": "2026-05-04T09:30:04.381Z",
                    "session_id": examples.SESSION_ID,
                    "reference": "login-4711",
                },
            )
        ],
    ),
)
