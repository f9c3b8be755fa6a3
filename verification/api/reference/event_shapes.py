"""The shapes of events and of their list, for the API's description."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from verification.api.reference.shapes import ULID, channel_field
from verification.models import EventType

SESSION_EVENT_TYPES = [
    (EventType.SESSION_OPENED.value, "a session was opened"),
    (EventType.SESSION_VERIFIED.value, "the right code was entered"),
    (EventType.SESSION_LOCKED.value, "wrong codes locked it"),
    (EventType.SESSION_EXPIRED.value, "its time ran out, and it was neither verified nor locked"),
    (EventType.SESSION_REFUSED.value, "a code was asked for and did not go out"),
]


class SessionEventData(serializers.Serializer[Any]):
    session_id = serializers.RegexField(
        ULID, allow_null=True, help_text="The session; null for a refused create, which opens none."
    )
    recipient = serializers.CharField(
        help_text="The recipient, most of it masked; the whole address where the project says so."
    )
    channel = channel_field("The channel over which its code last went at that moment, if any.", allow_null=True)
    reason = serializers.CharField(
        allow_null=True, help_text="With `session.refused`: the rule of the decision log. Else null."
    )
    language = serializers.CharField(allow_null=True, help_text="The session's language.")
    is_test = serializers.BooleanField(help_text="Whether a test login opened it.")
    created_at = serializers.DateTimeField(allow_null=True, help_text="When the session was opened.")
    expires_at = serializers.DateTimeField(allow_null=True, help_text="When the session ends.")


class SessionEvent(serializers.Serializer[Any]):
    """What became of a session. Further members may be added."""

    type = serializers.ChoiceField(SESSION_EVENT_TYPES, help_text="What happened.")
    timestamp = serializers.DateTimeField(help_text="When it happened. ISO 8601, UTC.")
    data = SessionEventData(help_text="The session at that moment.")  # type: ignore[assignment]  # the field's name


@extend_schema_field({"type": "object", "additionalProperties": True})
class BodyField(serializers.JSONField):
    """The JSON that the customer's server is told: an object, whose members the type decides."""


class Event(serializers.Serializer[Any]):
    id = serializers.CharField(help_text="The same as the `webhook-id` of the call. Act on each one once.")
    type = serializers.CharField(help_text="What happened, such as `session.verified` or `message.finished`.")
    timestamp = serializers.DateTimeField(help_text="When it happened. ISO 8601, UTC.")
    body = BodyField(help_text="The body of the call, as your server gets it.")


class EventList(serializers.Serializer[Any]):
    events = Event(many=True, help_text="The events in the order in which they happened, at most 100.")
    after = serializers.CharField(help_text="What to send as `after` next.")
