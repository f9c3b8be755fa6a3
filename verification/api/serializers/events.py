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
    (EventType.SESSION_EXPIRED.value, "its time ran out, and it was neither verified nor locked"),
    (EventType.SESSION_REFUSED.value, "a code was asked for and did not go out"),
    (EventType.SESSION_UNDELIVERED.value, "a code went out over a channel, and did not arrive"),
]


class SessionEventData(serializers.Serializer[Any]):
    session_id = serializers.RegexField(
        ULID, allow_null=True, help_text="The session; null for a refused create, which opens none."
    )
    reference = serializers.CharField(allow_null=True, help_text="What create was given as `reference`, if anything.")
    recipient = serializers.CharField(
        help_text="The recipient, most of it masked; the whole address where the project says so."
    )
    channel = ChannelField(
        help_text="The channel over which its code last went at that moment, if any; with `session.undelivered` the "
        "one over which it did not arrive.",
        allow_null=True,
    )
    reason = serializers.CharField(
        allow_null=True,
        help_text="With `session.refused`: the rule of the decision log. With `session.undelivered`: `failed` or "
        "`expired`. Else null.",
    )
    language = serializers.CharField(allow_null=True, help_text="The session's language.")
    is_test = serializers.BooleanField(help_text="Whether a test login opened it.")
    created_at = MomentField(allow_null=True, help_text="When the session was opened.")
    expires_at = MomentField(allow_null=True, help_text="When the session ends.")


class MessageFinished(ManualMessageFinished):
    """A message is final: one of manual/send, or of a session. Further members may be added."""

    session_id = serializers.RegexField(ULID, required=False, help_text="The session, if the message is a session's.")
    reference = serializers.CharField(
        required=False,
        allow_null=True,
        help_text="With `session_id`: what create was given as `reference`, if anything.",
    )


class SessionEvent(serializers.Serializer[Any]):
    """What became of a session. Further members may be added."""

    type = serializers.ChoiceField(SESSION_EVENT_TYPES, help_text="What happened.")
    timestamp = MomentField(help_text="When it happened. ISO 8601, UTC.")
    data = SessionEventData(help_text="The session at that moment.")  # type: ignore[assignment]  # the field's name


@extend_schema_field({"type": "object", "additionalProperties": True})
class BodyField(serializers.JSONField):
    """The JSON that the customer's server is told: an object, whose members the type decides."""


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
        help_text="The `after` of an earlier answer, or `0`. Give it once at most, and not empty.",
    )
    limit = LimitField(required=False, default=MAX_PAGE, help_text="How many events are answered at most.")
    type = EventTypesField(required=False)


class Event(serializers.Serializer[Any]):
    id = serializers.CharField(help_text="The same as the `webhook-id` of the call. Act on each one once.")
    type = serializers.CharField(help_text="What happened, such as `session.verified` or `message.finished`.")
    timestamp = MomentField(help_text="When it happened. ISO 8601, UTC.")
    body = BodyField(help_text="The body of the call, as your server gets it.")


class EventList(serializers.Serializer[Any]):
    events = Event(many=True, help_text="The events in the order in which they happened, at most `limit`.")
    after = serializers.CharField(help_text="What to send as `after` next.")
    has_more = serializers.BooleanField(
        help_text="Whether to ask on at once, as there is more after this place; also where `events` is empty."
    )
