"""The state of delivery now, judged from the messages of the last minutes. Test logins never count."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db.models import Count, Exists, Max, OuterRef, Q, QuerySet
from django.utils import timezone

from verification.models import DeliveryAttempt, Message, MessageStatus
from verification.models.messages import LOST
from verification.services.delivery.policy import ABOUT_THE_RECIPIENT

LATELY = timedelta(minutes=15)  # the shortest time that is judged.
LATELY_MAX = timedelta(hours=3)  # the longest time that is judged: a night in which nobody asked proves nothing.
USUAL_GAPS = 3  # with few messages, this many times the usual time between two of them is judged.
GAPS_LOOKED_AT = 20  # latest messages, from which the usual time between two is taken.
MEMORY = timedelta(hours=24)  # older messages say nothing about now.
LIVES_AT_MOST = timedelta(minutes=10)  # the longest time from creation to acceptance, which manual sends have.
WAITS_TOO_LONG = timedelta(seconds=60)  # a worker takes a message within a second, so this is a fault.
GOOD_PERCENT = 90  # the share of accepted messages of a healthy channel: some numbers are always wrong.
POOR_PERCENT = 50  # the share below which a channel is shown as failing.


@dataclass(frozen=True, slots=True)
class ChannelState:
    """A channel's messages of the last minutes.

    ``lost`` are those that no provider took, without the recipient being the reason; ``expired`` of them ran out of
    time.
    """

    channel: str
    accepted: int
    lost: int
    expired: int

    @property
    def percent(self) -> int:
        return 100 * self.accepted // (self.accepted + self.lost)

    @property
    def is_poor(self) -> bool:
        return self.lost > 0 and self.percent < POOR_PERCENT

    @property
    def is_good(self) -> bool:
        return self.percent >= GOOD_PERCENT and not self.expired


@dataclass(frozen=True, slots=True)
class DeliveryState:
    """The delivery of some projects. ``waiting`` messages are overdue, and no worker has claimed ``untaken`` of them.

    ``channels`` had traffic within ``lately``. ``last_accepted`` is None without an accepted message in the last day.
    """

    lately: timedelta
    waiting: int
    untaken: int
    channels: tuple[ChannelState, ...]
    last_accepted: datetime | None

    @property
    def accepted(self) -> int:
        return sum(channel.accepted for channel in self.channels)

    @property
    def is_quiet(self) -> bool:
        """No message went out, none failed and none waits."""
        return not self.channels and not self.waiting


def state_of(projects: Any) -> DeliveryState:
    now = timezone.now()
    waiting = waiting_messages(Message.objects.filter(project__in=projects)).aggregate(
        all=Count("pk"), untaken=Count("pk", filter=Q(claims=0))
    )
    lately = LATELY
    accepted = _accepted(projects, now - lately)
    last = max((at for _, at in accepted.values()), default=None)
    if last is None:
        lately, last = _usual(projects, now)
        accepted = _accepted(projects, now - lately)
    lost = _lost(projects, now - lately)
    channels = (
        ChannelState(channel, accepted.get(channel, (0, now))[0], *lost.get(channel, (0, 0)))
        for channel in sorted(accepted.keys() | lost.keys())
    )
    return DeliveryState(lately, waiting["all"], waiting["untaken"], tuple(channels), last)


def waiting_messages(messages: QuerySet[Message]) -> QuerySet[Message]:
    """Return the messages that have waited for too long.

    Without a worker nobody closes them, so their time may be over as well.
    """
    return messages.filter(
        status__in=(MessageStatus.QUEUED, MessageStatus.SENDING), created_at__lt=timezone.now() - WAITS_TOO_LONG
    )


def accepted_messages(since: datetime) -> QuerySet[Message]:
    """Return the messages that a provider accepted, or may have."""
    return Message.objects.filter(created_at__gte=since - LIVES_AT_MOST, sent_at__gte=since, is_test=False).order_by()


def lost_messages(since: datetime) -> QuerySet[Message]:
    """Return the messages that no provider took, leaving out those where the recipient was the reason."""
    refused = DeliveryAttempt.objects.filter(message=OuterRef("pk"), outcome__in=ABOUT_THE_RECIPIENT)
    return Message.objects.filter(~Exists(refused), status__in=LOST, sent_at=None, finished_at__gte=since).order_by()


def _accepted(projects: Any, since: datetime) -> dict[str, tuple[int, datetime]]:
    """Return by channel the number of accepted messages, and the time of the last."""
    messages = accepted_messages(since).filter(project__in=projects)
    rows = messages.values_list("channel").annotate(Count("pk"), Max("sent_at"))
    return {channel: (number, last) for channel, number, last in rows if last}


def _lost(projects: Any, since: datetime) -> dict[str, tuple[int, int]]:
    """Return by channel the number of lost messages, and of those among them that ran out of time."""
    messages = lost_messages(since).filter(project__in=projects).values("channel")
    counted = messages.annotate(lost=Count("pk"), expired=Count("pk", filter=Q(status=MessageStatus.EXPIRED)))
    rows = counted.values_list("channel", "lost", "expired")
    return {channel: (number, late) for channel, number, late in rows}


def _usual(projects: Any, now: datetime) -> tuple[timedelta, datetime | None]:
    """Return the time to judge where few messages are sent, and when the last was accepted."""
    messages = Message.objects.filter(project__in=projects, created_at__gte=now - MEMORY, sent_at__isnull=False)
    latest = messages.filter(is_test=False).order_by("-created_at").values_list("sent_at", flat=True)[:GAPS_LOOKED_AT]
    moments = sorted(moment for moment in latest if moment)
    if len(moments) < 2:
        return LATELY, moments[-1] if moments else None
    gap = (moments[-1] - moments[0]) / (len(moments) - 1)
    return min(max(LATELY, USUAL_GAPS * gap), LATELY_MAX), moments[-1]
