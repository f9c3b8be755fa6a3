"""Describes a session for the API: its channels, its deliveries and its settings."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from verification import sql
from verification.models import Message, MessageStatus
from verification.services.projects.snapshot import ChallengeConfig, ProjectConfig
from verification.services.protection import challenges
from verification.services.protection.recipient import policy_for
from verification.services.sessions.channels import ChannelAnswer, session_channels
from verification.services.sessions.code import CodeSettings
from verification.services.sessions.lookup import find_live
from verification.services.texts.rendering import best_language


class Delivery(StrEnum):
    """What the user's side is told of a message: in few words, so that they tell little of a stranger's number."""

    PENDING = "pending"
    SENT = "sent"
    DELIVERED = "delivered"
    FAILED = "failed"


_DELIVERIES = {
    MessageStatus.QUEUED: Delivery.PENDING,
    MessageStatus.SENDING: Delivery.PENDING,
    MessageStatus.SENT: Delivery.SENT,
    MessageStatus.SUCCESS: Delivery.DELIVERED,
    MessageStatus.FAILED: Delivery.FAILED,
    MessageStatus.EXPIRED: Delivery.FAILED,
}


@dataclass(frozen=True, slots=True)
class DeliveryAnswer:
    channel: str
    status: Delivery


@dataclass(frozen=True, slots=True)
class SettingsAnswer:
    language: str
    project_name: str
    code: CodeSettings
    challenge: ChallengeConfig | None


def describe_channels(*, project: ProjectConfig, session_id: str) -> list[ChannelAnswer]:
    """Describe the channels for this session's recipient. A session locked by wrong codes is described too."""
    session = find_live(project, session_id)
    channels = project.channels_for(session.address.kind)
    view = sql.call(
        "view_channels",
        recipient=session.recipient_id,
        messengers=sql.Jsonb(project.messengers_for(session.address.kind)),
    )
    find_live(project, session_id)  # else a session that ended meanwhile would show the blocks of the next one
    return session_channels(channels, blocks=view.blocks, active=view.active, link_payload=session.link_payload)


def describe_delivery(*, project: ProjectConfig, session_id: str) -> list[DeliveryAnswer]:
    """Tell what became of the code over each channel that it went over, by the newest message there.

    A session locked by wrong codes is described too.
    """
    find_live(project, session_id)
    rows = Message.objects.filter(session_id=session_id).order_by("created_at")
    newest: dict[str, Delivery] = {}
    for channel, status, sent_at in rows.values_list("channel", "status", "sent_at"):
        # A receipt that did not come in time tells nothing: the code may have arrived.
        is_unconfirmed = status == MessageStatus.EXPIRED and sent_at is not None
        newest[channel] = Delivery.SENT if is_unconfirmed else _DELIVERIES[MessageStatus(status)]
    return [DeliveryAnswer(*each) for each in newest.items()]


def describe_settings(
    *, project: ProjectConfig, session_id: str | None, preferred_languages: str, client_address: str
) -> SettingsAnswer:
    """Return the settings of the project, or of a session. A session locked by wrong codes is described too.

    They include a challenge only where this caller would be asked for one.
    """
    if session_id is None:
        is_required = challenges.is_required_for_any_recipient(project, client_address)
        return SettingsAnswer(
            language=best_language(preferred_languages, project.languages) or project.language,
            project_name=project.name,
            code=CodeSettings(project.code_length, project.code_digits, project.code_letters),
            challenge=project.challenge if is_required else None,
        )
    session = find_live(project, session_id)
    policy = policy_for(project, session.address, client_address=client_address, is_test=session.is_test)
    demand = challenges.demand(policy, sends=False)
    return SettingsAnswer(
        language=session.language,
        project_name=project.name,
        code=session.code,
        challenge=policy.challenge if demand is challenges.Demand.EVERYBODY else None,
    )
