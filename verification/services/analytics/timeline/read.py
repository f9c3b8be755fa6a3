"""The timeline of one session, or of one message that a customer's server sent by itself."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from django.utils import timezone

from verification.models import Message, Session
from verification.services.analytics.timeline.diagnosis import Diagnosis, diagnose
from verification.services.analytics.timeline.events import TimelineEvent, events_of
from verification.services.analytics.timeline.rows import Rows, rows_of_messages, rows_of_sessions, with_details


@dataclass(frozen=True, slots=True)
class Timeline:
    rows: Rows
    diagnosis: Diagnosis
    events: list[TimelineEvent]


def read_timeline(row: Session | Message) -> Timeline:
    """Return the whole timeline. A message that belongs to a session is a part of the session's."""
    if isinstance(row, Session):
        (rows,) = rows_of_sessions([row])
    elif row.session is not None:
        (rows,) = rows_of_sessions([row.session])
    else:
        (rows,) = rows_of_messages([row])
    return _timeline(with_details(rows), timezone.now())


def _timeline(rows: Rows, now: datetime) -> Timeline:
    return Timeline(rows, diagnose(rows, now), events_of(rows, now))


def in_brief(sessions: Iterable[Session], messages: Iterable[Message]) -> list[tuple[Rows, Diagnosis]]:
    """Return the sentence of each of these sessions and messages, the newest first."""
    now = timezone.now()
    briefs = [*rows_of_sessions(sessions), *rows_of_messages(messages)]
    briefs.sort(key=lambda rows: rows.began_at, reverse=True)
    return [(rows, diagnose(rows, now)) for rows in briefs]
