"""Sending the code of an open session again."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from verification import sql
from verification.core import ids
from verification.core.errors import ApiError
from verification.services.projects.channel_config import ChannelConfig
from verification.services.projects.snapshot import ProjectConfig
from verification.services.protection import challenges
from verification.services.protection.eligibility import recorded_refusals, refusal_of, require_sending
from verification.services.protection.recipient import RecipientPolicy, policy_for
from verification.services.records import traceparents
from verification.services.sessions.channels import ChannelAnswer, bot_link, session_channel, usable_channels
from verification.services.sessions.code import replacement_code
from verification.services.sessions.lookup import FoundSession, find_open, record_session_refusal
from verification.services.sessions.request_columns import NO_REQUEST, RequestColumns, request_columns
from verification.worker import wake


@dataclass(frozen=True, slots=True)
class SentCode:
    session_id: str
    expires_at: datetime
    channel: ChannelAnswer


@dataclass(frozen=True, slots=True, kw_only=True)
class ResendOptions:
    """What a caller asks for besides the session. ``challenge_token`` is as in :class:`~.create.CreateOptions`."""

    channel_type: str
    client_address: str
    challenge_token: str | None = None
    request_id: str = ""


def resend_code(project: ProjectConfig, session_id: str, options: ResendOptions) -> SentCode:
    """Send the session's code again.

    Raises what a session that is not open raises, ``challenge_required``, ``challenge_failed``,
    ``challenge_unavailable``, ``channel_not_available``, ``recipient_not_allowed``, ``channel_not_active`` (with
    ``link``), ``too_many_attempts``, ``channel_timeout``, ``too_many_sends``, ``rate_limited`` and
    ``service_unavailable``.
    """
    session = find_open(project, session_id)
    policy = policy_for(project, session.address, client_address=options.client_address, is_test=session.is_test)
    with recorded_refusals(project, to=session.address.text, session_id=session.id):
        channel = _channel_for(policy, session, options.channel_type)
        demand = challenges.demand(policy, sends=True)
        is_spared = demand is challenges.Demand.UNLESS_SENT and options.challenge_token is None
        is_required = demand is not challenges.Demand.NOBODY and not is_spared
        used_answer = challenges.verify(policy, options.challenge_token, is_required=is_required)
        row = queue_code(
            policy,
            session,
            channel,
            request_columns(project, options.request_id, options.client_address),
            used_answer=used_answer,
            may_ask=options.challenge_token is None,
            is_spared=is_spared,
        )
        return SentCode(
            session_id=session.id,
            expires_at=row.expires_at,
            channel=session_channel(channel, blocks=row.blocks, active=row.active, link_payload=session.link_payload),
        )


def resend_automatically(
    *, project: ProjectConfig, session_id: str, channel_type: str, keeps_code: bool = False
) -> None:
    """Send the session's code again without a caller, so nobody is asked for a challenge. Raises as a re-send does.

    ``keeps_code``: also where the project draws a new code for each send.
    """
    session = find_open(project, session_id)
    policy = policy_for(project, session.address, is_test=session.is_test)
    queue_code(policy, session, _channel_for(policy, session, channel_type), NO_REQUEST, keeps_code=keeps_code)


def _channel_for(policy: RecipientPolicy, session: FoundSession, channel_type: str) -> ChannelConfig:
    try:
        usable = usable_channels(policy, channel_type)
        require_sending(policy, channel_type)
    except ApiError as refusal:
        if refusal.decision is not None:
            record_session_refusal(session.id, refusal.decision.rule)
        raise
    return usable[0]


def queue_code(
    policy: RecipientPolicy,
    session: FoundSession,
    channel: ChannelConfig,
    columns: RequestColumns,
    *,
    used_answer: bytes | None = None,
    may_ask: bool = False,
    is_spared: bool = False,
    keeps_code: bool = False,
) -> Any:
    """Queue the code over ``channel`` and wake a worker, or raise the refusal.

    ``keeps_code``: as in :func:`resend_automatically`.
    ``is_spared``: the caller is asked for a challenge unless the code goes out.
    ``may_ask``: after too many wrong codes, ask the caller for a challenge. That helps only one who has sent no answer.
    """
    project = policy.project
    new = None
    if project.new_code_on_send and not keeps_code and not session.is_test:
        new = replacement_code(policy, session.id, session.code)
    row = sql.call(
        "send_code",
        project=project.id,
        session=session.id,
        channel=channel.type,
        message=ids.generate_message_id(),
        code_digest=new and new.digest,
        code_encrypted=new and new.encrypted,
        challenge=used_answer,
        terms=policy.terms,
        guard=policy.guard_terms(),
        **columns._asdict(),
    )
    if is_spared and row.outcome != "queued":
        challenges.ask(policy)
    if row.outcome == "channel_not_active":
        raise ApiError(
            "channel_not_active",
            link=bot_link(channel, session.link_payload) or channel.link,
        )
    if row.outcome == "too_many_attempts" and may_ask:
        challenges.ask(policy)
    if row.outcome != "queued":
        raise refusal_of(project, row.outcome, row.retry_after, to=policy.address.text, channel=channel.type)
    if row.message_id is not None:
        traceparents.store(row.message_id)
        wake.wake(row.message_id)
    return row
