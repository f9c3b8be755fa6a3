"""The figures of the last hours, for the overview and ``stats``. Test logins never count."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from django.db.models import QuerySet, Sum
from django.db.models.expressions import RawSQL
from django.utils import timezone

from verification.models import HourlyFigures, Message, MessageStatus

HOURS = 24  # the hours that the overview and ``stats`` tell of: the present one and those before it
LOST = (MessageStatus.FAILED, MessageStatus.EXPIRED)
COUNTED = ("sessions", "sessions_verified", "messages", "messages_delivered", "messages_failed", "messages_expired")


@dataclass(slots=True)
class RecentFigures:
    """The sessions of some hours, and the messages by channel and by what became of them."""

    sessions: int = 0
    verified: int = 0
    messages: Counter[tuple[str, str]] = field(default_factory=Counter)

    @property
    def lost(self) -> int:
        """The messages that failed or expired."""
        return self.number("failed") + self.number("expired")

    def number(self, state: str = "all", *, channel: str | None = None) -> int:
        """The messages that are in a state, ``delivered``, ``failed``, ``expired`` or all, over one channel or all."""
        return sum(number for (over, of), number in self.messages.items() if of == state and channel in (None, over))


def since(hours: int) -> datetime:
    """The beginning of the first of these hours, of which the present one is the last."""
    return timezone.now().replace(minute=0, second=0, microsecond=0) - timedelta(hours=hours - 1)


def count(projects: Iterable[int], *, hours: int = HOURS) -> dict[int, RecentFigures]:
    """The figures of each project that had traffic, by its id, as the workers last counted them."""
    found: dict[int, RecentFigures] = {}
    rows = HourlyFigures.objects.filter(project__in=projects, hour__gte=since(hours)).order_by()
    sums = rows.values_list("project", "channel").annotate(*(Sum(name) for name in COUNTED))
    for project, channel, sessions, verified, messages, delivered, failed, expired in sums:
        figures = found.setdefault(project, RecentFigures())
        figures.sessions += sessions
        figures.verified += verified
        figures.messages += Counter(
            {
                (channel, "all"): messages,
                (channel, "delivered"): delivered,
                (channel, "failed"): failed,
                (channel, "expired"): expired,
            }
        )
    return found


def total(figures: Iterable[RecentFigures]) -> RecentFigures:
    """The sum over some projects."""
    whole = RecentFigures()
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
