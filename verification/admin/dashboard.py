"""The overview: whether codes go out, the last 24 hours of the user's projects, and what to do next."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.db import DatabaseError, connection, transaction
from django.db.models import Count, Max, Q, Sum
from django.http import HttpRequest
from django.urls import reverse
from django.utils import timezone

from verification.admin.decisions import title_of
from verification.admin.display import ago, channel_icon, country
from verification.admin.scoping import own_projects
from verification.admin.troubles import budgets_of, troubles_of
from verification.models import (
    ApiKey,
    ChannelType,
    Decision,
    GuardBlock,
    Message,
    MessageStatus,
    Provider,
    Session,
)
from verification.services import guard
from verification.services.alerts import unread_count

DAY = timedelta(hours=24)
PATIENCE_MS = 2000  # a page that is looked at all day must not load the database for longer
FAILURES_SHOWN = 5
COUNTRIES_SHOWN = 8
RULES_SHOWN = 6
BUDGETS_SHOWN = 6
WAITS_TOO_LONG = timedelta(seconds=60)  # a worker takes a message within one


@dataclass(frozen=True, slots=True)
class Step:
    """One thing to do before codes flow."""

    title: str
    text: str
    link: str
    is_done: bool


@dataclass(frozen=True, slots=True)
class Row:
    """A channel's messages of the day."""

    label: str
    icon: str
    link: str
    total: int
    delivered: int
    under_way: int
    failed: int
    expired: int

    @property
    def share(self) -> int:
        return round(100 * self.delivered / self.total) if self.total else 0


def fill(request: HttpRequest, context: dict[str, Any]) -> dict[str, Any]:
    """Unfold's callback for the index page."""
    projects = own_projects(request.user)
    steps = _steps(request, projects)
    budgets = budgets_of(projects)
    context |= {
        "title": "Overview",
        "troubles": troubles_of(request, projects, budgets),
        "budgets": budgets[:BUDGETS_SHOWN],
        "steps": steps if not all(step.is_done for step in steps) else [],
        "figures": _figures(projects),
        "unread_alerts": unread_count(projects),
    }
    return context


def _steps(request: HttpRequest, projects: Any) -> list[Step]:
    first = projects.order_by("pk").first()
    if request.user.is_superuser:
        project = Step(
            "Create a project",
            "One for each product or customer: it has its own keys, channels and limits.",
            reverse("admin:verification_project_add"),
            first is not None,
        )
    else:
        project = Step(
            "Join a project",
            "You are not a member of any project yet. Ask the operator to add you to one.",
            "",
            first is not None,
        )
    served = Provider.objects.filter(Q(project__in=projects) | Q(project=None), is_enabled=True)
    return [
        project,
        Step(
            "Connect a provider",
            "The account that codes go out over. The inbox sends nothing and is good for a first try.",
            reverse("admin:verification_provider_add") if first else "",
            first is not None and served.exists(),
        ),
        Step(
            "Issue an API key",
            "Browsers and apps call the session endpoints with it. It is shown once.",
            reverse("admin:verification_project_issue_key", args=(first.pk,)) if first else "",
            ApiKey.objects.filter(project__in=projects, revoked_at=None).exists(),
        ),
        Step(
            "Send the first code",
            "Call POST /session/create with the key, as the API reference shows; the session shows up here.",
            "/docs/",
            Session.objects.filter(project__in=projects).exists(),
        ),
    ]


def _figures(projects: Any) -> dict[str, Any] | None:
    """None where counting takes too long: on a service that sends millions a day the overview still opens."""
    try:
        with transaction.atomic():
            with connection.cursor() as cursor:
                cursor.execute("SET LOCAL statement_timeout = %s", [PATIENCE_MS])
            return _count(projects)
    except DatabaseError:
        return None


def _count(projects: Any) -> dict[str, Any]:
    now = timezone.now()
    scope = {"project__in": projects, "created_at__gte": now - DAY}
    sessions = Session.objects.filter(**scope).aggregate(
        total=Count("pk"), verified=Count("pk", filter=Q(verified_at__isnull=False))
    )
    counted = Message.objects.filter(**scope).order_by().values_list("channel", "status").annotate(number=Count("pk"))
    numbers = {(channel, status): number for channel, status, number in counted}
    by_status = {
        status: sum(number for (_, found), number in numbers.items() if found == status) for status in MessageStatus
    }
    moving = Message.objects.filter(**scope).aggregate(
        last_sent=Max("sent_at"),
        stuck=Count(
            "pk",
            filter=Q(
                status__in=(MessageStatus.QUEUED, MessageStatus.SENDING),
                created_at__lt=now - WAITS_TOO_LONG,
                expires_at__gt=now,
            ),
        ),
    )
    refusals = (
        Decision.objects.filter(project__in=projects, last_at__gte=now - DAY)
        .order_by()
        .values_list("rule")
        .annotate(times=Sum("count"))
        .order_by("-times")
    )
    failures = Message.objects.filter(**scope, status=MessageStatus.FAILED).select_related("project", "provider")
    return {
        "sessions": sessions["total"],
        "verified": sessions["verified"],
        "rate": round(100 * sessions["verified"] / sessions["total"]) if sessions["total"] else None,
        "messages": sum(by_status.values()),
        "delivered": by_status[MessageStatus.SUCCESS],
        "last_sent": ago(moving["last_sent"]) if moving["last_sent"] else "",
        "stuck": moving["stuck"],
        "refusals": [{"rule": rule, "title": title_of(rule), "times": times} for rule, times in refusals[:RULES_SHOWN]],
        "refused": sum(times for _, times in refusals),
        "failed": by_status[MessageStatus.FAILED] + by_status[MessageStatus.EXPIRED],
        "rows": [row for row in (_row(channel, numbers) for channel in ChannelType.values) if row.total],
        "countries": [
            {"line": line, "name": country(line.subject) if line.subject else "No country"}
            for line in guard.by_country(projects, hours=24)[:COUNTRIES_SHOWN]
        ],
        "blocks": GuardBlock.objects.filter(project__in=projects, lifted_at=None, until__gt=now).count(),
        "failures": [
            {"message": message, "icon": channel_icon(message.channel), "ago": ago(message.created_at)}
            for message in failures.order_by("-created_at")[:FAILURES_SHOWN]
        ],
    }


def _row(channel: str, numbers: dict[tuple[str, str], int]) -> Row:
    def count(*statuses: MessageStatus) -> int:
        return sum(numbers.get((channel, status), 0) for status in statuses)

    return Row(
        label=str(ChannelType(channel).label),
        icon=channel_icon(channel),
        link=f"{reverse('admin:verification_message_changelist')}?channel__exact={channel}&since=day",
        total=count(*MessageStatus),
        delivered=count(MessageStatus.SUCCESS),
        under_way=count(MessageStatus.QUEUED, MessageStatus.SENDING, MessageStatus.SENT),
        failed=count(MessageStatus.FAILED),
        expired=count(MessageStatus.EXPIRED),
    )
