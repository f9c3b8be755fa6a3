"""The rows of those functions whose rows leave the file that calls them: one type for each, named as its columns."""

from __future__ import annotations

from datetime import datetime
from typing import Any, NamedTuple


class ClaimedMessage(NamedTuple):
    """A message under a worker's lease (``claim_messages``), with all that sending it needs."""

    id: int
    project_id: int
    project: dict[str, Any]  # what the text shows of it: its name, code_in_subject, web_otp_domain, android_hash
    channel: str
    address: str
    language: str
    claims: int  # leases so far, this one included; tells this lease from a later one
    lost_leases: int  # leases that ended without a word, as their workers died
    session_id: str | None  # none for a manual send
    session_code: bytes | None
    manual_code: bytes | None
    pinned_provider_id: int | None
    lives_seconds: float
    is_over: bool
    unknown_at: list[int]  # providers that may have sent it
    recipient_id: int
    accounts: dict[str, str]  # the recipient's account at each bot, by the provider's id
    no_account_at: list[int]  # providers that said within a day that the recipient has no account, or opted out
    is_handed_over: bool


class DueFallback(NamedTuple):
    """A session whose code did not arrive in time (``claim_fallback``)."""

    project_id: int
    session_id: str
    channels: list[str]  # over which the code has gone out already
    is_wanted: bool


class DueHandedFallback(NamedTuple):
    """A code of an identity system that did not arrive in time (``claim_handed_fallback``)."""

    message_id: int
    project_id: int
    connection_id: int | None
    first_id: int  # the first message with the code
    address: str
    language: str
    code_encrypted: bytes | None
    lives_seconds: float
    channels: list[str]  # over which the code has gone out already
    is_wanted: bool


class ReportedMessage(NamedTuple):
    """One report of a provider's call that is about a message of ours (``find_reported``)."""

    place: int  # of the report in the call, from 1
    message_id: int


class ProviderLatency(NamedTuple):
    """The latency of a provider within the last hour (``provider_paces``)."""

    provider_id: int
    answers: int
    p99_ms: int | None
    is_late: bool


class DescribedEvent(NamedTuple):
    """An event with all that its body tells (``events_to_tell``, ``claim_events_to_tell``).

    An event of a message has a ``message_id`` and what follows it, and a ``session_id`` if it is a session's. An event
    of a session has a ``session_id`` and what follows that; one of a refused request may have none, and then has the
    masked ``subject``.
    """

    id: int
    project_id: int
    type: str
    created_at: datetime
    url: str  # empty where the project has no address any more
    tries: int
    message_id: int | None
    status: str | None
    error: str | None
    finished_at: datetime | None
    session_id: str | None
    channel: str
    reason: str
    subject: str
    address: str | None
    language: str | None
    is_test: bool | None
    opened_at: datetime | None
    expires_at: datetime | None
    shows_recipient: bool
    reference: str | None  # the session's; empty where its caller gave none


class ClaimedUpdate(NamedTuple):
    """An action of a user in a bot, for a worker to act on (``claim_updates``)."""

    update_id: int
    project_id: int
    tries: int
