"""Opening a session, or finding the recipient's live one, and sending its code."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from verification import sql
from verification.core import ids, pseudonyms
from verification.core.addresses import Address
from verification.core.codes import WRONG_CODES_THAT_LOCK
from verification.core.errors import ApiError
from verification.services.notifications.undelivered import note_refused
from verification.services.projects.channel_config import ChannelConfig
from verification.services.projects.snapshot import ProjectConfig
from verification.services.protection import challenges, limits, simulation
from verification.services.protection.eligibility import refusal_of, require_not_stopped
from verification.services.protection.guard import judge
from verification.services.records import traceparents
from verification.services.sessions.channels import SessionChannel, session_channels, usable_channels
from verification.services.sessions.code import new_session_code
from verification.services.sessions.found import find_open
from verification.services.sessions.origin import Origin, origin_of
from verification.services.sessions.send import queue_code
from verification.services.texts.rendering import best_language
from verification.worker import wake

SESSION_SECONDS = 180  # life of a session: time for a code to arrive and be typed, and little for guessing


@dataclass(frozen=True, slots=True)
class OpenedSession:
    """A session as create describes it. ``sent_to`` is None until its code went out over a channel.

    ``is_sent`` tells that this create sent the code, or for a test login would have.
    """

    session_id: str
    expires_at: datetime
    sent_to: str | None
    channels: list[SessionChannel]
    is_sent: bool


def create_session(
    *,
    project: ProjectConfig,
    address: Address,
    channel_type: str | None,
    send: bool,
    accept_language: str,
    challenge_token: str | None,
    client_address: str | None,
    request_id: str = "",
) -> OpenedSession:
    """Return the recipient's live session, or open one. With ``send`` its code goes out unless the block still runs.

    ``challenge_token`` is the caller's answer to a challenge, which works once. Test logins are never asked for one.
    A ``client_address`` of None stands for the customer's own server, which showed a secret key: as in a manual send,
    it is asked for no challenge and bound by no limit per client address.

    Raises ``challenge_required``, ``challenge_failed``, ``challenge_unavailable``, ``channel_not_available``,
    ``recipient_not_allowed``, ``too_many_attempts``, ``too_many_sends`` and ``service_unavailable`` (sending is
    stopped). Raises ``rate_limited`` for the client address, the project's second, or a spent budget of the day.
    """
    try:
        return _create(
            project, address, channel_type, send, accept_language, challenge_token, client_address, request_id
        )
    except ApiError as refusal:
        note_refused(project, refusal, to=address.text)
        raise


def _create(
    project: ProjectConfig,
    address: Address,
    channel_type: str | None,
    send: bool,
    accept_language: str,
    challenge_token: str | None,
    client_address: str | None,
    request_id: str,
) -> OpenedSession:
    is_test = address.text in project.test_logins
    may_ask = not is_test and client_address is not None
    is_asked, over_limit = False, None
    if client_address is not None:
        # Asked before this create is counted: a caller is over the limit when one more would be too many.
        is_asked = may_ask and challenges.is_asked(project, address, client_address)
        # Counted before the recipient is judged: refused creates count too, or lists could be probed without a limit.
        over_limit = limits.count_create(project, client_address)
    if over_limit and project.challenge is None:
        raise over_limit
    limits.count_request(project)
    channels = usable_channels(project, address, channel_type, is_test=is_test, client_address=client_address or "")
    if send and not is_test:
        require_not_stopped(project)
        simulation.refuse(project, address.text, channels[0].type)
    # Verified after all refusals that need no vendor, so that none of them costs the caller an answer.
    used_answer = None
    if may_ask:
        used_answer = challenges.verify(
            project,
            address,
            challenge_token,
            is_asked=is_asked or over_limit is not None,
            client_address=client_address or "",
        )
    # A passed challenge lifts the limit. A vendor that is away lifts nothing, even where the project lets callers in.
    if over_limit and used_answer is None:
        raise over_limit
    simulation.forget_bot(project, address.text)
    origin = origin_of(project, request_id, client_address)
    row = _open_or_find(
        project, address, channel_type, channels, used_answer, origin, send=send, accept_language=accept_language
    )
    is_renewed = row.outcome == "renew"
    if is_renewed:
        # A code is bound to the id of its session, and only now is it known that this one was open already. So its new
        # code is sent as a re-send, and the session is read anew: three more round trips, for `new_code_on_send`.
        is_renewed = _renew(project, row, origin)
        row = _open_or_find(
            project, address, channel_type, channels, None, origin, send=False, accept_language=accept_language
        )
    if row.outcome == "too_many_attempts" and may_ask and challenge_token is None:
        challenges.ask(project)
    if row.outcome != "opened":
        raise refusal_of(project, row.outcome, row.retry_after, to=address.text, channel=row.sent_to)
    if row.message_id is not None:
        traceparents.keep(row.message_id)
        wake.wake(row.message_id)
    return _opened(project, address, row, is_sent=is_renewed or row.message_id is not None or (send and is_test))


def _opened(project: ProjectConfig, address: Address, row: Any, *, is_sent: bool) -> OpenedSession:
    """Describe the session that ``open_session`` has opened or found."""
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
        is_sent=is_sent,
    )


def _open_or_find(
    project: ProjectConfig,
    address: Address,
    channel_type: str | None,
    channels: list[ChannelConfig],
    used_answer: bytes | None,
    origin: Origin,
    *,
    send: bool,
    accept_language: str,
) -> Any:
    new = new_session_code(project, address)
    return sql.call(
        "open_session",
        project=project.id,
        address=address.text,
        forgotten=pseudonyms.forgotten(project.id, address.text),
        session=new.session_id,
        code_digest=new.digest,
        code_encrypted=new.encrypted,
        code_length=new.settings.length,
        code_digits=new.settings.digits,
        code_letters=new.settings.letters,
        attempts_max=simulation.attempts_max(project, address.text, WRONG_CODES_THAT_LOCK[new.settings.length]),
        link_payload=ids.generate_link_payload(),
        lives_seconds=simulation.lives_seconds(project, address.text, SESSION_SECONDS),
        language=best_language(accept_language, project.languages),
        test_login=new.test_login,
        challenge=used_answer,
        send=send,
        type=channel_type,
        channels=[channel.type for channel in channels],
        message=ids.generate_message_id(),
        terms=project.terms_for(address.text),
        guard=judge.guard_terms(project, address.text, address.country),
        **origin._asdict(),
    )


def _renew(project: ProjectConfig, row: Any, origin: Origin) -> bool:
    """Send a new code of the session, unless another caller has just done so. Return whether it was sent."""
    try:
        queue_code(project, find_open(project, row.session_id), project.channels[row.sent_to], origin)
    except ApiError as refusal:
        if refusal.problem_code != "channel_timeout":
            raise
        return False
    return True
