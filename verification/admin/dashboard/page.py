"""The overview: whether codes go out, the last 24 hours of the user's projects, and what to do next."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, TypeVar

from django.db import DEFAULT_DB_ALIAS, DatabaseError, connections, transaction
from django.db.models import QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _

from verification.admin.base.current_project import current_project_ids, current_projects
from verification.admin.base.database_router import database_for, reading
from verification.admin.base.display import channel_icon, format_country, time_ago
from verification.admin.base.permissions import own_project_ids
from verification.admin.base.statistics import Tile, funnel, largest_loss, over_time, tiles
from verification.admin.dashboard.headline import headline
from verification.admin.dashboard.problems import budgets_of, problems_of, warnings_of
from verification.admin.traffic.decisions import title_of_rule
from verification.core.formats import DAY, grouped, written_date
from verification.models import (
    ApiKey,
    ChannelType,
    GuardBlock,
    GuardMode,
    KeyKind,
    Message,
    Project,
    Provider,
    Right,
    Session,
)
from verification.services.analytics import delivery_state, ranges, statistics
from verification.services.analytics.summary import Summary, SummaryRow, summarize
from verification.services.notifications.alerts import unread_count
from verification.services.protection.guard import conversion

PATIENCE_MS = 2000  # how long a statement may run: a page that is open all day must not load the database for longer
FAILURES_READ = 50  # the latest failures read; those with one reason are shown as one line
FAILURES_SHOWN = 5
COUNTRIES_SHOWN = 8
RULES_SHOWN = 6
OBSERVED_SHOWN = 3
BUDGETS_SHOWN = 6
FEW_VERIFIED = 5  # users of a day, below which nothing is said about those that the server did not confirm

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class SetUpStep:
    """One thing to do before codes flow."""

    title: str
    text: str
    link: str
    is_done: bool


@dataclass(frozen=True, slots=True)
class ChannelRow:
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


@dataclass(slots=True)
class FailureGroup:
    """The messages that were lost for one reason: the latest of them, and how many there are."""

    message: Message
    number: int = 0

    @property
    def icon(self) -> str:
        return channel_icon(self.message.channel)

    @property
    def ago(self) -> str:
        return time_ago(self.message.created_at)


def fill(request: HttpRequest, context: dict[str, Any]) -> dict[str, Any]:
    """Fill the context of the index page; unfold calls it."""
    projects = current_projects(request)
    # The figures' statements hold the ids: who may see which project is asked of the primary alone.
    counted = Project.objects.filter(pk__in=current_project_ids(request))
    steps = _steps(request, projects)
    budgets = budgets_of(projects)
    may_set_up = current_project_ids(request, Right.CHANGE) or request.user.is_superuser or not own_project_ids(request)
    context |= {
        "title": _("Overview"),
        "state": headline(
            _in_time(lambda: delivery_state.state_of(projects)),
            problems_of(request, projects, budgets),
            warnings_of(request),
            is_new=not steps[-1].is_done,
        ),
        "budgets": budgets[:BUDGETS_SHOWN],
        "steps": steps if may_set_up and not all(step.is_done for step in steps) else [],
        "figures": _in_time(
            lambda: _count(counted, current_project_ids(request, Right.SEE_TRAFFIC)), alias=database_for(request)
        ),
        "unread_alerts": unread_count(current_project_ids(request, Right.SEE_TRAFFIC)),
    }
    return context


def _steps(request: HttpRequest, projects: Any) -> list[SetUpStep]:
    first = projects.order_by("pk").first()
    if request.user.is_superuser:
        project = SetUpStep(
            _("Create a project"),
            _("One for each product or customer, with its own keys, channels and limits."),
            reverse("admin:verification_project_add"),
            first is not None,
        )
    else:
        project = SetUpStep(
            _("Join a project"),
            _("You are not a member of any project yet. Ask the operator to add you to one."),
            "",
            first is not None,
        )
    served = Provider.objects.serving(projects)
    return [
        project,
        SetUpStep(
            _("Connect a provider"),
            _("The account that sends your codes. To try things out, use the inbox, which sends nothing."),
            reverse("admin:verification_provider_add") if first else "",
            first is not None and served.exists(),
        ),
        SetUpStep(
            _("Create an API key"),
            _("Browsers and apps use it to call the session endpoints. It is shown only once."),
            reverse("admin:verification_project_issue_key", args=(first.pk,)) if first else "",
            ApiKey.objects.live().filter(project__in=projects, kind=KeyKind.API).exists(),
        ),
        SetUpStep(
            _("Send the first code"),
            _("Call POST /session/create with the key, as shown in the API reference. The session then appears here."),
            "/docs/",
            Session.objects.filter(project__in=projects).exists(),
        ),
    ]


def _in_time(ask: Callable[[], T], *, alias: str = DEFAULT_DB_ALIAS) -> T | None:
    """Ask this database; return None where it takes too long.

    So the overview opens on a service that sends millions a day, too.
    """
    try:
        with transaction.atomic(using=alias), reading(alias):
            with connections[alias].cursor() as cursor:
                cursor.execute("SET LOCAL statement_timeout = %s", [PATIENCE_MS])
            return ask()
    except DatabaseError:
        return None


def _count(projects: Any, traffic_of: list[int]) -> dict[str, Any]:
    """Count the day of these projects. Messages are listed of the projects whose traffic the user may see."""
    now = timezone.now()
    day = timedelta(hours=statistics.HOURS)
    ids = list(projects.values_list("pk", flat=True))
    counted = statistics.total(statistics.count(ids).values())
    recent = Message.objects.filter(created_at__gte=now - day)
    lost = statistics.newest_lost(recent, traffic_of, statistics.LOST, FAILURES_READ)
    summary = summarize(ids, ranges.last_hours(now, statistics.HOURS))
    return {
        "tiles": _tiles(summary, counted.lost),
        **_first_chart(summary),
        "loss": largest_loss(funnel(summary)),
        "sessions": counted.sessions,
        "verified": counted.verified,
        "rate": counted.percent,
        "messages": counted.number(),
        "delivered": counted.number("delivered"),
        "refusals": [
            {"rule": rule, "title": title_of_rule(rule), "times": times}
            for rule, times in summary.refused[:RULES_SHOWN]
        ],
        "refused": sum(times for _, times in summary.refused),
        "failed": counted.lost,
        "rows": [
            _row(line)
            for line in summary.by["channel"]
            if line.key in ChannelType.values and line.sums.counts["messages"]
        ],
        "unconfirmed": _unconfirmed(summary),
        "countries": [
            {
                "line": line,
                "name": format_country(line.subject) if line.subject else _("No country"),
                "link": reverse("admin:verification_figures", query={"country": line.subject}) if line.subject else "",
            }
            for line in conversion.by_country(projects, hours=statistics.HOURS)[:COUNTRIES_SHOWN]
        ],
        "observed": _observed(projects),
        "findings": GuardBlock.objects.filter(project__in=projects, lifted_at=None, until__gt=now).count(),
        "failures": _failures(lost.select_related("project", "provider").order_by("-created_at")),
    }


def _observed(projects: Any) -> str:
    """Return which projects are so new that no country is refused yet, and until when; empty where none is."""
    ends = {
        project.name: project.countries_observed_until
        for project in projects.exclude(traffic_guard=GuardMode.OFF).filter(guard_country_sends__gt=0)
    }
    new = sorted((end, name) for name, end in ends.items() if end is not None)
    if not new:
        return ""
    return _("The traffic guard still observes countries and refuses none of them: {projects}.").format(
        projects=", ".join(
            _("{project} until {day}").format(project=name, day=written_date(timezone.localtime(end), DAY))
            for end, name in new[:OBSERVED_SHOWN]
        )
    )


def _unconfirmed(summary: Summary) -> str:
    """Return the warning that the customer's server hardly ever confirms a user; empty where it does."""
    verified, confirmed = (summary.sums.counts[name] for name in ("sessions_verified", "sessions_proved"))
    if verified < FEW_VERIFIED or 2 * confirmed >= verified:
        return ""
    return _(
        "Your server confirmed {confirmed} of {verified} verified users. Call session/verify for each one: the"
        " traffic guard treats codes that are never confirmed as an attack."
    ).format(confirmed=grouped(confirmed), verified=grouped(verified))


def _tiles(summary: Summary, lost: int) -> list[Tile]:
    """Return the figures of the day, those of what was lost before the last."""
    link = f"{reverse('admin:verification_message_changelist')}?since=day&status=lost"
    failed = Tile(
        _("Failed or expired messages"),
        grouped(lost),
        _("View failures") if lost else _("none"),
        "",
        "bad" if lost else "",
        link,
    )
    day_tiles = tiles(summary)
    return [*day_tiles[:4], failed, *day_tiles[4:]]


def _first_chart(summary: Summary) -> dict[str, Any]:
    """Return the chart of the day's sessions and the table behind it."""
    context = over_time(summary)
    return {"charts": context["charts"][:1], "table": context["table"], "zone": context["zone"]}


def _failures(lost: QuerySet[Message]) -> list[FailureGroup]:
    """Return the latest failures, those of one reason together."""
    groups: dict[tuple[Any, ...], FailureGroup] = {}
    for message in lost[:FAILURES_READ]:
        alike = (message.project_id, message.channel, message.provider_id, message.status, message.error)
        groups.setdefault(alike, FailureGroup(message)).number += 1
    return list(groups.values())[:FAILURES_SHOWN]


def _row(line: SummaryRow) -> ChannelRow:
    counts = line.sums.counts
    total, delivered, failed, expired = (
        counts[f"messages{state}"] for state in ("", "_delivered", "_failed", "_expired")
    )
    return ChannelRow(
        label=line.name,
        icon=channel_icon(line.key),
        link=f"{reverse('admin:verification_message_changelist')}?channel__exact={line.key}&since=day&test=without",
        total=total,
        delivered=delivered,
        under_way=total - delivered - failed - expired,
        failed=failed,
        expired=expired,
    )
