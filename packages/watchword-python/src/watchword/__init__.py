"""The client of Watchword: sessions, manual sends, callbacks and envelopes."""

from watchword import problems
from watchword.async_client import AsyncWatchword
from watchword.callbacks import verify_callback, verify_event
from watchword.client import Watchword
from watchword.envelopes import open_envelope
from watchword.errors import (
    CallbackRefused,
    ConnectionFailed,
    EnvelopeRefused,
    Problem,
    TestLoginRefused,
    UnexpectedAnswer,
    WatchwordError,
)
from watchword.types import (
    Channel,
    CheckedCode,
    ErrorCode,
    Event,
    EventList,
    FieldProblem,
    FinishedMessage,
    ManualChannel,
    ManualProvider,
    Message,
    MessageStatus,
    QueuedMessage,
    SentCode,
    Session,
    SessionChannel,
    SessionEvent,
    SessionEventData,
    SessionEventType,
    SessionSettings,
)
from watchword.verified import Verified

__all__ = [
    "AsyncWatchword",
    "CallbackRefused",
    "Channel",
    "CheckedCode",
    "ConnectionFailed",
    "EnvelopeRefused",
    "ErrorCode",
    "Event",
    "EventList",
    "FieldProblem",
    "FinishedMessage",
    "ManualChannel",
    "ManualProvider",
    "Message",
    "MessageStatus",
    "Problem",
    "QueuedMessage",
    "SentCode",
    "Session",
    "SessionChannel",
    "SessionEvent",
    "SessionEventData",
    "SessionEventType",
    "SessionSettings",
    "TestLoginRefused",
    "UnexpectedAnswer",
    "Verified",
    "Watchword",
    "WatchwordError",
    "open_envelope",
    "problems",
    "verify_callback",
    "verify_event",
]
