"""The use of the limits by one recipient, for owners. The SQL functions that refuse count by themselves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import Max, Q
from django.utils import timezone

from verification.codes import WRONG_CODES_DIVISORS
from verification.models import ChannelType, Message, Recipient, WrongCode
from verification.services.projects.snapshot import load_project

DAY = timedelta(days=1)
SEND_WINDOWS = (("10 minutes", timedelta(minutes=10)), ("an hour", timedelta(hours=1)), ("a day", DAY))
WRONG_WINDOWS = (("15 minutes", timedelta(minutes=15)), ("a day", DAY))
BLOCK = timedelta(seconds=60)  # the time between two codes of sessions over one channel, as in common_windows.sql


@dataclass(frozen=True, slots=True)
class Standing:
    """The use of one limit: ``used`` of ``limit`` within a window.

    ``free_at`` is the time at which the next is allowed, or None while it is allowed now.
    """

    what: str
    used: int
    limit: int
    window: str
    free_at: datetime | None


def standings(recipient: Recipient) -> list[Standing]:
    """Return the use of each limit that is on; nothing for a project that is disabled."""
    project = load_project(recipient.project_id)
    if project is None:
        return []
    divisor = WRONG_CODES_DIVISORS[project.code_length]
    wrong_limits = [-(-limit // divisor) for limit in project.wrong_limits]
    sends = _latest_sends(recipient, max(project.send_limits_for(recipient.address)))
    wrong = _latest_wrong_codes(recipient, max(wrong_limits))
    return [
        *_standings("codes sent", sends, project.send_limits_for(recipient.address), SEND_WINDOWS),
        *_standings("wrong codes", wrong, wrong_limits, WRONG_WINDOWS),
    ]


def blocked_channels(recipient: Recipient) -> list[tuple[str, datetime]]:
    """Return the channels that are blocked for their 60 seconds, each with the end of its block."""
    rows = (
        Message.objects.filter(recipient=recipient, created_at__gt=timezone.now() - BLOCK, session__isnull=False)
        .filter(Q(is_counted=True) | Q(is_test=True))
        .order_by()
        .values_list("channel")
        .annotate(Max("created_at"))
    )
    return [(str(ChannelType(channel).label), latest + BLOCK) for channel, latest in rows if latest]


def _latest_sends(recipient: Recipient, number: int) -> list[datetime]:
    """Return the times of the latest sends, the newest first. Recipients of one mailbox share its limits."""
    sharers = [recipient.pk]
    if recipient.mailbox:
        of_mailbox = Recipient.objects.filter(project=recipient.project_id, mailbox=recipient.mailbox)
        sharers = list(of_mailbox.values_list("pk", flat=True))
    rows = Message.objects.filter(recipient__in=sharers, is_counted=True, created_at__gt=timezone.now() - DAY)
    return list(rows.order_by("-created_at").values_list("created_at", flat=True)[:number])


def _latest_wrong_codes(recipient: Recipient, number: int) -> list[datetime]:
    since = max(filter(None, (timezone.now() - DAY, recipient.verified_at)))
    rows = WrongCode.objects.filter(recipient=recipient, created_at__gt=since)
    return list(rows.order_by("-created_at").values_list("created_at", flat=True)[:number])


def _standings(
    what: str, moments: Sequence[datetime], limits: Sequence[int], windows: Sequence[tuple[str, timedelta]]
) -> list[Standing]:
    now = timezone.now()
    found = []
    for limit, (window, span) in zip(limits, windows, strict=True):
        if not limit:
            continue
        used = sum(moment > now - span for moment in moments[:limit])
        free_at = moments[limit - 1] + span if used >= limit else None
        found.append(Standing(what, used, limit, window, free_at))
    return found
