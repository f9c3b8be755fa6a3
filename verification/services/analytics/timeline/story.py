"""The story of one session, or of one message that a customer's server sent by itself."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from django.utils import timezone

from verification.models import Message, Session
from verification.services.analytics.timeline import rows as kept
from verification.services.analytics.timeline.diagnosis import Verdict, verdict_of
from verification.services.analytics.timeline.events import Event, events_of
from verification.services.analytics.timeline.rows import Rows


@dataclass(frozen=True, slots=True)
class Story:
    rows: Rows
    verdict: Verdict
    events: list[Event]


def story_of(row: Session | Message) -> Story:
    """Return the whole story. A message that belongs to a session is told as a part of the session's."""
    if isinstance(row, Session):
        (rows,) = kept.of_sessions([row])
    elif row.session is not None:
        (rows,) = kept.of_sessions([row.session])
    else:
        (rows,) = kept.of_messages([row])
    return tell(kept.in_full(rows), timezone.now())


def tell(rows: Rows, now: datetime) -> Story:
    return Story(rows, verdict_of(rows, now), events_of(rows, now))


def in_brief(sessions: Iterable[Session], messages: Iterable[Message]) -> list[tuple[Rows, Verdict]]:
    """Return the sentence of each of these sessions and messages, the newest first."""
    now = timezone.now()
    found = [*kept.of_sessions(sessions), *kept.of_messages(messages)]
    found.sort(key=lambda rows: rows.began_at, reverse=True)
    return [(rows, verdict_of(rows, now)) for rows in found]
