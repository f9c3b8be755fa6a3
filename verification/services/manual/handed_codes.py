"""Codes that an identity system hands over: messages as all others, over the channel that suits the recipient."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from verification import sql
from verification.core import crypto, ids
from verification.core.addresses import Address, mask
from verification.core.crypto import encrypt
from verification.core.errors import ApiError, DecisionRecord
from verification.services.manual.messages import MANUAL_SECONDS
from verification.services.projects.channel_config import ChannelConfig
from verification.services.projects.snapshot import ProjectConfig
from verification.services.protection import limits
from verification.services.protection.eligibility import refusal_of, require_sending
from verification.services.protection.recipient import RecipientPolicy, policy_for
from verification.services.records import decisions, traceparents
from verification.services.sessions.channels import usable_channels
from verification.services.sessions.request_columns import request_columns
from verification.services.texts.rendering import best_language
from verification.worker import wake


@dataclass(frozen=True, slots=True, kw_only=True)
class HandedCode:
    """A code and where it goes. ``channel_type`` of None has the channel chosen, as for a session.

    ``language`` is written as in ``Accept-Language``; empty, it is the recipient's or the project's. ``client_address``
    is the end user's where the system tells it; None where it does not. ``fallback_of`` is the first message with this
    code, and ``lives_seconds`` what is left of the code's life.
    """

    connection_id: int | None
    address: Address
    code: str
    channel_type: str | None = None
    language: str = ""
    client_address: str | None = None
    fallback_of: int | None = None
    lives_seconds: float = MANUAL_SECONDS


def send_handed_code(project: ProjectConfig, handed: HandedCode, *, request_id: str = "") -> int:
    """Queue the message, and return its id. What binds a session's sends binds it, but no challenge can be asked.

    Raises ``channel_not_available``, ``channel_not_active``, ``recipient_not_allowed``, ``too_many_sends``,
    ``rate_limited`` and ``service_unavailable`` (sending is stopped).
    """
    policy = policy_for(project, handed.address, client_address=handed.client_address)
    if handed.client_address is not None and (refusal := limits.count_create(project, handed.client_address)):
        raise refusal
    if handed.fallback_of is None:
        limits.count_request(project)
    channels = usable_channels(policy, handed.channel_type)
    able = [channel for channel in channels if channel.carries(handed.code)]
    if not able:
        raise _no_channel(policy, channels)
    require_sending(policy, able[0].type)
    message_id, row = _queue(policy, handed, able, request_id)
    if row.outcome == "channel_not_active":
        raise ApiError("channel_not_active", "The user has not started this messenger's bot.")
    if row.outcome != "queued":
        raise refusal_of(project, row.outcome, row.retry_after, to=handed.address.text, channel=row.channel)
    if channels[0] not in able and row.channel == able[0].type:  # else the recipient's own channel came before it
        _note_passed_over(policy, channels[0])
    if not policy.is_test:
        traceparents.store(message_id)
        wake.wake(message_id)
    return message_id


def _queue(
    policy: RecipientPolicy, handed: HandedCode, channels: list[ChannelConfig], request_id: str
) -> tuple[int, Any]:
    project, to = policy.project, handed.address.text
    message_id = ids.generate_message_id()
    row = sql.call(
        "queue_handed_code",
        message=message_id,
        project=project.id,
        address=to,
        forgotten=crypto.forgotten_address(project.id, to),
        channels=[channel.type for channel in channels],
        connection=handed.connection_id,
        fallback_of=handed.fallback_of,
        code_encrypted=encrypt(handed.code, binding=crypto.message_code_binding(message_id)),
        lives_seconds=handed.lives_seconds,
        is_test=policy.is_test,
        terms=policy.terms,
        guard=policy.guard_terms(is_handed=True),
        language=best_language(handed.language, project.languages) or "",
        **request_columns(project, request_id, handed.client_address)._asdict(),
    )
    return message_id, row


def _no_channel(policy: RecipientPolicy, channels: list[ChannelConfig]) -> ApiError:
    figures = {"channels": [channel.type for channel in channels]}
    subject = mask(policy.address.text)
    decision = DecisionRecord(policy.project.id, "no_channel_for_code", subject, figures)
    return ApiError(
        "channel_not_available", "None of the project's channels can send this type of code.", decision=decision
    )


def _note_passed_over(policy: RecipientPolicy, channel: ChannelConfig) -> None:
    """Note that the first channel takes no such code, where an owner who looks for it there will find it."""
    decisions.record(
        project_id=policy.project.id,
        rule="code_form",
        subject=mask(policy.address.text),
        figures={"channel": channel.type},
        is_refusal=False,
    )
