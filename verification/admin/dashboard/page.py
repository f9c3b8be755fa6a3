"""The overview: whether codes go out, the last 24 hours of the user's projects, and what to do next."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from django.conf import settings
from django.db import DEFAULT_DB_ALIAS, DatabaseError, connections, transaction
from django.http import HttpRequest
from django.urls import reverse
from django.utils.translation import gettext as _

from verification.admin.base.current_project import current_project_ids, current_projects, form_link
from verification.admin.base.database_router import database_for, reading
from verification.admin.base.permissions import own_project_ids
from verification.admin.dashboard.day import figures_of_day
from verification.admin.dashboard.headline import PLAIN, Headline, headline
from verification.admin.dashboard.problems import budgets_of, problems_of, relieved_of, warnings_of
from verification.models import (
    ApiKey,
    KeyKind,
    Project,
    Provider,
    Right,
    Session,
)
from verification.services.analytics import collapses, delivery_state
from verification.services.maintenance.demo import path as demo_path
from verification.services.maintenance.demo import read_demo
from verification.services.notifications.alerts import unread_count

PATIENCE_MS = 2000  # how long a statement may run: a page that is open all day must not load the database for longer
BUDGETS_SHOWN = 6

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class SetUpStep:
    """One thing to do before codes flow."""

    title: str
    text: str
    link: str
    is_done: bool


def fill(request: HttpRequest, context: dict[str, Any]) -> dict[str, Any]:
    """Fill the context of the index page; unfold calls it."""
    projects = current_projects(request)
    # The figures' statements hold the ids: who may see which project is asked of the primary alone.
    counted = Project.objects.filter(pk__in=current_project_ids(request))
    traffic_of = current_project_ids(request, Right.SEE_TRAFFIC)
    steps = _steps(request, _without_demo(projects))
    budgets = budgets_of(projects)
    failing, relieved = collapses.open_and_relieved(projects.values_list("pk", flat=True))
    rules_against = relieved_of(request, relieved)
    may_set_up = current_project_ids(request, Right.CHANGE) or request.user.is_superuser or not own_project_ids(request)
    context |= {
        "title": _("Overview"),
        "state": headline(
            _in_time(lambda: delivery_state.state_of(projects)),
            problems_of(request, projects, budgets, failing),
            warnings_of(request),
            is_new=not steps[-1].is_done,
        ),
        "relieved": Headline(PLAIN, tuple(rules_against)) if rules_against else None,
        "budgets": budgets[:BUDGETS_SHOWN],
        "steps": steps if may_set_up and not all(step.is_done for step in steps) else [],
        "figures": _in_time(lambda: figures_of_day(counted, traffic_of), alias=database_for(request)),
        "unread_alerts": unread_count(traffic_of),
    }
    return context


def _without_demo(projects: Any) -> Any:
    """Leave out the project that the first ``manage.py up`` made: the user did none of its steps."""
    demo = read_demo(demo_path()) if settings.IS_EMBEDDED else None
    return projects.exclude(pk=demo.project) if demo else projects


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
            form_link("provider_add", first) if first else "",  # from which the project's own list of steps goes on
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
            _("Example code in six languages, with your URL filled in. The session then appears here."),
            reverse("admin:verification_project_show_code", args=(first.pk,)) if first else "",
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
