"""Sessions as the customer's own server handles them: read by id or recipient, and ended before their time."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from verification import sql
from verification.core.addresses import Address
from verification.core.errors import refusal
from verification.models import Message, Session
from verification.services.projects.snapshot import ProjectConfig
from verification.services.sessions.lookup import find

LIVE = ("open", "session_locked")  # states of a session that is neither verified nor over


@dataclass(frozen=True, slots=True)
class Send:
    """One message of a session, whether or not it has arrived."""

    message_id: int
    channel: str
    at: datetime


@dataclass(frozen=True, slots=True)
class SessionRecord:
    """A session with its sends, the earliest first. ``channel`` is empty until its code went out."""

    id: str
    to: str
    state: str
    channel: str
    created_at: datetime
    sends: tuple[Send, ...]


def read(project: ProjectConfig, session_id: str) -> SessionRecord:
    """Return a session in whatever state it is. Raises ``session_not_found``."""
    found = find(project, session_id)
    session = Session.objects.only("channel", "awaited_channel", "created_at").get(pk=session_id)
    rows = Message.objects.filter(session_id=session_id).values_list("pk", "channel", "created_at")
    return SessionRecord(
        id=session_id,
        to=found.address.text,
        state=found.state,
        channel=session.channel or session.awaited_channel,
        created_at=session.created_at,
        sends=tuple(Send(*row) for row in rows.order_by("created_at")),
    )


def live_session_of(project: ProjectConfig, address: Address) -> str:
    """Return the id of the recipient's session that is neither verified nor over. Raises ``session_not_found``."""
    open_ones = Session.objects.filter(recipient__project=project.id, recipient__address=address.text, is_open=True)
    session_id = open_ones.order_by().values_list("pk", flat=True).first()
    if session_id is None or find(project, session_id).state not in LIVE:
        raise refusal("session_not_found")
    return session_id


def close(project: ProjectConfig, session_id: str) -> None:
    """End a session: its code is wiped, and what waits to be sent expires.

    Raises ``session_not_found``, ``session_verified`` and ``session_expired``.
    """
    row = sql.call("close_session", project=project.id, session=session_id)
    if row.outcome != "closed":
        raise refusal(row.outcome)
