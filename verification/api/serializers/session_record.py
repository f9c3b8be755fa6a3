"""Sessions as the customer's own server reads them: the query of the list, and the answers."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from verification.api.serializers.fields import (
    MAX_PAGE,
    ChannelField,
    LimitField,
    MomentField,
    RecipientField,
    ReferenceField,
    SessionIdField,
)
from verification.api.serializers.manual import MESSAGE_STATUSES
from verification.core.numbers import MAX_ID
from verification.models import SessionState

SESSION_STATES = [
    (SessionState.OPEN.value, "its code can be sent and checked"),
    (SessionState.LOCKED.value, "locked by wrong codes and not expired yet"),
    (SessionState.VERIFIED.value, "the right code was entered"),
    (SessionState.EXPIRED.value, "it expired, or its test login was changed"),
    (SessionState.CANCELLED.value, "your server cancelled it"),
]


class SessionMessage(serializers.Serializer[Any]):
    id = serializers.IntegerField(min_value=1, max_value=MAX_ID, help_text="The message's id.")
    channel = ChannelField(help_text="The channel it was sent over.")
    status = serializers.ChoiceField(MESSAGE_STATUSES, help_text="The message's status. It only moves forward.")
    error = serializers.CharField(
        allow_null=True, help_text="Why it failed or expired, in one sentence; otherwise null."
    )
    created_at = MomentField(help_text="When it was queued.")
    finished_at = MomentField(allow_null=True, help_text="When its status became final; null until then.")


class SessionRecord(serializers.Serializer[Any]):
    """A session as your server sees it. Further members may be added."""

    session_id = SessionIdField(help_text="The session's id: a ULID, 26 characters in capitals.")
    state = serializers.ChoiceField(SESSION_STATES, help_text="The session's state.")
    recipient = serializers.CharField(
        allow_null=True,
        help_text="The full phone number or e-mail address; null after the project's retention has deleted it. It is "
        "**not verified** before `redeemed_at`.",
    )
    channel = ChannelField(help_text="The channel its code was last sent over; null if none.", allow_null=True)
    reference = serializers.CharField(allow_null=True, help_text="The `reference` that create received, if any.")
    language = serializers.CharField(help_text="The language of its messages.")
    is_test = serializers.BooleanField(
        help_text="Whether a test login opened it. Always false for the recipients of a test project."
    )
    attempts = serializers.IntegerField(min_value=0, help_text="How many codes were entered, right or wrong.")
    created_at = MomentField(help_text="When it was opened. ISO 8601, UTC.")
    expires_at = MomentField(help_text="When it expires or was cancelled.")
    verified_at = MomentField(allow_null=True, help_text="When the right code was entered.")
    redeemed_at = MomentField(
        allow_null=True, help_text="When session/verify returned the address. Only then the address is proven."
    )
    cancelled_at = MomentField(allow_null=True, help_text="When your server cancelled it.")
    messages = SessionMessage(many=True, help_text="Its messages, oldest first, as long as the project keeps them.")


class SessionListQuery(serializers.Serializer[Any]):
    to = RecipientField(required=False)
    reference = ReferenceField(required=False, help_text="Only sessions that were created with this `reference`.")
    state = serializers.ChoiceField(
        SESSION_STATES,
        required=False,
        help_text="Only sessions in this state.",
        error_messages={"invalid_choice": f"Give one of: {', '.join(state for state, _ in SESSION_STATES)}."},
    )
    limit = LimitField(required=False, default=MAX_PAGE, help_text="How many sessions to return at most.")
    after = SessionIdField(
        required=False, help_text="The `after` of an earlier answer. The answer continues with older sessions."
    )


class SessionList(serializers.Serializer[Any]):
    sessions = SessionRecord(many=True, help_text="The sessions, newest first, at most `limit`.")
    has_more = serializers.BooleanField(
        help_text="Whether older sessions may follow. If you filter by `state`, an answer can be empty and still have "
        "more."
    )
    after = SessionIdField(allow_null=True, help_text="The value of `after` for the next request; null at the end.")
