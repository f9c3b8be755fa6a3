"""Callbacks and other events: calls of customers' servers that fail, by project."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

from django.db.models import Count, Max, Q
from django.utils import timezone

from verification.models import WebhookAttempt, WebhookEvent
from verification.services.maintenance.doctor.findings import Aims, Finding, warning

SINCE = timedelta(hours=1)  # what failed before has been mended, or fails again
LEAST = 5  # calls, below which a share says nothing
MOST_LOOKED_AT = 10_000  # calls, the newest: their time is in no index
LOST_SINCE = timedelta(days=1)
SUCCESSES = Q(status__gte=200, status__lt=300)


def servers_answer(aims: Aims) -> Iterator[Finding]:
    """Count the last hour's calls. The alarm WatchwordCallbacksFail takes the same share, of all projects."""
    newest = WebhookAttempt.objects.aggregate(Max("pk"))["pk__max"] or 0
    recent = WebhookAttempt.objects.filter(pk__gt=newest - MOST_LOOKED_AT, created_at__gt=timezone.now() - SINCE)
    by_name = recent.order_by().values_list("event__project__name")
    rows = by_name.annotate(all=Count("pk"), good=Count("pk", filter=SUCCESSES))
    for name, calls, good in rows.order_by("event__project__name"):
        if calls >= LEAST and 2 * (calls - good) >= calls:
            yield warning(
                "callbacks-fail",
                f"{calls - good} of {calls} webhook calls to {name}'s server failed in the last hour.",
                "The panel's Events page shows the server's responses: let the customer know. If calls of all "
                "projects fail, check whether this machine reaches the internet, and check OUTBOUND_ALLOWED_NETWORKS.",
            )


def none_is_given_up(aims: Aims) -> Iterator[Finding]:
    given_up = WebhookEvent.objects.filter(
        due_at=None, delivered_at=None, tries__gt=0, created_at__gt=timezone.now() - LOST_SINCE
    )
    rows = given_up.order_by().values_list("project__name").annotate(count=Count("pk"))
    for name, count in rows.order_by("project__name"):
        yield warning(
            "callbacks-given-up",
            f"Watchword could not deliver {count} events to {name}'s server within a day.",
            "The panel's Events page shows the server's responses. The customer can read the events with a "
            "secret key (GET /events).",
        )


CHECKS = (servers_answer, none_is_given_up)
