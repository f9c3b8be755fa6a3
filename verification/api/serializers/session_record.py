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
from verification.core.ids import MAX_ID
from verification.services.sessions.server_side import SessionState

SESSION_STATES = [
    (SessionState.OPEN.value, "its code can be sent and checked"),
    (SessionState.LOCKED.value, "wrong codes locked it, and it has not ended"),
    (SessionState.VERIFIED.value, "the right code was entered"),
    (SessionState.EXPIRED.value, "its time ran out, or its test login was changed"),
    (SessionState.CANCELLED.value, "your server ended it"),
]


class SessionMessage(serializers.Serializer[Any]):
    id = serializers.IntegerField(min_value=1, max_value=MAX_ID, help_text="The message.")
    channel = ChannelField(help_text="The channel it went over.")
    status = serializers.ChoiceField(MESSAGE_STATUSES, help_text="Where it stands. It only moves forward.")
    error = serializers.CharField(allow_null=True, help_text="Why it failed or expired, in one sentence; else null.")
    created_at = MomentField(help_text="When it was asked for.")
    finished_at = MomentField(allow_null=True, help_text="When it ended; null until then.")


class SessionRecord(serializers.Serializer[Any]):
    """A session as your server sees it. Further members may be added."""

    session_id = SessionIdField(help_text="The session: a ULID, 26 characters in capitals.")
    state = serializers.ChoiceField(SESSION_STATES, help_text="What became of it.")
    recipient = serializers.CharField(
        allow_null=True,
        help_text="The whole phone number or e-mail address; null once the project keeps it no longer. It is **not "
        "verified** before `redeemed_at`.",
    )
    channel = ChannelField(help_text="The channel over which its code last went; null until then.", allow_null=True)
    reference = serializers.CharField(allow_null=True, help_text="What create was given as `reference`, if anything.")
    language = serializers.CharField(help_text="The language of its messages.")
    is_test = serializers.BooleanField(
        help_text="Whether a test login opened it. Recipients of a test project are none."
    )
    attempts = serializers.IntegerField(min_value=0, help_text="How many codes were entered, right or wrong.")
    created_at = MomentField(help_text="When it was opened. ISO 8601, UTC.")
    expires_at = MomentField(help_text="When it ends, or was ended.")
    verified_at = MomentField(allow_null=True, help_text="When the right code was entered.")
    redeemed_at = MomentField(
        allow_null=True, help_text="When session/verify was told the address: the moment of proof."
    )
    cancelled_at = MomentField(allow_null=True, help_text="When your server ended it.")
    messages = SessionMessage(many=True, help_text="Its messages, the earliest first, while the project keeps them.")


class SessionListQuery(serializers.Serializer[Any]):
    to = RecipientField(required=False)
    reference = ReferenceField(required=False, help_text="Only sessions that were created with this `reference`.")
    state = serializers.ChoiceField(
        SESSION_STATES,
        required=False,
        help_text="Only sessions in this state.",
        error_messages={"invalid_choice": f"Give one of: {', '.join(state for state, _ in SESSION_STATES)}."},
    )
    limit = LimitField(required=False, default=MAX_PAGE, help_text="How many sessions are answered at most.")
    after = SessionIdField(
        required=False, help_text="The `after` of an earlier answer: the sessions that are older than this one follow."
    )


class SessionList(serializers.Serializer[Any]):
    sessions = SessionRecord(many=True, help_text="The sessions, the newest first, at most `limit`.")
    has_more = serializers.BooleanField(
        help_text="Whether older ones may follow. Where only one `state` is asked for, an answer may be empty then."
    )
    after = SessionIdField(allow_null=True, help_text="What to send as `after` next; null at the end of the list.")
