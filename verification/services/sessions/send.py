"""Sending the code of an open session again."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from verification import sql
from verification.core import ids
from verification.core.errors import ApiError
from verification.services.notifications.undelivered import note_refused
from verification.services.projects.channel_config import ChannelConfig
from verification.services.projects.snapshot import ProjectConfig
from verification.services.protection import challenges, simulation
from verification.services.protection.eligibility import refusal_of, require_not_stopped
from verification.services.protection.guard import judge
from verification.services.records import traceparents
from verification.services.sessions.channels import SessionChannel, bot_link, session_channel, usable_channels
from verification.services.sessions.code import replacement_code
from verification.services.sessions.found import FoundSession, find_open, note_session_refusal
from verification.services.sessions.origin import OUR_OWN, Origin, origin_of
from verification.worker import wake


@dataclass(frozen=True, slots=True)
class SentCode:
    session_id: str
    expires_at: datetime
    channel: SessionChannel


def resend_code(
    *,
    project: ProjectConfig,
    session_id: str,
    channel_type: str,
    challenge_token: str | None,
    client_address: str,
    request_id: str = "",
) -> SentCode:
    """Send the session's code again, over ``channel_type``. ``challenge_token`` is as in :func:`create_session`.

    Raises what a session that is not open raises, ``challenge_required``, ``challenge_failed``,
    ``challenge_unavailable``, ``channel_not_available``, ``recipient_not_allowed``, ``channel_not_active`` (with
    ``link``), ``too_many_attempts``, ``channel_timeout``, ``too_many_sends``, ``rate_limited`` and
    ``service_unavailable``.
    """
    session = find_open(project, session_id)
    try:
        return _resend(project, session, channel_type, challenge_token, client_address, request_id)
    except ApiError as refusal:
        note_refused(project, refusal, to=session.address.text, session_id=session.id)
        raise


def _resend(
    project: ProjectConfig,
    session: FoundSession,
    channel_type: str,
    challenge_token: str | None,
    client_address: str,
    request_id: str,
) -> SentCode:
    channel = _channel_for(session, project, channel_type, client_address)
    used_answer = None
    if not session.is_test:
        is_asked = challenges.is_asked(project, session.address, client_address)
        used_answer = challenges.verify(
            project, session.address, challenge_token, is_asked=is_asked, client_address=client_address
        )
    row = queue_code(
        project,
        session,
        channel,
        origin_of(project, request_id, client_address),
        used_answer=used_answer,
        may_ask=not session.is_test and challenge_token is None,
    )
    return SentCode(
        session_id=session.id,
        expires_at=row.expires_at,
        channel=session_channel(channel, blocks=row.blocks, active=row.active, link_payload=session.link_payload),
    )


def send_on_our_own(*, project: ProjectConfig, session_id: str, channel_type: str) -> None:
    """Send the session's code again without a caller, so nobody is asked for a challenge. Raises as a re-send does."""
    session = find_open(project, session_id)
    queue_code(project, session, _channel_for(session, project, channel_type), OUR_OWN)


def _channel_for(
    session: FoundSession, project: ProjectConfig, channel_type: str, client_address: str = ""
) -> ChannelConfig:
    try:
        usable = usable_channels(
            project, session.address, channel_type, is_test=session.is_test, client_address=client_address
        )
        if not session.is_test:
            require_not_stopped(project)
            simulation.refuse(project, session.address.text, channel_type)
    except ApiError as refusal:
        if refusal.decision is not None:
            note_session_refusal(session.id, refusal.decision.rule)
        raise
    return usable[0]


def queue_code(
    project: ProjectConfig,
    session: FoundSession,
    channel: ChannelConfig,
    origin: Origin,
    *,
    used_answer: bytes | None = None,
    may_ask: bool = False,
) -> Any:
    """Queue the code over ``channel`` and wake a worker, or raise the refusal.

    ``may_ask``: after too many wrong codes, ask the caller for a challenge. That helps only one who has sent no answer.
    """
    new = None
    if project.new_code_on_send and not session.is_test:
        new = replacement_code(project, session.address, session.id, session.code)
    row = sql.call(
        "send_code",
        project=project.id,
        session=session.id,
        channel=channel.type,
        message=ids.generate_message_id(),
        code_digest=new and new.digest,
        code_encrypted=new and new.encrypted,
        challenge=used_answer,
        terms=project.terms_for(session.address.text),
        guard=judge.guard_terms(project, session.address.text, session.address.country),
        **origin._asdict(),
    )
    if row.outcome == "channel_not_active":
        raise ApiError(
            "channel_not_active",
            link=bot_link(channel, session.link_payload) or channel.link,
        )
    if row.outcome == "too_many_attempts" and may_ask:
        challenges.ask(project)
    if row.outcome != "queued":
        raise refusal_of(project, row.outcome, row.retry_after, to=session.address.text, channel=channel.type)
    if row.message_id is not None:
        traceparents.keep(row.message_id)
        wake.wake(row.message_id)
    return row
