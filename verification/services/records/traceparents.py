"""The traceparent that is kept with a message, by which its delivery, receipt and callback join the request's trace."""

from __future__ import annotations

import logging

from django.db import Error, connection

from verification import sql
from verification.core import tracing
from verification.models import Message

log = logging.getLogger(__name__)


def store(message_id: int) -> None:
    """Store this thread's current trace with the message. Without traces nothing is written."""
    traceparent = tracing.current()
    if not traceparent:
        return
    try:
        Message.objects.filter(pk=message_id).update(traceparent=traceparent)
    except Error as error:
        if connection.in_atomic_block or not sql.is_away(error):
            raise
        log.warning("message %s: its trace could not be kept.", message_id)  # it is sent all the same


def of_message(message_id: int | None) -> str | None:
    """Return the traceparent of the message; None where it has none, was erased, or the database is away."""
    return _newest(pk=message_id) if message_id and tracing.is_on() else None


def of_session(session_id: str | None) -> str | None:
    """Return the traceparent of the session's newest message; None as for a message."""
    return _newest(session_id=session_id) if session_id and tracing.is_on() else None


def _newest(**which: int | str) -> str | None:
    kept = Message.objects.filter(traceparent__isnull=False, **which).order_by("-created_at")
    with sql.unless_away():
        return kept.values_list("traceparent", flat=True).first()
    return None
