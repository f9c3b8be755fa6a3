"""Opening a session, or finding the recipient's live one, and sending its code."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from django.db import transaction

from verification import sql
from verification.core import crypto, ids
from verification.core.addresses import Address
from verification.core.errors import ApiError
from verification.models import Session
from verification.services.projects.channel_config import ChannelConfig
from verification.services.projects.snapshot import ProjectConfig
from verification.services.protection import challenges, limits
from verification.services.protection.eligibility import RecordedRefusals, refusal_of, require_sending
from verification.services.protection.limits import RequestColumns, request_columns
from verification.services.protection.recipient import RecipientPolicy, forget_bot, policy_for
from verification.services.records import traceparents
from verification.services.sessions.channels import ChannelAnswer, session_channels, usable_channels
from verification.services.sessions.code import new_session_code
from verification.services.sessions.lookup import find_open
from verification.services.sessions.send import queue_code
from verification.services.texts.rendering import best_language
from verification.worker import wake


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateOptions:
    """What a caller asks for besides the recipient. With ``send`` the code goes out unless the block still runs.

    ``preferred_languages`` are the user's, as the header ``Accept-Language`` tells them.
    ``challenge_token`` is the caller's answer to a challenge, which works once. Test logins are never asked for one.
    A ``client_address`` of None stands for the customer's own server, which showed a secret key: as in a manual send,
    it is asked for no challenge and bound by no limit per client address. ``reference`` is the caller's own word for
    the session; without one a live session keeps its own.
    """

    client_address: str | None
    channel_type: str | None = None
    send: bool = True
    preferred_languages: str = ""
    challenge_token: str | None = None
    reference: str | None = None
    request_id: str = ""


@dataclass(frozen=True, slots=True)
class OpenedSession:
    """A session as create describes it. ``sent_to`` is None until its code went out over a channel.

    ``is_sent`` tells that this create sent the code, or for a test login would have.
    """

    session_id: str
    expires_at: datetime
    sent_to: str | None
    channels: list[ChannelAnswer]
    is_sent: bool


def create_session(project: ProjectConfig, address: Address, options: CreateOptions) -> OpenedSession:
    """Return the recipient's live session, or open one, and send its code.

    Raises ``challenge_required``, ``challenge_failed``, ``challenge_unavailable``, ``channel_not_available``,
    ``recipient_not_allowed``, ``too_many_attempts``, ``too_many_sends`` and ``service_unavailable`` (sending is
    stopped). Raises ``rate_limited`` for the client address, the project's second, or a spent budget of the day.
    """
    recipient = policy_for(project, address, client_address=options.client_address)
    with RecordedRefusals(project, to=address.text):
        channels, used_answer = _admit(recipient, options)
        columns = request_columns(project, options.request_id, options.client_address)
        row = _open_or_find(recipient, options, channels, used_answer, columns)
        is_renewed = row.outcome == "renew"
        if is_renewed:
            # A code is bound to the id of its session, and only now is it known that this one was open already. So its
            # new code is sent as a re-send, and the session is read anew: three more round trips, for
            # `new_code_on_send`.
            is_renewed = _renew(recipient, row, columns)
            row = _open_or_find(recipient, replace(options, send=False), channels, None, columns)
        if row.outcome == "too_many_attempts" and options.challenge_token is None:
            challenges.ask(recipient)
        if row.outcome != "opened":
            raise refusal_of(project, row.outcome, row.retry_after, to=address.text, channel=row.sent_to)
        if row.message_id is not None:
            traceparents.store(row.message_id)
            wake.wake(row.message_id)
        return OpenedSession(
            session_id=row.session_id,
            expires_at=row.expires_at,
            sent_to=row.sent_to,
            channels=session_channels(
                project.channels_for(address.kind),
                blocks=row.blocks,
                active=row.active,
                link_payload=row.link_payload,
            ),
            is_sent=is_renewed or row.message_id is not None or (options.send and recipient.is_test),
        )


def _admit(recipient: RecipientPolicy, options: CreateOptions) -> tuple[list[ChannelConfig], bytes | None]:
    """Return the channels that the code may go over, and the digest of a challenge's answer that is to be used up.

    The order of the refusals is part of the API. Raises those that need no look at the recipient's rows.
    """
    project, over_limit, is_asked = recipient.project, None, False
    if options.client_address is not None:
        # Asked before this create is counted: a caller is over the limit when one more would be too many.
        is_asked = challenges.is_asked(recipient)
        # Counted before the recipient is judged: refused creates count too, or lists could be probed without a limit.
        over_limit = limits.count_create(project, options.client_address)
    if over_limit and project.challenge is None:
        raise over_limit
    limits.count_request(project)
    channels = usable_channels(recipient, options.channel_type)
    if options.send:
        require_sending(recipient, channels[0].type)
    # Verified after all refusals that need no vendor, so that none of them costs the caller an answer.
    is_asked = is_asked or over_limit is not None
    used_answer = challenges.verify(recipient, options.challenge_token, is_asked=is_asked)
    # A passed challenge lifts the limit. A vendor that is away lifts nothing, even where the project lets callers in.
    if over_limit and used_answer is None:
        raise over_limit
    if recipient.sandbox.forgets_bot:
        forget_bot(project, recipient.address.text)
    return channels, used_answer


def _open_or_find(
    recipient: RecipientPolicy,
    options: CreateOptions,
    channels: list[ChannelConfig],
    used_answer: bytes | None,
    columns: RequestColumns,
) -> Any:
    if options.reference is None:
        return _call(recipient, options, channels, used_answer, columns)
    # In one transaction, so that no event of the session is told without it.
    with transaction.atomic():
        row = _call(recipient, options, channels, used_answer, columns)
        if row.outcome == "opened":
            Session.objects.filter(pk=row.session_id).exclude(reference=options.reference).update(
                reference=options.reference
            )
    return row


def _call(
    recipient: RecipientPolicy,
    options: CreateOptions,
    channels: list[ChannelConfig],
    used_answer: bytes | None,
    columns: RequestColumns,
) -> Any:
    project, address = recipient.project, recipient.address
    new = new_session_code(recipient)
    return sql.call(
        "open_session",
        project=project.id,
        address=address.text,
        forgotten=crypto.forgotten_address(project.id, address.text),
        session=new.session_id,
        code_digest=new.digest,
        code_encrypted=new.encrypted,
        code_length=new.settings.length,
        code_digits=new.settings.digits,
        code_letters=new.settings.letters,
        attempts_max=recipient.attempts_max(new.settings.length),
        link_payload=ids.generate_link_payload(),
        lives_seconds=recipient.session_seconds,
        language=best_language(options.preferred_languages, project.languages),
        test_login=new.test_login,
        challenge=used_answer,
        send=options.send,
        type=options.channel_type,
        channels=[channel.type for channel in channels],
        message=ids.generate_message_id(),
        terms=recipient.terms,
        guard=recipient.guard_terms(),
        **columns._asdict(),
    )


def _renew(recipient: RecipientPolicy, row: Any, columns: RequestColumns) -> bool:
    """Send a new code of the session, unless another caller has just done so. Return whether it was sent."""
    project = recipient.project
    try:
        queue_code(recipient, find_open(project, row.session_id), project.channels[row.sent_to], columns)
    except ApiError as refusal:
        if refusal.problem_code != "channel_timeout":
            raise
        return False
    return True
