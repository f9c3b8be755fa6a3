"""Outages: the owner of a channel over which nothing gets out is alerted, and told again when it works."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.db.models import Count, Max, QuerySet
from django.utils import timezone

from verification.models import Alert, ChannelType, Message
from verification.models.alerts import OUTAGE
from verification.services.analytics.delivery_state import accepted_messages, lost_messages
from verification.services.notifications import alerts
from verification.services.records.batches import run_each

OVER = "channel_up"  # the kind of the alert that tells of an outage's end
WINDOW = timedelta(minutes=3)  # the time without an accepted message that makes an outage: soon told, and no blip
LOST_TO_TELL = 3  # lost messages of the window that make an outage: fewer may be due to the recipients
REMIND_AFTER = timedelta(days=1)  # an outage that lasts is told again after this time


def watch() -> None:
    """Alert the owners of channels that stopped working, and of those that work again."""
    since, known = timezone.now() - WINDOW, set()

    def look_again(alert: Alert) -> None:
        if not _end_if_over(alert):
            known.add((alert.project_id, alert.key))

    def judge(row: dict[str, Any]) -> None:
        if _channel_of(row) not in known and not _accepted(*_channel_of(row), since).exists():
            _alert(**row)

    run_each(Alert.objects.filter(kind=OUTAGE, ended_at=None).order_by("pk"), look_again, job=OUTAGE)
    run_each(_losing(since), judge, job=OUTAGE, name=_channel_of)


def _channel_of(row: dict[str, Any]) -> tuple[int, str]:
    return row["project_id"], row["channel"]


def _losing(since: datetime) -> Any:
    """Return the channels that lost messages since then. Only these few are then searched for accepted messages."""
    rows = lost_messages(since).values("project_id", "channel")
    return rows.annotate(number=Count("pk"), latest=Max("finished_at")).filter(number__gte=LOST_TO_TELL)


def _accepted(project: int, channel: str, since: datetime) -> QuerySet[Message]:
    return accepted_messages(since).filter(project=project, channel=channel)


def _alert(*, project_id: int, channel: str, number: int, latest: datetime) -> None:
    last = Message.objects.filter(project=project_id, channel=channel, finished_at=latest).first()
    reason = f" Last error: {last.error}" if last and last.error else ""
    alerts.raise_alert(
        project_id=project_id,
        kind=OUTAGE,
        key=channel,
        title=f"{ChannelType(channel).label} is down: no messages are being accepted",
        detail=f"{number:,} messages were lost within {WINDOW.seconds // 60} minutes, and no provider accepted "
        f"one.{reason} Check the channel's providers in the panel: fix the one that fails, or add another. "
        "Watchword alerts you when the channel works again.",
    )


def _end_if_over(alert: Alert) -> bool:
    """End an outage once a message was accepted, and after a day, when it is told anew. Return whether it ended."""
    now = timezone.now()
    is_over = _accepted(alert.project_id, alert.key, max(alert.created_at, now - WINDOW)).exists()
    if not is_over and now - alert.created_at < REMIND_AFTER:
        return False
    key = f"{alert.key} until {now:%Y-%m-%dT%H:%M:%S}"
    with transaction.atomic():  # an end that cannot be told is none yet
        ended = Alert.objects.filter(pk=alert.pk, ended_at=None).update(ended_at=now, key=key)
        if ended and is_over:  # else another worker saw it as well
            _alert_end(alert, key, now)
    return True


def _alert_end(alert: Alert, key: str, now: datetime) -> None:
    minutes = max(1, round((now - alert.created_at).total_seconds() / 60))
    alerts.raise_alert(
        project_id=alert.project_id,
        kind=OVER,
        key=key,
        title=f"{ChannelType(alert.key).label} works again",
        detail=f"A provider accepted a message {minutes:,} minute{('' if minutes == 1 else 's')} after the alert.",
    )
