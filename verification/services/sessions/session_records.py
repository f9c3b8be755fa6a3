"""Sessions as the customer's own server handles them: read by id or recipient, listed, and ended before their time."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Q

from verification import sql
from verification.core.addresses import Address
from verification.core.errors import refusal
from verification.models import Message, Recipient, Session, SessionState
from verification.models.sessions import SessionQuerySet
from verification.services.projects.snapshot import ProjectConfig
from verification.services.sessions.lookup import LIVE, find

_ORDER = ("-created_at", "-pk")
# Sessions that one answer looks at where those of one state are asked for: a few milliseconds of the database's time.
LOOK = 2_000


@dataclass(frozen=True, slots=True)
class SessionMessageView:
    """One message of a session, whether or not it has arrived."""

    id: int
    channel: str
    status: str
    error: str | None
    created_at: datetime
    finished_at: datetime | None


@dataclass(frozen=True, slots=True)
class SessionDetails:
    """A session with its messages, the earliest first.

    ``channel`` is None until its code went out; ``awaited_channel`` is the messenger that it waits for. ``recipient``
    is None once the address is no longer kept.
    """

    session_id: str
    state: SessionState
    recipient: str | None
    channel: str | None
    awaited_channel: str
    reference: str | None
    language: str
    is_test: bool
    attempts: int
    created_at: datetime
    expires_at: datetime
    verified_at: datetime | None
    redeemed_at: datetime | None
    cancelled_at: datetime | None
    messages: list[SessionMessageView]


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionFilter:
    """Which sessions are listed: all that None leaves open. ``after`` is the id of a session that came before."""

    limit: int
    after: str | None = None
    address: Address | None = None
    reference: str | None = None
    state: SessionState | None = None


@dataclass(frozen=True, slots=True)
class SessionPage:
    """Sessions, the newest first. ``after`` is the place from which the next page follows, None where there is none."""

    sessions: list[SessionDetails]
    after: str | None

    @property
    def has_more(self) -> bool:
        return self.after is not None


def read(project: ProjectConfig, session_id: str) -> SessionDetails:
    """Return a session in whatever state it is. Raises ``session_not_found``."""
    found = _records(Session.objects.filter(pk=session_id, project_id=project.id))
    if not found:
        raise refusal("session_not_found")
    return found[0]


def list_sessions(project: ProjectConfig, wanted: SessionFilter) -> SessionPage:
    """Return the project's next sessions. With a state, a page may have few or none although more follow.

    Raises ``session_not_found`` for an ``after`` that the project does not have, or has no longer.
    """
    rows = _in_order(project, wanted)
    if wanted.state is None:
        ids = list(rows.values_list("pk", flat=True)[: wanted.limit + 1])
        looked_at, is_cut = ids, False
    else:
        states = list(rows.with_state().values_list("pk", "state")[:LOOK])
        looked_at, is_cut = [pk for pk, _ in states], len(states) == LOOK
        ids = [pk for pk, state in states if state == wanted.state]
    page, after = ids[: wanted.limit], None
    if len(ids) > wanted.limit:
        after = page[-1]
    elif is_cut:
        after = looked_at[-1]
    return SessionPage(_records(Session.objects.filter(pk__in=page)), after)


def live_session_of(project: ProjectConfig, address: Address) -> str:
    """Return the id of the recipient's session that is neither verified nor over. Raises ``session_not_found``."""
    open_ones = Session.objects.filter(recipient__project=project.id, recipient__address=address.text, is_open=True)
    session_id = open_ones.order_by().values_list("pk", flat=True).first()
    if session_id is None or find(project, session_id).state not in LIVE:
        raise refusal("session_not_found")
    return session_id


def close(project: ProjectConfig, session_id: str) -> None:
    """End a session: its code is wiped, and what waits to be sent expires. One that was ended so before stays so.

    Raises ``session_not_found``, ``session_verified`` and ``session_expired``.
    """
    row = sql.call("close_session", project=project.id, session=session_id)
    if row.outcome != "closed":
        raise refusal(row.outcome)


def _in_order(project: ProjectConfig, wanted: SessionFilter) -> SessionQuerySet:
    """Return the sessions by the index that has them: of a recipient, of a reference, or of the project."""
    rows = Session.objects.filter(project_id=project.id).order_by(*_ORDER)
    if wanted.address is not None:
        # Without the project, whose index has the order, but all of its other sessions too.
        recipients = Recipient.objects.filter(project_id=project.id, address=wanted.address.text)
        recipient = recipients.first()
        rows = Session.objects.none() if recipient is None else recipient.sessions.order_by(*_ORDER)
    if wanted.reference is not None:
        rows = rows.filter(reference=wanted.reference).exclude(reference="")  # both, as the index has it
    if wanted.after is not None:
        last = Session.objects.filter(pk=wanted.after, project_id=project.id).only("created_at").first()
        if last is None:
            raise refusal("session_not_found")
        rows = rows.filter(created_at__lte=last.created_at).filter(
            Q(created_at__lt=last.created_at) | Q(pk__lt=last.pk)
        )
    return rows


def _records(rows: SessionQuerySet) -> list[SessionDetails]:
    """Return sessions, the newest first, with what belongs to them."""
    sessions = list(rows.with_state().select_related("recipient", "verify_token").order_by(*_ORDER))
    messages = _messages_of([session.pk for session in sessions])
    return [
        SessionDetails(
            session_id=session.pk,
            state=SessionState(session.state),
            recipient=_shown(session.recipient.address),
            channel=session.channel or None,
            awaited_channel=session.awaited_channel,
            reference=session.reference or None,
            language=session.language,
            is_test=session.is_test,
            attempts=session.attempts,
            created_at=session.created_at,
            expires_at=session.expires_at,
            verified_at=session.verified_at,
            redeemed_at=session.verify_token.used_at if hasattr(session, "verify_token") else None,
            cancelled_at=session.cancelled_at,
            messages=messages[session.pk],
        )
        for session in sessions
    ]


def _messages_of(session_ids: Collection[str]) -> defaultdict[str, list[SessionMessageView]]:
    found: defaultdict[str, list[SessionMessageView]] = defaultdict(list)
    for row in Message.objects.filter(session_id__in=session_ids).order_by("created_at", "pk"):
        found[str(row.session_id)].append(
            SessionMessageView(row.pk, row.channel, row.status, row.error, row.created_at, row.finished_at)
        )
    return found


def _shown(address: str) -> str | None:
    """Return the recipient, or None for the hash that stands in the place of an address that was erased."""
    return address if "@" in address or address.startswith("+") else None
