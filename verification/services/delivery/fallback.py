"""When a code does not arrive: the same code over the project's next channel."""

from __future__ import annotations

import logging
from collections.abc import Collection

from django.db import InterfaceError, OperationalError, transaction

from verification import sql
from verification.errors import Refusal
from verification.services.projects.snapshot import ProjectConfig, load_project
from verification.services.records.decisions import note_refusal
from verification.services.sessions import sessions
from verification.sql.rows import DueFallback

log = logging.getLogger(__name__)


def send_fallbacks(*, limit: int) -> int:
    """Send up to ``limit`` codes that are overdue over the next channel. Returns how many were taken up."""
    taken_up = 0
    for _ in range(limit):
        sql.drop_dead_connection()
        with transaction.atomic():  # whoever dies with one leaves it to the next
            claimed = sql.call_many(DueFallback, "claim_fallback")
            if not claimed:
                break
            if claimed[0].is_wanted:
                taken_up += 1
                _send_next_channel(claimed[0])
    return taken_up


def _send_next_channel(due: DueFallback) -> None:
    try:
        with transaction.atomic():
            project = load_project(due.project_id)
            if project is not None:
                advance(project, due.session_id, used=due.channels)
    except (OperationalError, InterfaceError):  # nothing is lost: it is claimed again
        raise
    except Exception as error:  # a fault of ours, which must not keep the others from their turn
        log.error("project %s: a fall-back failed with %s", due.project_id, type(error).__name__)


def advance(project: ProjectConfig, session_id: str, *, used: Collection[str]) -> str | None:
    """Send the session's code over the first channel of the order that it has not gone over and that takes it now.

    Limits, blocks and suppressions hold as for a re-send. Returns the channel, or None where none is left.
    """
    for channel_type in project.fallback:
        if channel_type in used or channel_type not in project.channels:
            continue
        try:
            sessions.send_on_our_own(project=project, session_id=session_id, channel_type=channel_type)
        except Refusal as refusal:
            note_refusal(refusal)
            log.info("project %s: no fall-back to %s: %s", project.id, channel_type, refusal.problem_code)
            continue
        return channel_type
    return None
