"""The figures: a range of time against the one before, as a funnel, over time, and by channel, provider and country."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.template.response import TemplateResponse
from django.utils import timezone

from verification.models import ChannelType, Project
from verification.panel.frame.scoping import own_projects
from verification.panel.pages.decisions import title_of_rule
from verification.services.oversight import report

RANGES = {  # by their word in the address: the label, and the range as hours or days
    "24h": ("24 hours", 24, 0),
    "today": ("Today", 0, 1),
    "7d": ("7 days", 0, 7),
    "30d": ("30 days", 0, 30),
    "90d": ("90 days", 0, 90),
    "12m": ("12 months", 0, 365),
}
USUAL_RANGE = "7d"
ROWS_SHOWN = 20  # of one breakdown: the others are in the download
BREAKDOWNS = (("channel", "Channel"), ("provider_id", "Provider"), ("country", "Country"), ("language", "Language"))
CHART_WIDTH, CHART_HEIGHT = 720, 160  # units of the chart's own; the page scales it
GAP = 0.25  # the part of a bar's place that stays free


@dataclass(frozen=True, slots=True)
class Step:
    """A step of the funnel: how many sessions reached it, and how many were lost since the step before."""

    word: str
    number: int
    share: float | None  # in percent of the first step
    lost: int
    before: int


@dataclass(frozen=True, slots=True)
class Bar:
    """One hour or day of the chart, in the chart's own units."""

    x: float
    width: float
    started: float
    verified: float
    label: str
    counts: tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class Line:
    """One row of a breakdown."""

    name: str
    is_country: bool
    figures: dict[str, Any]


def figures_view(request: HttpRequest, model_admin: Any) -> HttpResponse:
    projects = list(own_projects(request.user).order_by("name"))
    chosen = _chosen(request, projects)
    word = request.GET.get("range", USUAL_RANGE)
    if word not in RANGES:
        raise Http404
    _, hours, days = RANGES[word]
    now = timezone.now()
    span = report.last_days(now, days) if days else report.last_hours(now, hours)
    ids = [chosen.pk] if chosen else [project.pk for project in projects]
    if "csv" in request.GET:
        return _csv(ids, span)
    told, before = report.total(ids, span), report.total(ids, span.before)
    refused = report.refusals(ids, span)
    data = {"figures": report.as_dict(told), "before": report.as_dict(before), "refused": dict(refused)}
    if "json" in request.GET:
        by = {name.removesuffix("_id"): _breakdown(ids, span, name) for name, _ in BREAKDOWNS}
        lines = {name: [{name: line.name, **line.figures} for line in rows] for name, rows in by.items()}
        return JsonResponse({"since": span.since, "until": span.until, **data, **lines})
    context = model_admin.page_context(
        request,
        "Figures",
        opts=None,
        ranges=[(key, label) for key, (label, _, _) in RANGES.items()],
        chosen_range=word,
        range_label=RANGES[word][0].lower(),
        projects=projects if len(projects) > 1 else [],
        chosen_project=chosen,
        since=span.since,
        funnel=_funnel(told, before),
        told=data["figures"],
        before=data["before"],
        users=report.users(ids, span),
        users_before=report.users(ids, span.before),
        bars=(bars := _bars(report.over_time(ids, span), is_by_day=span.is_by_day)),
        most=max((bar.counts[0] for bar in bars), default=0),
        chart=(CHART_WIDTH, CHART_HEIGHT),
        step="day" if span.is_by_day else "hour",
        breakdowns=[
            {"title": title, "rows": rows[:ROWS_SHOWN], "number": len(rows)}
            for name, title in BREAKDOWNS
            if (rows := _breakdown(ids, span, name))
        ],
        refusals=[(title_of_rule(rule), times) for rule, times in refused],
    )
    return TemplateResponse(request, "admin/verification/figures.html", context)


def _chosen(request: HttpRequest, projects: Sequence[Project]) -> Project | None:
    """Return the project that the address names, of the user's own alone; None for all of them."""
    wanted = request.GET.get("project")
    if not wanted:
        return None
    found = next((project for project in projects if str(project.pk) == wanted), None)
    if found is None:
        raise Http404
    return found


def _funnel(told: report.Told, before: report.Told) -> list[Step]:
    steps: list[Step] = []
    for word, name in report.FUNNEL:
        number = told.counts[name]
        lost = max(0, steps[-1].number - number) if steps else 0
        share = report.percent(number, told.counts["sessions"])
        steps.append(Step(word.capitalize(), number, share, lost, before.counts[name]))
    return steps


def _bars(over_time: list[tuple[datetime, Any]], *, is_by_day: bool) -> list[Bar]:
    """Return the bars of the chart; none where nothing happened."""
    most = max((counts["sessions"] for _, counts in over_time), default=0)
    if not most:
        return []
    place = CHART_WIDTH / len(over_time)
    return [
        Bar(
            x=round(number * place + GAP * place / 2, 2),
            width=round((1 - GAP) * place, 2),
            started=round(CHART_HEIGHT * counts["sessions"] / most, 2),
            verified=round(CHART_HEIGHT * counts["sessions_verified"] / most, 2),
            label=f"{at:%-d %b %Y}" if is_by_day else f"{at:%-d %b, %H:%M} UTC",
            counts=(counts["sessions"], counts["sessions_sent"], counts["sessions_verified"]),
        )
        for number, (at, counts) in enumerate(over_time)
    ]


def _breakdown(projects: list[int], span: report.Range, name: str) -> list[Line]:
    """Return the figures by one dimension, the rows with most sessions first."""
    found = report.grouped(projects, span, (name,))
    names = report.names(name, found)
    lines = [
        Line(names.get(key) or _name(name, key), name == "country" and bool(key), report.as_dict(told))
        for (key,), told in found.items()
    ]
    return sorted(lines, key=lambda line: (-line.figures["started"], -line.figures["messages"], line.name))


def _name(dimension: str, key: str) -> str:
    if dimension == "channel":
        return str(ChannelType(key).label) if key in ChannelType.values else "Not sent"
    return key or "No country"


def _csv(projects: list[int], span: report.Range) -> HttpResponse:
    """Return the counts of each hour or day, as a file."""
    response = HttpResponse(content_type="text/csv; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="figures-{span.since:%Y-%m-%d}.csv"'
    rows = csv.writer(response)
    rows.writerow(["from", *report.COUNTS])
    for at, counts in report.over_time(projects, span):
        rows.writerow([at.isoformat(), *(counts[name] for name in report.COUNTS)])
    return response
