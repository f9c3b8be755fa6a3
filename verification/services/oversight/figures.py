"""The figures of the last hours, counted from rows, for the overview and ``stats``. Test logins never count."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from django.db.models import Count, QuerySet
from django.db.models.expressions import RawSQL
from django.utils import timezone

from verification.models import Message, MessageStatus, Session

HOURS = 24  # the time that the overview and ``stats`` tell of
LOST = (MessageStatus.FAILED, MessageStatus.EXPIRED)


@dataclass(slots=True)
class Figures:
    """The sessions of some hours, and the messages by channel and status."""

    sessions: int = 0
    verified: int = 0
    messages: Counter[tuple[str, str]] = field(default_factory=Counter)

    @property
    def percent(self) -> int | None:
        """The verified of a hundred sessions; None without a session."""
        return round(100 * self.verified / self.sessions) if self.sessions else None

    @property
    def lost(self) -> int:
        """The messages that failed or expired."""
        return self.number(*LOST)

    def number(self, *statuses: MessageStatus, channel: str | None = None) -> int:
        """The messages in one of ``statuses``, or in any, over one channel or all."""
        return sum(
            number
            for (over, status), number in self.messages.items()
            if status in (statuses or MessageStatus.values) and channel in (None, over)
        )


def count(projects: Any, *, hours: int = HOURS) -> dict[int, Figures]:
    """The figures of each project that had traffic, by its id."""
    scope = {
        "project__in": projects,
        "created_at__gte": timezone.now() - timedelta(hours=hours),
        "is_test": False,
    }
    found: dict[int, Figures] = {}
    sessions = Session.objects.filter(**scope).order_by().values_list("project")
    for project, total, verified in sessions.annotate(Count("pk"), Count("verified_at")):
        found[project] = Figures(total, verified)
    messages = Message.objects.filter(**scope).order_by().values_list("project", "channel", "status")
    for project, channel, status, number in messages.annotate(Count("pk")):
        found.setdefault(project, Figures()).messages[channel, status] += number
    return found


def total(figures: Iterable[Figures]) -> Figures:
    """The sum over some projects."""
    whole = Figures()
    for one in figures:
        whole.sessions += one.sessions
        whole.verified += one.verified
        whole.messages.update(one.messages)
    return whole


def newest_lost(
    messages: QuerySet[Message], projects: Iterable[int], statuses: Iterable[str], number: int
) -> QuerySet[Message]:
    """Narrow ``messages`` to the newest ``number`` of these projects that failed or expired, by the function's ids."""
    found = RawSQL("SELECT newest_lost(%s::bigint[], %s::text[], %s)", (list(projects), list(statuses), number))
    return messages.filter(pk__in=found)
