"""The figures: a range of time against the one before, as a funnel, over time, and by channel, provider and country."""

from __future__ import annotations

import csv
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBadRequest, JsonResponse
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils import translation
from django.utils.translation import get_language, gettext_lazy
from django.utils.translation import gettext as _

from verification.admin.base.csv_export import harmless
from verification.admin.base.current_project import PARAMETER, current_project_id, follow_address
from verification.admin.base.database_router import database_for, reading
from verification.admin.base.date_ranges import RangeChoice, range_of
from verification.admin.base.permissions import own_project_ids, own_projects
from verification.admin.base.statistics_filters import EMPTY
from verification.admin.figures.funnel import funnel, largest_loss
from verification.admin.figures.links import list_link, refusals_link
from verification.admin.figures.money import money_cell
from verification.admin.figures.offers import offer_row
from verification.admin.figures.over_time import delivery_times, over_time
from verification.admin.figures.tiles import FEW, tiles
from verification.admin.figures.words import percent, range_end, range_start, seconds
from verification.admin.providers.routing_rules import TRIAL_PERCENT, propose_link
from verification.admin.traffic.decisions import title_of_rule
from verification.core.numbers import whole_number
from verification.models import Project, Provider, Right
from verification.services.analytics import costs, report
from verification.services.analytics.costs import Cost
from verification.services.analytics.price_comparison import Offer
from verification.services.analytics.ranges import Range
from verification.services.analytics.report import FigureSums
from verification.services.analytics.summary import Summary, SummaryRow, as_dict, summarize, word

ROWS_SHOWN = 20  # of one breakdown: the others are in the download
BREAKDOWNS = {
    "project": gettext_lazy("Project"),
    "channel": gettext_lazy("Channel"),
    "provider_id": gettext_lazy("Provider"),
    "country": gettext_lazy("Country"),
    "language": gettext_lazy("Language"),
}
LIST_FILTERS = {  # the filters of the lists, by the dimension
    "project": "project",
    "channel": "channel__exact",
    "provider_id": "provider",
    "country": "country",
    "language": "language",
}


@dataclass(frozen=True, slots=True)
class BreakdownRow:
    """One row of a breakdown: its figures, the page narrowed to it, and the lists behind its numbers."""

    line: SummaryRow
    is_country: bool
    is_language: bool
    figures: dict[str, Any]
    narrowed: str
    sessions: str
    messages: str
    lost: str
    cost: Cost
    scorecard: str = ""

    @property
    def shown_cost(self) -> str:
        return money_cell(self.cost.known, self.cost.unknown)

    @property
    def per_verified(self) -> str:
        return money_cell(self.cost.per(self.line.sums.counts["sessions_verified"]), self.cost.unknown)

    @property
    def conversion(self) -> str:
        return percent(self.line.sums.conversion)

    @property
    def conversion_before(self) -> str:
        """Return the conversion of the time before, where it is one of enough sessions to mean something."""
        return percent(self.line.before.conversion if self.line.before.counts["sessions_sent"] >= FEW else None)

    @property
    def deliver(self) -> str:
        return seconds(self.line.sums.seconds(delivery_times(self.line.sums), 0.5))

    @property
    def verify(self) -> str:
        return seconds(self.line.sums.seconds("verify_times", 0.5))


FILE_LANGUAGE = "en"  # whatever the reader's: programs read a file by its words


@dataclass(frozen=True, slots=True)
class FiguresQuery:
    """The choice that the address makes: the projects, the range, and the values that narrow the figures."""

    projects: list[Project]
    chosen: Project | None
    range: RangeChoice
    where: dict[str, Any]

    @property
    def span(self) -> Range:
        return self.range.span

    @property
    def ids(self) -> list[int]:
        return [self.chosen.pk] if self.chosen else [project.pk for project in self.projects]

    @property
    def narrowing(self) -> dict[str, str]:
        """Return the filters of the page as the lists of sessions and messages take them."""
        found = {LIST_FILTERS[name]: str(known or EMPTY) for name, known in self.where.items()}
        return found | ({"project": str(self.chosen.pk)} if self.chosen else {})


def figures_view(request: HttpRequest, model_admin: Any) -> HttpResponse:
    if redirect := follow_address(request):
        return redirect
    choice = _read_query(request)
    is_file = "csv" in request.GET or "json" in request.GET
    if choice.range.wrong and is_file:
        return HttpResponseBadRequest(choice.range.wrong, content_type="text/plain")
    language = FILE_LANGUAGE if is_file else get_language()
    with reading(database_for(request)), translation.override(language):
        summary = summarize(
            choice.ids,
            choice.span,
            choice.where,
            with_system=request.user.is_superuser,
        )
    if "csv" in request.GET:
        return _csv(summary, request.GET["csv"])
    if "json" in request.GET:
        return JsonResponse(as_dict(summary))
    context = model_admin.page_context(
        request, _("Figures"), opts=None, choice=choice, **_choices(choice), **_context(request, choice, summary)
    )
    status = 400 if choice.range.wrong else 200
    return TemplateResponse(request, "admin/verification/figures.html", context, status=status)


def _read_query(request: HttpRequest) -> FiguresQuery:
    projects = list(own_projects(request.user).order_by("name"))
    chosen_id = request.GET.get(PARAMETER) or current_project_id(request)
    chosen = next((project for project in projects if str(project.pk) == str(chosen_id)), None)
    return FiguresQuery(projects, chosen, range_of(request, *map(word, BREAKDOWNS)), _where(request))


def _where(request: HttpRequest) -> dict[str, Any]:
    """Return the values that narrow the figures. They can be anything: only rows of the user's projects are read."""
    where: dict[str, Any] = {}
    for name in BREAKDOWNS:
        value = request.GET.get(word(name))
        if not value or name == "project":
            continue
        where[name] = "" if value == EMPTY else value[:20]
        if name == "provider_id":
            where[name] = 0 if value == EMPTY else whole_number(value)
            if where[name] is None:
                raise Http404
    return where


def _choices(choice: FiguresQuery) -> dict[str, Any]:
    """Return what the head of the page offers."""
    return {
        **choice.range.offered,
        "files": (choice.range.address(csv=""), choice.range.address(json="")),
    }


def _context(request: HttpRequest, choice: FiguresQuery, summary: Summary) -> dict[str, Any]:
    span, steps = summary.span, funnel(summary)
    scored = set(Provider.objects.filter(project__in=choice.ids).values_list("pk", flat=True))
    breakdowns = [
        {
            "title": title,
            "rows": [
                _row(choice, name, line, summary.money.of(name, line.key), scored)
                for line in summary.by[name][:ROWS_SHOWN]
            ],
            "number": len(summary.by[name]),
            "csv": choice.range.address(csv=word(name)),
        }
        for name, title in BREAKDOWNS.items()
        if summary.by[name] and name not in choice.where and (name != "project" or len(summary.by[name]) > 1)
    ]
    return {
        "is_empty": summary.is_empty,
        "since": range_start(span.since, span),
        "until": range_end(span),
        "since2": range_start(span.before.since, span),
        "until2": range_start(span.before.until, span) if span.before != span.whole_before else "",
        "tiles": tiles(summary, choice.narrowing),
        "funnel": steps,
        "largest_loss": largest_loss(steps),
        **over_time(summary),
        "breakdowns": breakdowns,
        "money": summary.money,
        "offers": [offer_row(offer, _trial(request, choice, summary, offer)) for offer in summary.money.offers],
        "may_try": bool(own_project_ids(request, Right.CHANGE)),
        "chips": [
            (BREAKDOWNS[name], _name_of(summary, name, value), choice.range.address(word(name)))
            for name, value in choice.where.items()
        ],
        "refusals": [
            (title_of_rule(rule), times, refusals_link(span, choice.narrowing, rule=rule))
            for rule, times in summary.refused
        ],
    }


def _trial(request: HttpRequest, choice: FiguresQuery, summary: Summary, offer: Offer) -> str:
    """Return the address that tries this provider with a part of the messages.

    Empty where the user may not, and for a provider that carries most of them already.
    """
    project = offer.project_id or (choice.ids[0] if len(choice.ids) == 1 else 0)
    carried = sum(line.sums.counts["messages"] for line in summary.by["provider_id"] if line.key == offer.provider_id)
    if project not in own_project_ids(request, Right.CHANGE) or 2 * carried > offer.compared + offer.left_out:
        return ""
    return propose_link(
        project, offer.provider_id, choice.where.get("country", ""), TRIAL_PERCENT, request.get_full_path()
    )


def _name_of(summary: Summary, dimension: str, value: Any) -> str:
    lines = summary.by[dimension]
    return lines[0].name if lines else str(value or _("None"))


def _row(choice: FiguresQuery, dimension: str, line: SummaryRow, cost: Cost, scored: set[int]) -> BreakdownRow:
    """Return a row of a breakdown. ``scored`` are the providers whose scorecards the user may open."""
    value = str(line.key or EMPTY)
    narrowing = choice.narrowing | {LIST_FILTERS[dimension]: value}
    return BreakdownRow(
        line,
        dimension == "country" and bool(line.key),
        dimension == "language" and bool(line.key),
        report.as_dict(line.sums),
        narrowed=choice.range.address(**{word(dimension): value}),
        sessions=list_link("session", choice.span, **narrowing),
        messages=list_link("message", choice.span, **narrowing),
        lost=list_link("message", choice.span, status="lost", **narrowing),
        cost=cost,
        scorecard=scorecard_address(line.key, choice.range.query)
        if dimension == "provider_id" and line.key in scored
        else "",
    )


def scorecard_address(provider: int, query: dict[str, str]) -> str:
    shared = {name: value for name, value in query.items() if name in ("range", "from", "to", "country")}
    return f"{reverse('admin:verification_provider_scorecard', args=(provider,))}?{urlencode(shared)}"


def _csv(summary: Summary, kind: str) -> HttpResponse:
    """Return the figures of each hour or day, or of each row of one breakdown, as a file."""
    names = {word(name): name for name in BREAKDOWNS}
    if kind and kind not in names:
        raise Http404
    lines: Iterable[tuple[Any, FigureSums, Cost]] = (
        ((line.name, line.sums, summary.money.of(names[kind], line.key)) for line in summary.by[names[kind]])
        if kind
        else ((at.isoformat(), sums, summary.money.at(at)) for at, sums in summary.over_time)
    )
    response = HttpResponse(content_type="text/csv; charset=utf-8")
    name = f"figures-{kind + '-' if kind else ''}{summary.span.since:%Y-%m-%d}-to-{summary.span.last_day}.csv"
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    rows = csv.writer(response)
    rows.writerow([kind or "from", *_cells(FigureSums(), summary.money.cost)])
    rows.writerows([harmless(first), *_cells(sums, cost).values()] for first, sums, cost in lines)
    return response


def _cells(sums: FigureSums, cost: Cost) -> dict[str, Any]:
    """Return the figures flat, the median and the 95th percentile of a time each in a column."""
    flat: dict[str, Any] = {}
    for name, value in report.as_dict(sums).items():
        flat |= (
            {f"{name}_{part}": number for part, number in value.items()} if isinstance(value, dict) else {name: value}
        )
    return flat | costs.as_dict(cost, sums.counts["sessions_verified"])
