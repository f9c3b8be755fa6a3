"""The search of all traffic: one box, which leads to the story of what it finds."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from http import HTTPStatus
from typing import Any

from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _

from verification.admin.base import database_router, display
from verification.admin.base.lookups import TooManyLookUps, count_look_up
from verification.admin.base.permissions import has_right, own_project_ids, own_projects
from verification.admin.base.timeline import ICONS, STATES
from verification.admin.palette import matching
from verification.admin.traffic.decisions import title_of_rule
from verification.core.addresses import mask
from verification.core.formats import EXACT
from verification.models import Decision, Right
from verification.services.analytics import search
from verification.services.analytics.ranges import DAY
from verification.services.analytics.timeline.diagnosis import Diagnosis
from verification.services.analytics.timeline.read import in_brief
from verification.services.analytics.timeline.rows import Rows
from verification.services.analytics.timeline.words import manual_kind

TERM = "q"  # the parameter of the address
SHOWN_READINGS = 5  # numbers that a term without its country was read as


@dataclass(frozen=True, slots=True)
class SearchHit:
    """One story in the list of several."""

    link: str
    icon: str
    tone: str
    sentence: str
    began: str
    ago: str
    kind: str
    to: str
    project: str


@dataclass(frozen=True, slots=True)
class RefusalRow:
    """One line of the decision log that may be about what was looked for."""

    link: str
    title: str
    subject: str
    times: int
    last: str
    project: str


def find_view(request: HttpRequest, model_admin: Any) -> HttpResponse:
    """Lead to the story of the one hit, list several, or say what it means that there is none."""
    term = request.GET.get(TERM, "").strip()
    if not has_right(request, Right.SEE_TRAFFIC):
        raise PermissionDenied
    projects = own_project_ids(request, Right.SEE_TRAFFIC)
    too_many = ""
    with database_router.reading(database_router.database_for(request)):
        try:
            results = search.search(term, projects, before_addresses=partial(count_look_up, request))
        except TooManyLookUps as error:
            results, too_many = search.SearchResult(), str(error)
        if results.only is not None:
            return HttpResponseRedirect(display.page_address(results.only))
        hits = hits_of(results, search.MOST)
    context = model_admin.page_context(
        request,
        _("Find"),
        opts=None,
        term=term,
        too_many=too_many,
        hits=hits,
        is_cut=results.is_cut,
        refusals=[_refused(decision) for decision in results.refusals],
        read_as=results.addresses[:SHOWN_READINGS],
        is_masked=search.is_masked(term),
        is_request_id=search.is_request_id(term),
        is_one_project=len(projects) == 1,
        pages=matching(request, term) if term and not hits and not too_many else [],
        keeps=_shortest_retention(request) if term and not hits else None,
        most=search.MOST,
        messages_list=reverse("admin:verification_message_changelist"),
    )
    status = HTTPStatus.TOO_MANY_REQUESTS if too_many else HTTPStatus.OK
    response = TemplateResponse(request, "admin/verification/find.html", context, status=status)
    response["Cache-Control"] = "no-store"
    return response


def hits_of(found: search.SearchResult, most: int) -> list[SearchHit]:
    """Return the newest of these stories, each with the sentence that says how it ended."""
    return [_hit(rows, diagnosis) for rows, diagnosis in in_brief(found.sessions, found.messages)[:most]]


def _hit(rows: Rows, diagnosis: Diagnosis) -> SearchHit:
    return SearchHit(
        link=display.page_address(rows.session or rows.messages[0]),
        icon=ICONS[diagnosis.tone],
        tone=STATES[diagnosis.tone],
        sentence=diagnosis.sentence,
        began=display.time_label(rows.began_at, EXACT),
        ago=display.time_ago(rows.began_at) if timezone.now() - rows.began_at < DAY else "",  # else the same time again
        kind=_("Verification") if rows.session else manual_kind(rows.messages[0]),
        to=mask(rows.recipient.address),
        project=rows.project.name,
    )


def _refused(decision: Decision) -> RefusalRow:
    return RefusalRow(
        link=display.page_address(decision),
        title=title_of_rule(decision.rule),
        subject=decision.subject,
        times=decision.count,
        last=display.time_label(decision.last_at, EXACT),
        project=decision.project.name,
    )


def _shortest_retention(request: HttpRequest) -> int | None:
    """Return for how many days all of the user's projects keep their rows; None without a project."""
    days: int | None = (
        own_projects(request.user, Right.SEE_TRAFFIC)
        .order_by("retention_days")
        .values_list("retention_days", flat=True)
        .first()
    )
    return days
