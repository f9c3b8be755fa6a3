"""Opening a session, or finding the recipient's live one, and sending its code."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, NamedTuple

from django.db import transaction

from verification import sql
from verification.core import crypto, ids
from verification.core.addresses import Address
from verification.core.errors import ApiError
from verification.models import Session
from verification.services.projects.channel_config import ChannelConfig
from verification.services.projects.snapshot import ProjectConfig
from verification.services.protection import challenges, limits
from verification.services.protection.eligibility import recorded_refusals, refusal_of, require_sending
from verification.services.protection.recipient import RecipientPolicy, forget_bot, policy_for
from verification.services.records import traceparents
from verification.services.sessions.channels import ChannelAnswer, session_channels, usable_channels
from verification.services.sessions.code import new_session_code
from verification.services.sessions.lookup import find_open
from verification.services.sessions.request_columns import RequestColumns, request_columns
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


@dataclass(frozen=True, slots=True)
class _AdmittedCreate:
    """A create that only the recipient's rows may still refuse, with all that ``open_session`` is told of it.

    The code may go over ``channels``, in this order. ``used_answer`` is the digest of a challenge's answer that is to
    be used up. ``is_spared``: the caller is asked for a challenge unless the code goes out.
    """

    policy: RecipientPolicy
    options: CreateOptions
    channels: list[ChannelConfig]
    columns: RequestColumns
    used_answer: bytes | None
    is_spared: bool


class _SessionRow(NamedTuple):
    """What ``open_session`` returns. After a refusal only its outcome, the wait and the channel are of use."""

    outcome: str
    retry_after: int | None
    session_id: str
    expires_at: datetime
    sent_to: str | None
    message_id: int | None
    blocks: dict[str, int]
    active: list[str]
    link_payload: str


def create_session(project: ProjectConfig, address: Address, options: CreateOptions) -> OpenedSession:
    """Return the recipient's live session, or open one, and send its code.

    Raises ``challenge_required``, ``challenge_failed``, ``challenge_unavailable``, ``channel_not_available``,
    ``recipient_not_allowed``, ``too_many_attempts``, ``too_many_sends`` and ``service_unavailable`` (sending is
    stopped). Raises ``rate_limited`` for the client address, the project's second, or a spent budget of the day.
    """
    policy = policy_for(project, address, client_address=options.client_address)
    with recorded_refusals(project, to=address.text):
        create = _admit(policy, options)
        row = _open_or_find(create)
        is_code_renewed = False
        if row.outcome == "renew":
            # A code is bound to the id of its session, and only now is it known that this one was open already. So its
            # new code is sent as a re-send, and the session is read anew: three more round trips, for
            # `new_code_on_send`.
            is_code_renewed = _renew(create, row)
            unsent = replace(options, send=False)
            row = _open_or_find(replace(create, options=unsent, used_answer=None, is_spared=False))
        if row.outcome == "too_many_attempts" and options.challenge_token is None:
            challenges.ask(policy)
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
            is_sent=is_code_renewed or row.message_id is not None or (options.send and policy.is_test),
        )


def _admit(policy: RecipientPolicy, options: CreateOptions) -> _AdmittedCreate:
    """Return what ``open_session`` is told, or raise a refusal that needs no look at the recipient's rows.

    The order of the refusals is part of the API.
    """
    project, refusal, demand = policy.project, None, challenges.Demand.NOBODY
    if options.client_address is not None:
        # Asked before this create is counted: a caller is over the limit when one more would be too many.
        demand = challenges.demand(policy, sends=options.send)
        # Counted before the recipient is judged: refused creates count too, or lists could be probed without a limit.
        refusal = limits.count_create(project, options.client_address)
    if refusal and project.challenge is None:
        raise refusal
    limits.count_request(project)
    channels = usable_channels(policy, options.channel_type)
    if options.send:
        require_sending(policy, channels[0].type)
    # Verified after all refusals that need no vendor, so that none of them costs the caller an answer.
    is_spared = demand is challenges.Demand.UNLESS_SENT and options.challenge_token is None and refusal is None
    is_required = refusal is not None or demand is not challenges.Demand.NOBODY and not is_spared
    used_answer = challenges.verify(policy, options.challenge_token, is_required=is_required)
    # A passed challenge lifts the limit. A vendor that is away lifts nothing, even where the project lets callers in.
    if refusal and used_answer is None:
        raise refusal
    if policy.sandbox.forgets_bot:
        forget_bot(project, policy.address.text)
    columns = request_columns(project, options.request_id, options.client_address)
    return _AdmittedCreate(policy, options, channels, columns, used_answer, is_spared)


def _open_or_find(create: _AdmittedCreate) -> _SessionRow:
    """Return the row of ``open_session``, which opens a session or finds the live one, and queues its message."""
    arguments, reference = _arguments(create), create.options.reference
    if reference is None and not create.is_spared:
        (found,) = sql.call_many(_SessionRow, "open_session", **arguments)
        return found
    # In one transaction: no event of the session is told without its reference, and nothing of a create stays written
    # that is asked for a challenge after all.
    with transaction.atomic():
        (row,) = sql.call_many(_SessionRow, "open_session", **arguments)
        if create.is_spared and row.message_id is None and row.outcome != "renew":
            challenges.ask(create.policy)
        if reference is not None and row.outcome == "opened":
            Session.objects.filter(pk=row.session_id).exclude(reference=reference).update(reference=reference)
    return row


def _arguments(create: _AdmittedCreate) -> dict[str, Any]:
    """Return what ``open_session`` is called with: a code and ids newly drawn, which it drops if a session is live."""
    policy, options = create.policy, create.options
    project, address, new = policy.project, policy.address, new_session_code(policy)
    return {
        "project": project.id,
        "address": address.text,
        # What stands in place of the address for a day after an erasure: one who comes back keeps that day's counts.
        "forgotten": crypto.forgotten_address(project.id, address.text),
        "session": new.session_id,
        "code_digest": new.digest,
        "code_encrypted": new.encrypted,
        "code_length": new.settings.length,
        "code_digits": new.settings.digits,
        "code_letters": new.settings.letters,
        "attempts_max": policy.attempts_max(new.settings.length),
        "link_payload": ids.generate_link_payload(),
        "lives_seconds": policy.session_seconds,
        "language": best_language(options.preferred_languages, project.languages),
        "test_login": new.test_login,
        "challenge": create.used_answer,
        "send": options.send,
        "type": options.channel_type,
        "channels": [channel.type for channel in create.channels],
        "message": ids.generate_message_id(),
        "terms": policy.terms,
        "guard": policy.guard_terms(),
        **create.columns._asdict(),
    }


def _renew(create: _AdmittedCreate, row: _SessionRow) -> bool:
    """Send a new code of the session, unless another caller has just done so. Return whether it was sent."""
    policy, project = create.policy, create.policy.project
    assert row.sent_to is not None  # a session whose code is renewed has a channel
    try:
        queue_code(policy, find_open(project, row.session_id), project.channels[row.sent_to], create.columns)
    except ApiError as refusal:
        if create.is_spared:
            challenges.ask(policy)
        if refusal.problem_code != "channel_timeout":
            raise
        return False
    return True
