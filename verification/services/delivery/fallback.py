"""Fall-back: a code that does not arrive is sent over the project's next channel."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection
from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import TypeVar

from django.db import InterfaceError, OperationalError, transaction

from verification import sql
from verification.core import crypto, tracing
from verification.core.crypto import decrypt
from verification.core.errors import ApiError
from verification.models import Message
from verification.services.manual.handed_codes import HandedCode, send_handed_code
from verification.services.projects.snapshot import ProjectConfig, load_project
from verification.services.records import traceparents
from verification.services.records.decisions import record_refusal
from verification.services.sessions import send
from verification.sql.rows import DueFallback, DueHandedFallback

log = logging.getLogger(__name__)

AGAIN = timedelta(seconds=2)  # until the next turn of one that met a lock: others come first, and its code still lives

Due = TypeVar("Due", DueFallback, DueHandedFallback)


def send_fallbacks(*, limit: int) -> int:
    """Send up to ``limit`` overdue codes over their next channel, and return how many were wanted."""
    taken_up = _in_turn(lambda: sql.call_many(DueFallback, "claim_fallback"), _of_session, limit=limit)
    return taken_up + _in_turn(
        lambda: sql.call_many(DueHandedFallback, "claim_handed_fallback"), _of_handed_code, limit=limit - taken_up
    )


def _in_turn(claim: Callable[[], list[Due]], send_next: Callable[[ProjectConfig, Due], None], *, limit: int) -> int:
    taken_up = 0
    for _ in range(limit):
        claimed: list[Due] = []
        try:
            with transaction.atomic():  # if this worker dies, the rollback leaves the row to another
                claimed = claim()
                if claimed and claimed[0].is_wanted:
                    _take_up(claimed[0], send_next)
        except (OperationalError, InterfaceError) as error:
            if not claimed:
                raise
            _put_off(claimed[0], error)
        if not claimed:
            break
        taken_up += claimed[0].is_wanted
    return taken_up


def _put_off(due: Due, error: Exception) -> None:
    """Let others have their turn before one that met a lock or took too long. Raises if the database itself is away."""
    over = {"session": due.session_id} if isinstance(due, DueFallback) else {"pk": due.message_id}
    now = sql.now()
    Message.objects.filter(**over, fallback_at__lte=now).update(fallback_at=now + AGAIN)
    fields = {"project": due.project_id, "error": sql.reason(error)}
    log.warning("a fallback failed", extra=fields)


def _take_up(due: Due, send_next: Callable[[ProjectConfig, Due], None]) -> None:
    try:
        with transaction.atomic():
            project = load_project(due.project_id)
            if project is not None:
                send_next(project, due)
    except (OperationalError, InterfaceError):  # nothing is lost: the claim is rolled back with it
        raise
    except Exception as error:  # a fault of ours must not keep other fall-backs from their turn
        fields = {"project": due.project_id, "error": type(error).__name__}
        log.error("no fallback to a channel", extra=fields)


def _of_session(project: ProjectConfig, due: DueFallback) -> None:
    with tracing.span("fall-back", parent=traceparents.of_session(due.session_id), project=project.id):
        send_next_channel(project, due.session_id, used=due.channels)


def _of_handed_code(project: ProjectConfig, due: DueHandedFallback) -> None:
    assert due.code_encrypted is not None  # else it would not be wanted
    handed = HandedCode(
        connection_id=due.connection_id,
        address=project.read_address(due.address),
        code=decrypt(due.code_encrypted, binding=crypto.message_code_binding(due.message_id)),
        language=due.language,
        fallback_of=due.first_id,
        lives_seconds=due.lives_seconds,
    )
    with tracing.span("fall-back", parent=traceparents.of_message(due.first_id), project=project.id):
        _over_next_channel(
            project, due.channels, lambda channel: send_handed_code(project, replace(handed, channel_type=channel))
        )


def send_next_channel(project: ProjectConfig, session_id: str, *, used: Collection[str]) -> str | None:
    """Send the session's code over the next channel, and return the channel. Limits, the channel's block and
    suppressions hold, as they do for a re-send.

    The code stays the same: nobody asked for this send, and the message before may just be read.
    """

    def send_over(channel_type: str) -> None:
        send.resend_automatically(project=project, session_id=session_id, channel_type=channel_type, keeps_code=True)

    return _over_next_channel(project, used, send_over)


def _over_next_channel(project: ProjectConfig, used: Collection[str], send_over: Callable[[str], object]) -> str | None:
    """Return the first channel of the project's order which the code has not gone over and which takes it now.

    None if there is none.
    """
    for channel_type in project.fallback:
        if channel_type in used or channel_type not in project.channels:
            continue
        try:
            send_over(channel_type)
        except ApiError as refusal:
            transaction.on_commit(partial(record_refusal, refusal))  # its failure must not undo the fall-back
            fields = {"project": project.id, "channel": channel_type, "code": refusal.problem_code}
            log.info("no fallback to a channel", extra=fields)
            continue
        return channel_type
    return None
