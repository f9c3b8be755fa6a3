"""Manual sends: a customer's server sends a message of its own and reads what became of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.db import IntegrityError, connection, transaction

from verification import sql
from verification.core import crypto, ids
from verification.core.addresses import Address
from verification.core.crypto import encrypt
from verification.core.errors import ApiError, FieldError, FieldsInvalid
from verification.models import Message, Provider
from verification.services.projects.channel_config import ChannelConfig
from verification.services.projects.snapshot import ProjectConfig
from verification.services.protection import limits
from verification.services.protection.eligibility import refusal_of, require_sending
from verification.services.protection.recipient import policy_for
from verification.services.records import traceparents
from verification.services.sessions.channels import bot_link, usable_channels
from verification.services.sessions.code import generate_code
from verification.services.sessions.request_columns import request_columns
from verification.worker import wake

MANUAL_SECONDS = 600  # life of a manual send: a code that is older than 10 minutes helps nobody who waits for it


@dataclass(frozen=True, slots=True)
class SentMessage:
    """A queued message. ``code`` is plain, for the answer's envelope; the row keeps it encrypted until it is sent."""

    message_id: int
    code: str


@dataclass(frozen=True, slots=True)
class MessageView:
    id: int
    channel: str
    status: str
    error: str | None


def send_message(
    *,
    project: ProjectConfig,
    address: Address,
    channel_type: str,
    provider_id: int | None,
    code: str | None,
    callback_url: str,
    language: str = "",
    request_id: str = "",
) -> SentMessage:
    """Queue a message with the customer's code, or one we draw: digits, in the project's length.

    An empty ``language`` is the recipient's, or the project's.

    Raises :class:`FieldsInvalid` for a provider that is not theirs to use. Raises ``channel_not_available``,
    ``channel_not_active``, ``recipient_not_allowed``, ``too_many_sends``, ``rate_limited`` and ``service_unavailable``
    (sending is stopped).
    """
    limits.count_request(project)
    policy = policy_for(project, address)
    channel = usable_channels(policy, channel_type)[0]
    require_sending(policy, channel_type)
    _require_provider(channel, provider_id)
    code = code or generate_code(project.code_length)
    message_id = ids.generate_message_id()
    row = _queue(
        provider_id,
        message=message_id,
        project=project.id,
        address=address.text,
        forgotten=crypto.forgotten_address(project.id, address.text),
        channel=channel.type,
        messengers=sql.Jsonb(_messenger(channel, provider_id)),
        code_encrypted=encrypt(code, binding=crypto.message_code_binding(message_id)),
        callback_url=callback_url,
        lives_seconds=MANUAL_SECONDS,
        is_test=policy.is_test,
        terms=policy.terms,
        guard=policy.guard_terms(is_manual=True),
        language=language,
        **request_columns(project, request_id, None)._asdict(),
    )
    if row.outcome == "channel_not_active":
        raise ApiError(
            "channel_not_active",
            "The user has not started this messenger's bot. The link of a session leads there.",
            link=bot_link(channel, "", provider_id=provider_id) or channel.link,
        )
    if row.outcome != "queued":
        raise refusal_of(project, row.outcome, row.retry_after, to=address.text, channel=channel.type)
    if not policy.is_test:
        traceparents.store(message_id)
        wake.wake(message_id)
    return SentMessage(message_id, code)


def read_message(*, project: ProjectConfig, message_id: int) -> MessageView:
    """Return the project's manual send with this id. Raises ``message_not_found``, also for a session's message."""
    message = (
        Message.objects.filter(pk=message_id, project_id=project.id, session=None)
        .values_list("pk", "channel", "status", "error")
        .first()
    )
    if message is None:
        raise ApiError("message_not_found")
    return MessageView(*message)


def _require_provider(channel: ChannelConfig, provider_id: int | None) -> None:
    if provider_id is not None and all(provider.id != provider_id for provider in channel.providers):
        raise _unknown_provider()


def _queue(provider_id: int | None, **arguments: Any) -> Any:
    """Write the message. A provider that was deleted since the configuration was read is a wrong field."""
    if provider_id is None:
        return sql.call("queue_manual_message", provider=None, **arguments)
    try:
        with transaction.atomic():
            row = sql.call("queue_manual_message", provider=provider_id, **arguments)
            connection.check_constraints()  # else a transaction around this one would fail when it commits
            return row
    except IntegrityError:
        if Provider.objects.filter(pk=provider_id).exists():
            raise
        raise _unknown_provider() from None


def _unknown_provider() -> FieldsInvalid:
    return FieldsInvalid(FieldError("provider_id", "unknown", "The channel has no enabled provider with this id."))


def _messenger(channel: ChannelConfig, provider_id: int | None) -> dict[str, dict[str, list[int]]]:
    """Name the providers that must reach the recipient: a messenger's, or the one asked for. Other channels need none.

    The form is that of ``p_messengers`` in ``active_messengers``.
    """
    if not channel.is_messenger:
        return {}
    if provider_id is None:
        return {channel.type: channel.reach}
    return {channel.type: {kind: [provider_id] if provider_id in ids else [] for kind, ids in channel.reach.items()}}
