"""The answers of the service, as types. Written by packages/generate_clients.py.

Members that a later service adds are ignored; values that it adds to an enum are kept as they are.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

Channel = Literal["sms", "email", "messenger_a", "messenger_b", "voice"]
ChallengeProvider = Literal["altcha", "turnstile", "hcaptcha", "recaptcha"]
CodeLength = Literal[4, 6]
DeliveryStatus = Literal["pending", "sent", "delivered", "failed"]
ErrorCode = Literal[
    "parse_error",
    "validation_error",
    "invalid_code",
    "host_not_allowed",
    "missing_api_key",
    "invalid_api_key",
    "wrong_key_kind",
    "challenge_required",
    "challenge_failed",
    "recipient_not_allowed",
    "not_found",
    "session_not_found",
    "message_not_found",
    "verify_token_not_found",
    "method_not_allowed",
    "channel_not_available",
    "channel_not_active",
    "session_verified",
    "idempotency_conflict",
    "session_expired",
    "verify_token_expired",
    "body_too_large",
    "unsupported_media_type",
    "channel_timeout",
    "too_many_attempts",
    "too_many_sends",
    "rate_limited",
    "internal_error",
    "service_unavailable",
    "challenge_unavailable",
]
FieldErrorCode = Literal[
    "required",
    "null",
    "invalid_type",
    "blank",
    "too_long",
    "invalid_choice",
    "invalid",
    "unknown",
    "repeated",
    "unexpected",
]
MessageStatus = Literal["queued", "sending", "sent", "success", "failed", "expired"]
SessionEventType = Literal[
    "session.opened", "session.verified", "session.locked", "session.expired", "session.refused", "session.undelivered"
]
SessionState = Literal["open", "locked", "verified", "expired", "cancelled"]


@dataclass(frozen=True, slots=True)
class FieldProblem:
    """``FieldProblem`` of the API."""

    field: str
    """The name of the field, query parameter or header."""
    code: FieldErrorCode
    """What is wrong with it, for machines."""
    detail: str
    """What is wrong with it, for people."""

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> FieldProblem:
        return cls(
            field=data["field"],
            code=data["code"],
            detail=data["detail"],
        )


@dataclass(frozen=True, slots=True)
class ManualProvider:
    """``ManualProvider`` of the API."""

    id: int
    """The value to send as ``provider_id``."""
    name: str
    """The name that the owner chose."""
    type: str
    """The kind of provider, such as ``smtp`` or ``http``."""
    is_system: bool
    """Whether it belongs to the installation and serves every project."""

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> ManualProvider:
        return cls(
            id=data["id"],
            name=data["name"],
            type=data["type"],
            is_system=data["is_system"],
        )


@dataclass(frozen=True, slots=True)
class ManualChannel:
    """``ManualChannel`` of the API."""

    name: str
    """The channel's name."""
    type: Channel
    """The value to send as ``channel``."""
    providers: list[ManualProvider]
    """Its providers, in the order in which they are tried."""

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> ManualChannel:
        return cls(
            name=data["name"],
            type=data["type"],
            providers=[ManualProvider.from_json(each) for each in data["providers"]],
        )


@dataclass(frozen=True, slots=True)
class Message:
    """``ManualMessage`` of the API."""

    id: int
    """The message's id."""
    channel: Channel
    """The channel it was sent over."""
    status: MessageStatus
    """The message's status."""
    error: str | None
    """Why it failed or expired, in one sentence; otherwise null."""

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Message:
        return cls(
            id=data["id"],
            channel=data["channel"],
            status=data["status"],
            error=data.get("error"),
        )


@dataclass(frozen=True, slots=True)
class FinishedMessage:
    """``ManualMessageFinished`` of the API."""

    id: int
    """The message's id."""
    channel: Channel
    """The channel it was sent over."""
    status: Literal["success", "failed", "expired"]
    """The final status."""
    error: str | None
    """Why it failed or expired, in one sentence; otherwise null."""
    finished_at: datetime
    """When the status became final."""

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> FinishedMessage:
        return cls(
            id=data["id"],
            channel=data["channel"],
            status=data["status"],
            error=data.get("error"),
            finished_at=datetime.fromisoformat(data["finished_at"]),
        )


@dataclass(frozen=True, slots=True)
class QueuedMessage:
    """``ManualSendResponse`` of the API."""

    message: str
    """A sentence for people."""
    code: str = field(repr=False)
    """The code, encrypted: ``aes256:<iv>:<ciphertext>:<tag>``, each part in padded base64."""
    message_id: int
    """The message's id, for manual/message/{id}."""

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> QueuedMessage:
        return cls(
            message=data["message"],
            code=data["code"],
            message_id=data["message_id"],
        )


@dataclass(frozen=True, slots=True)
class SessionChannel:
    """``SessionChannel`` of the API."""

    name: str
    """The name to show; the project's owner chooses it."""
    type: Channel
    """The value to send as ``type``."""
    is_active: bool
    """Whether a code can reach the user over this channel now."""
    timeout: int
    """Whole seconds until a code can be sent over this channel again; 0 means now."""
    image_url: str
    """The channel's icon, always an absolute URL."""
    link: str = field(repr=False)
    """Where to send the user for this channel: for a messenger, the bot that the user has to start."""

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> SessionChannel:
        return cls(
            name=data["name"],
            type=data["type"],
            is_active=data["is_active"],
            timeout=data["timeout"],
            image_url=data["image_url"],
            link=data["link"],
        )


@dataclass(frozen=True, slots=True)
class Session:
    """``SessionCreateResponse`` of the API."""

    session_id: str
    """The session's id: a ULID, 26 characters in capitals."""
    session_expired_at: datetime
    """When the session expires."""
    sent_to: Channel | None
    """The channel over which this session's code was last sent or is being sent; null if it was not sent yet, …"""
    channels: list[SessionChannel]
    """The channels that can reach this recipient, in order."""

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Session:
        return cls(
            session_id=data["session_id"],
            session_expired_at=datetime.fromisoformat(data["session_expired_at"]),
            sent_to=data.get("sent_to"),
            channels=[SessionChannel.from_json(each) for each in data["channels"]],
        )


@dataclass(frozen=True, slots=True)
class SentCode:
    """``SessionSendResponse`` of the API."""

    session_id: str
    """The session's id: a ULID, 26 characters in capitals."""
    session_expired_at: datetime
    """When the session expires."""
    channel: SessionChannel
    """The channel the code was sent over, with its new cooldown."""

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> SentCode:
        return cls(
            session_id=data["session_id"],
            session_expired_at=datetime.fromisoformat(data["session_expired_at"]),
            channel=SessionChannel.from_json(data["channel"]),
        )


@dataclass(frozen=True, slots=True)
class CheckedCode:
    """``SessionCheckResponse`` of the API."""

    verify_token: str = field(repr=False)
    """Send it to your server, which redeems it at session/verify within 60 seconds."""
    is_test: bool
    """Whether the recipient is one of the project's test logins."""

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> CheckedCode:
        return cls(
            verify_token=data["verify_token"],
            is_test=data["is_test"],
        )


@dataclass(frozen=True, slots=True)
class ProjectSettings:
    """``SessionSettingsProject`` of the API."""

    name: str
    """The project's name."""

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> ProjectSettings:
        return cls(
            name=data["name"],
        )


@dataclass(frozen=True, slots=True)
class CodeSettings:
    """``SessionSettingsCode`` of the API."""

    length: CodeLength
    """How many characters the code has."""
    digits: bool
    """Whether the code can contain digits."""
    letters: bool
    """Whether the code can contain letters: A to Z without I, L and O."""

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> CodeSettings:
        return cls(
            length=data["length"],
            digits=data["digits"],
            letters=data["letters"],
        )


@dataclass(frozen=True, slots=True)
class ChallengeSettings:
    """``SessionSettingsChallenge`` of the API."""

    enabled: bool
    """Whether this caller has to solve a challenge."""
    api_key: str | None
    """The site key of the challenge provider; for ``altcha`` the URL of its puzzles."""
    provider: ChallengeProvider | None
    """The challenge provider; absent if ``enabled`` is false."""

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> ChallengeSettings:
        return cls(
            enabled=data["enabled"],
            api_key=data.get("api_key"),
            provider=data.get("provider"),
        )


@dataclass(frozen=True, slots=True)
class SessionSettings:
    """``SessionSettings`` of the API."""

    language: str
    """The language of the messages, such as ``en`` or ``de``."""
    project: ProjectSettings
    """The project."""
    code: CodeSettings
    """What the code looks like; for a test login, what its fixed code looks like."""
    challenge: ChallengeSettings
    """Bot protection."""

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> SessionSettings:
        return cls(
            language=data["language"],
            project=ProjectSettings.from_json(data["project"]),
            code=CodeSettings.from_json(data["code"]),
            challenge=ChallengeSettings.from_json(data["challenge"]),
        )


@dataclass(frozen=True, slots=True)
class ChannelDelivery:
    """``ChannelDelivery`` of the API."""

    channel: Channel
    """A channel that the session's code was sent over."""
    status: DeliveryStatus
    """The status of the newest message on this channel."""

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> ChannelDelivery:
        return cls(
            channel=data["channel"],
            status=data["status"],
        )


@dataclass(frozen=True, slots=True)
class SessionDelivery:
    """``SessionDelivery`` of the API."""

    channels: list[ChannelDelivery]
    """The channels, in the order in which they were first tried."""

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> SessionDelivery:
        return cls(
            channels=[ChannelDelivery.from_json(each) for each in data["channels"]],
        )


@dataclass(frozen=True, slots=True)
class SessionMessage:
    """``SessionMessage`` of the API."""

    id: int
    """The message's id."""
    channel: Channel
    """The channel it was sent over."""
    status: MessageStatus
    """The message's status."""
    error: str | None
    """Why it failed or expired, in one sentence; otherwise null."""
    created_at: datetime
    """When it was queued."""
    finished_at: datetime | None
    """When its status became final; null until then."""

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> SessionMessage:
        return cls(
            id=data["id"],
            channel=data["channel"],
            status=data["status"],
            error=data.get("error"),
            created_at=datetime.fromisoformat(data["created_at"]),
            finished_at=datetime.fromisoformat(data["finished_at"]) if data.get("finished_at") else None,
        )


@dataclass(frozen=True, slots=True)
class SessionRecord:
    """``SessionRecord`` of the API."""

    session_id: str
    """The session's id: a ULID, 26 characters in capitals."""
    state: SessionState
    """The session's state."""
    recipient: str | None
    """The full phone number or e-mail address; null after the project's retention has deleted it."""
    channel: Channel | None
    """The channel its code was last sent over; null if none."""
    reference: str | None
    """The ``reference`` that create received, if any."""
    language: str
    """The language of its messages."""
    is_test: bool
    """Whether a test login opened it."""
    attempts: int
    """How many codes were entered, right or wrong."""
    created_at: datetime
    """When it was opened."""
    expires_at: datetime
    """When it expires or was cancelled."""
    verified_at: datetime | None
    """When the right code was entered."""
    redeemed_at: datetime | None
    """When session/verify returned the address."""
    cancelled_at: datetime | None
    """When your server cancelled it."""
    messages: list[SessionMessage]
    """Its messages, oldest first, as long as the project keeps them."""

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> SessionRecord:
        return cls(
            session_id=data["session_id"],
            state=data["state"],
            recipient=data.get("recipient"),
            channel=data.get("channel"),
            reference=data.get("reference"),
            language=data["language"],
            is_test=data["is_test"],
            attempts=data["attempts"],
            created_at=datetime.fromisoformat(data["created_at"]),
            expires_at=datetime.fromisoformat(data["expires_at"]),
            verified_at=datetime.fromisoformat(data["verified_at"]) if data.get("verified_at") else None,
            redeemed_at=datetime.fromisoformat(data["redeemed_at"]) if data.get("redeemed_at") else None,
            cancelled_at=datetime.fromisoformat(data["cancelled_at"]) if data.get("cancelled_at") else None,
            messages=[SessionMessage.from_json(each) for each in data["messages"]],
        )


@dataclass(frozen=True, slots=True)
class SessionList:
    """``SessionList`` of the API."""

    sessions: list[SessionRecord]
    """The sessions, newest first, at most ``limit``."""
    has_more: bool
    """Whether older sessions may follow."""
    after: str | None
    """The value of ``after`` for the next request; null at the end."""

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> SessionList:
        return cls(
            sessions=[SessionRecord.from_json(each) for each in data["sessions"]],
            has_more=data["has_more"],
            after=data.get("after"),
        )


@dataclass(frozen=True, slots=True)
class SessionEventData:
    """``SessionEventData`` of the API."""

    session_id: str | None
    """The session; null for a refused create, which opens no session."""
    reference: str | None
    """The ``reference`` that create received, if any."""
    recipient: str
    """The recipient, mostly masked; the full address if the project allows it in events."""
    channel: Channel | None
    """The channel its code had last been sent over at that moment, if any; with ``session.undelivered`` the …"""
    reason: str | None
    """With ``session.refused``: the rule of the decision log."""
    language: str | None
    """The session's language."""
    is_test: bool
    """Whether a test login opened it."""
    created_at: datetime | None
    """When the session was opened."""
    expires_at: datetime | None
    """When the session expires."""

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> SessionEventData:
        return cls(
            session_id=data.get("session_id"),
            reference=data.get("reference"),
            recipient=data["recipient"],
            channel=data.get("channel"),
            reason=data.get("reason"),
            language=data.get("language"),
            is_test=data["is_test"],
            created_at=datetime.fromisoformat(data["created_at"]) if data.get("created_at") else None,
            expires_at=datetime.fromisoformat(data["expires_at"]) if data.get("expires_at") else None,
        )


@dataclass(frozen=True, slots=True)
class SessionEvent:
    """``SessionEvent`` of the API."""

    type: SessionEventType
    """What happened."""
    timestamp: datetime
    """When it happened."""
    data: SessionEventData
    """The session at that moment."""

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> SessionEvent:
        return cls(
            type=data["type"],
            timestamp=datetime.fromisoformat(data["timestamp"]),
            data=SessionEventData.from_json(data["data"]),
        )


@dataclass(frozen=True, slots=True)
class Event:
    """``Event`` of the API."""

    id: str
    """The same as the ``webhook-id`` of the request."""
    type: str
    """What happened, such as ``session.verified`` or ``message.finished``."""
    timestamp: datetime
    """When it happened."""
    body: dict[str, Any]
    """The body of the request, as your server gets it."""

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Event:
        return cls(
            id=data["id"],
            type=data["type"],
            timestamp=datetime.fromisoformat(data["timestamp"]),
            body=data["body"],
        )


@dataclass(frozen=True, slots=True)
class EventList:
    """``EventList`` of the API."""

    events: list[Event]
    """The events in the order in which they happened, at most ``limit``."""
    after: str
    """The value of ``after`` for the next request."""
    has_more: bool
    """Whether more events follow: repeat the request at once."""

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> EventList:
        return cls(
            events=[Event.from_json(each) for each in data["events"]],
            after=data["after"],
            has_more=data["has_more"],
        )
