"""The scorecard of a provider: its figures of a range and a country, beside the others that could carry the same."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from unfold.decorators import action

from verification.admin.base.database_router import database_for, reading
from verification.admin.base.date_ranges import RangeChoice, range_of
from verification.admin.base.display import OUTCOMES, format_error, page_address, time_label
from verification.admin.base.model_admin import ScopedAdmin
from verification.admin.base.permissions import own_project_ids
from verification.admin.figures.links import list_link
from verification.admin.figures.money import has_at_least, money_cell
from verification.admin.figures.over_time import over_time
from verification.admin.figures.words import percent, seconds
from verification.admin.providers.balance import balance_context
from verification.admin.providers.breaker import state_label
from verification.admin.providers.routing_rules import in_force, remedies
from verification.core.formats import DAY, DAY_AND_TIME, EXACT, grouped, written_date, written_moment
from verification.models import Provider
from verification.services.analytics import collapses, costs, impact, scorecards, trends
from verification.services.analytics.costs import Cost
from verification.services.analytics.impact import ARRIVED
from verification.services.analytics.ranges import Range
from verification.services.analytics.scorecards import Card, Opening
from verification.services.analytics.summary import summarize
from verification.services.analytics.timeline.words import answer_of
from verification.services.analytics.trends import ChangePoint

LONG_MINUTES = 5  # an open circuit from which its cost in users is estimated
ESTIMATED = 10  # open circuits of one page at most: each is a comparison with seven days


@action(description=gettext_lazy("Scorecard"), icon="monitoring", permissions=["view"], url_path="scorecard")
def scorecard(model_admin: ScopedAdmin, request: HttpRequest, object_id: str) -> HttpResponse:
    provider: Provider = model_admin.find(request, object_id)
    choice = range_of(request, "country")
    country = request.GET.get("country", "")[:3] or None
    projects = [provider.project_id] if provider.project_id else own_project_ids(request)
    with reading(database_for(request)):
        context = _context(provider, projects, choice, country)
    for line in context["worsened"]:
        line["actions"] = (
            remedies(request, provider.project_id or 0, provider, line["country"]) if line["country"] else []
        )
    context |= {
        "rules": in_force(projects, provider, country),
        "provider": provider,
        "state": state_label(provider),
        "country": country,
        "may_check": model_admin.has_change_permission(request, provider),
        "back": page_address(provider),
        **choice.offered,
    }
    title = _("{provider} scorecard").format(provider=provider.name)
    return TemplateResponse(
        request,
        "admin/verification/provider/scorecard.html",
        model_admin.page_context(request, title, object=provider, **context),
        status=400 if choice.wrong else 200,
    )


def _context(provider: Provider, projects: list[int], choice: RangeChoice, country: str | None) -> dict[str, Any]:
    span = choice.span
    where: dict[str, Any] = {"provider_id": provider.pk} | ({"country": country} if country else {})
    cards = scorecards.cards(projects, provider, span, country)
    before = scorecards.cards(projects, provider, span.before, country)[0]
    faults = scorecards.faults(projects, provider, span, country)
    summary = summarize(projects, span, where)
    countries = scorecards.countries(projects, provider, span)
    narrowing = {"provider": str(provider.pk)} | ({"country": country} if country else {})
    money = costs.grouped(projects, span, ("provider_id",), _where(provider, country))
    money_before = costs.grouped(projects, span.before, ("provider_id",), _where(provider, country))
    rows = [_row(card, provider, choice, money) for card in cards]
    row_before = _row(before, provider, choice, money_before)
    return {
        "is_unused": not cards[0].asked,
        "rows": rows,
        "before": row_before,
        "has_at_least": has_at_least(row[name] for row in (*rows, row_before) for name in ("cost", "per_verified")),
        "currency": costs.account_currency(),
        "faults": [(OUTCOMES.get(outcome, outcome), *_words(outcome, provider), calls) for outcome, calls in faults],
        "worsened": [_worsened(each, span, projects) for each in _breaks(provider, projects, span, country)],
        **over_time(summary),
        "openings": _openings(projects, scorecards.openings(provider, span)),
        "countries": [
            (choice.address(country=each), each, each == country)
            for each in dict.fromkeys([*countries, country])
            if each
        ],
        "all_countries": choice.address("country"),
        "sent_list": list_link("message", span, **narrowing),
        "balance": balance_context(provider),
        "lost_list": list_link("message", span, status="lost", **narrowing),
    }


def _words(outcome: str, provider: Provider) -> tuple[str, str]:
    """Return what a kind of fault means, and what to do about it."""
    answer = answer_of(outcome)
    return answer.text.format(name="It"), answer.remedy.format(name=provider.name)


def _where(provider: Provider, country: str | None) -> dict[str, Any]:
    """Return what all providers of the table have in common, as their figures are narrowed."""
    return {"channel": provider.channel} | ({"country": country} if country else {})


def _row(card: Card, provider: Provider, choice: RangeChoice, money: dict[tuple[Any, ...], Cost]) -> dict[str, Any]:
    cost = money.get((card.provider.pk,))
    verified = card.sums.counts["sessions_verified"]
    is_own = card.provider.project_id == provider.project_id
    address = reverse("admin:verification_provider_scorecard", args=(card.provider.pk,)) + choice.address()
    return {
        "name": card.provider.name,
        "is_this": card.provider.pk == provider.pk,
        "link": address if is_own and card.provider.pk != provider.pk else "",
        "asked": card.asked,
        "cost": money_cell(cost.known, cost.unknown) if cost else "–",
        "per_verified": money_cell(cost.per(verified), cost.unknown) if cost else "–",
        "accepted": percent(card.accepted),
        "delivered": percent(card.delivered),
        "conversion": percent(card.conversion),
        "accept": seconds(card.seconds("accept_times")),
        "accept_late": seconds(card.seconds("accept_times", 0.95)),
        "deliver": seconds(card.seconds("receipt_times")),
        "deliver_late": seconds(card.seconds("receipt_times", 0.95)),
    }


def _breaks(provider: Provider, projects: list[int], span: Range, country: str | None) -> list[ChangePoint]:
    """Return the countries where it delivers less than before: those of a collapse with the figures of its alert."""
    found = trends.worsened(projects, provider.pk, span, country)
    if len(projects) > 1:
        return found  # an alert is about one project
    told = {
        each.country: ChangePoint(each.country, each.at, each.before, each.since, each.counted)
        for each in collapses.lasting_ones(projects)
        if each.provider == provider and each.fell == ARRIVED and span.since <= each.at < span.until
    }
    return [told.get(each.country, each) for each in found]


def _worsened(point: ChangePoint, span: Range, projects: list[int]) -> dict[str, Any]:
    loss = impact.since_break(projects, point.country, point.at, span.until)
    return {
        "loss": loss.sentence if loss and loss.missed else "",
        "country": point.country,
        "at": written_date(point.at, DAY) if span.is_by_day else written_moment(point.at, DAY_AND_TIME),
        "before": point.before,
        "since": point.since,
        "asked": point.asked,
    }


def _openings(projects: list[int], openings: list[Opening]) -> list[dict[str, Any]]:
    long = [opening for opening in openings if opening.minutes >= LONG_MINUTES][:ESTIMATED]
    lost = {opening.at: impact.loss(projects, opening.at, opening.until) for opening in long}
    return [
        {
            "at": time_label(opening.at, EXACT),
            "lasted": _lasted(opening.minutes)
            if opening.until
            else _("{lasted} so far").format(lasted=_lasted(opening.minutes)),
            "reason": format_error(opening.reason),
            "loss": loss.sentence if (loss := lost.get(opening.at)) else "–",
        }
        for opening in openings
    ]


def _lasted(minutes: float) -> str:
    if minutes < 1:
        return _("{number} s").format(number=round(minutes * 60))
    return (
        _("{minutes} min").format(minutes=grouped(minutes, places=0))
        if minutes < 120
        else _("{number} h").format(number=grouped(minutes / 60, places=1))
    )
