"""The list of events, and the body of one, which ``services/notifications/payloads.py`` writes."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from verification.api.serializers.fields import MAX_PAGE, ULID, ChannelField, LimitField, MomentField, StrictCharField
from verification.api.serializers.manual import ManualMessageFinished
from verification.models import EventType

PLACE_MAX_CHARACTERS = 40  # characters of a place: two numbers with a hyphen between have fewer

SESSION_EVENT_TYPES = [
    (EventType.SESSION_OPENED.value, "a session was opened"),
    (EventType.SESSION_VERIFIED.value, "the right code was entered"),
    (EventType.SESSION_LOCKED.value, "wrong codes locked it"),
    (EventType.SESSION_EXPIRED.value, "it expired without being verified or locked"),
    (EventType.SESSION_REFUSED.value, "a request for a code was refused"),
    (EventType.SESSION_UNDELIVERED.value, "a code was sent over a channel and did not arrive"),
]


class SessionEventData(serializers.Serializer[Any]):
    session_id = serializers.RegexField(
        ULID, allow_null=True, help_text="The session; null for a refused create, which opens no session."
    )
    reference = serializers.CharField(allow_null=True, help_text="The `reference` that create received, if any.")
    recipient = serializers.CharField(
        help_text="The recipient, mostly masked; the full address if the project allows it in events."
    )
    channel = ChannelField(
        help_text="The channel its code had last been sent over at that moment, if any; with `session.undelivered` the "
        "channel on which it did not arrive.",
        allow_null=True,
    )
    reason = serializers.CharField(
        allow_null=True,
        help_text="With `session.refused`: the rule of the decision log. With `session.undelivered`: `failed` or "
        "`expired`. Otherwise null.",
    )
    language = serializers.CharField(allow_null=True, help_text="The session's language.")
    is_test = serializers.BooleanField(help_text="Whether a test login opened it.")
    created_at = MomentField(allow_null=True, help_text="When the session was opened.")
    expires_at = MomentField(allow_null=True, help_text="When the session expires.")


class MessageFinished(ManualMessageFinished):
    """A message is final: one of manual/send, or of a session. Further members may be added."""

    session_id = serializers.RegexField(ULID, required=False, help_text="The session, if the message is a session's.")
    reference = serializers.CharField(
        required=False,
        allow_null=True,
        help_text="With `session_id`: the `reference` that create received, if any.",
    )


class SessionEvent(serializers.Serializer[Any]):
    """Something that happened to a session. Further members may be added."""

    type = serializers.ChoiceField(SESSION_EVENT_TYPES, help_text="What happened.")
    timestamp = MomentField(help_text="When it happened. ISO 8601, UTC.")
    data = SessionEventData(help_text="The session at that moment.")  # type: ignore[assignment]  # the field's name


@extend_schema_field({"type": "object", "additionalProperties": True})
class BodyField(serializers.JSONField):
    """The JSON that the customer's server gets: an object whose members depend on the type."""


@extend_schema_field(
    {
        "type": "string",
        "minLength": 1,
        "maxLength": PLACE_MAX_CHARACTERS,
        "pattern": "^(0|[0-9]{1,16}-[0-9]{1,18})$",
    }
)
class PlaceField(StrictCharField):
    """A place in the list, which ``services/notifications/event_feed.py`` reads."""


@extend_schema_field({"type": "string"})
class EventTypesField(StrictCharField):
    """Types of events with commas between. ``reference/event_operations.py`` describes them as a list."""

    default_error_messages = {"invalid_choice": f"Give one or more of: {', '.join(EventType.values)}."}

    def to_internal_value(self, data: object) -> Any:
        types = str(super().to_internal_value(data)).split(",")
        if not set(types) <= set(EventType.values):
            self.fail("invalid_choice")
        return types


class EventsQuery(serializers.Serializer[Any]):
    after = PlaceField(
        required=False,
        max_length=PLACE_MAX_CHARACTERS,
        help_text="The `after` of an earlier answer, or `0`. It must not be empty or repeated.",
    )
    limit = LimitField(required=False, default=MAX_PAGE, help_text="How many events to return at most.")
    type = EventTypesField(required=False)


class Event(serializers.Serializer[Any]):
    id = serializers.CharField(help_text="The same as the `webhook-id` of the request. Act on each one once.")
    type = serializers.CharField(help_text="What happened, such as `session.verified` or `message.finished`.")
    timestamp = MomentField(help_text="When it happened. ISO 8601, UTC.")
    body = BodyField(help_text="The body of the request, as your server gets it.")


class EventList(serializers.Serializer[Any]):
    events = Event(many=True, help_text="The events in the order in which they happened, at most `limit`.")
    after = serializers.CharField(help_text="The value of `after` for the next request.")
    has_more = serializers.BooleanField(
        help_text="Whether more events follow: repeat the request at once. Possible even if `events` is empty."
    )
