"""The lines for the top of the overview: what keeps codes from going out now, and which protection is off."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.db.models import Q
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html
from django.utils.text import capfirst
from django.utils.translation import gettext as _

from verification.admin.base.display import format_country, time_ago
from verification.admin.base.permissions import own_project_ids
from verification.admin.providers.routing_rules import remedies, remove_link, sentence_of
from verification.core.client_address import unread_from
from verification.core.formats import DAY_AND_TIME, grouped, written_moment
from verification.models import Channel, ChannelType, CircuitBreaker, KillSwitch, Provider, Right
from verification.services.analytics import cost_budgets
from verification.services.analytics.collapses import Collapse
from verification.services.analytics.impact import ARRIVED
from verification.services.projects.ceilings import lower_budget, platform, spent_today
from verification.services.providers import rules
from verification.services.records import workers

SHOWN = 6  # more lines would push the figures off the screen


@dataclass(frozen=True, slots=True)
class OpenProblem:
    """One line. ``link`` leads to the page where the problem is solved; it is empty where the user cannot solve it.

    ``actions`` are the title and address of what may be done at once.
    """

    text: str
    detail: str = ""
    link: str = ""
    actions: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class ChannelBudget:
    """A channel's daily budget: the messages of today, and how many are allowed."""

    channel: Channel
    spent: int
    limit: int

    @property
    def percent(self) -> int:
        return min(100, round(100 * self.spent / self.limit)) if self.limit else 100

    @property
    def is_spent(self) -> bool:
        return self.spent >= self.limit


def budgets_of(projects: Any) -> list[ChannelBudget]:
    """Return the budgets, the fullest first.

    The operator's ceiling is a budget too, where an owner has set none or a larger one.
    """
    ceiling = platform().max_daily_budget
    spent = spent_today(projects)
    channels = Channel.objects.filter(project__in=projects, is_active=True)
    budgets = []
    for channel in channels.select_related("project"):
        limit = lower_budget(channel.effective_budget, ceiling)
        if limit is not None:
            budgets.append(ChannelBudget(channel, spent.get((channel.project_id, channel.type), 0), limit))
    return sorted(budgets, key=lambda budget: -budget.percent)


def problems_of(
    request: HttpRequest, projects: Any, budgets: list[ChannelBudget], failing: list[Collapse]
) -> list[OpenProblem]:
    """Return the problems, first those that stop most. ``failing`` are the collapses that nothing relieves."""
    return [
        *_stopped(request),
        *_undelivered(),
        *(
            OpenProblem(
                _("The project {project} is off.").format(project=project),
                _("API calls with its keys return 401."),
                _page("project", project.pk),
            )
            for project in projects.filter(is_enabled=False)[:SHOWN]
        ),
        *(
            OpenProblem(
                _("The daily message limit for {channel} in {project} is reached.").format(
                    channel=budget.channel, project=budget.channel.project
                ),
                _("{spent} of {limit} messages today. Sending resumes at midnight UTC.").format(
                    spent=grouped(budget.spent), limit=grouped(budget.limit or 0)
                ),
                _page("channel", budget.channel.pk),
            )
            for budget in budgets
            if budget.is_spent
        ),
        *_spent_in_money(projects),
        *_collapsed(request, failing),
        *_set_aside(request, projects),
    ][:SHOWN]


def _spent_in_money(projects: Any) -> list[OpenProblem]:
    has_budget = Q(daily_cost_budget__gt=0) | Q(monthly_cost_budget__gt=0)
    channels = Channel.objects.filter(has_budget, project__in=projects, is_active=True)
    rows = list(channels.select_related("project"))
    costs = cost_budgets.spent_today({row.project_id for row in rows}) if rows else {}
    pairs = [(row, costs.get((row.project_id, row.type))) for row in rows]
    return [
        OpenProblem(
            _("The monthly cost limit for {row} in {project} is reached.").format(row=row, project=row.project),
            _("{amount} of {budget} {currency} this month. Sending resumes when the month ends (UTC).").format(
                amount=grouped(cost.month_amount, places=2),
                budget=grouped(row.monthly_cost_budget or 0),
                currency=cost.currency,
            ),
            _page("channel", row.pk),
        )
        for row, cost in pairs
        if cost and row.monthly_cost_budget and cost.month_amount >= row.monthly_cost_budget
    ] + [
        OpenProblem(
            _("The daily cost limit for {row} in {project} is reached.").format(row=row, project=row.project),
            _("{amount} of {daily_cost_budget} {currency} today. Sending resumes at midnight UTC.").format(
                amount=grouped(cost.amount, places=2),
                daily_cost_budget=grouped(row.daily_cost_budget or 0),
                currency=cost.currency,
            ),
            _page("channel", row.pk),
        )
        for row, cost in pairs
        if cost and row.daily_cost_budget and cost.amount >= row.daily_cost_budget
    ]


def _undelivered() -> list[OpenProblem]:
    if workers.running().exists():
        return []
    return [OpenProblem(_("No worker is running."), _("Codes are queued until the operator starts one."))]


def _stopped(request: HttpRequest) -> list[OpenProblem]:
    link = reverse("admin:verification_killswitch_changelist") if request.user.is_superuser else ""
    return [
        OpenProblem(
            _("The operator has stopped all sending.")
            if switch.subject not in ChannelType.values
            else _("The operator has stopped {switch}.").format(switch=switch),
            f"{switch.reason or 'No reason was given'} · {time_ago(switch.since)}",
            link,
        )
        for switch in KillSwitch.objects.order_by("pk")
    ]


def warnings_of(request: HttpRequest) -> list[OpenProblem]:
    """Return what is wrong though codes go out: a proxy that nobody trusts, for the operator alone."""
    address = unread_from() if request.user.is_superuser else ""
    if not address:
        return []
    return [
        OpenProblem(
            _("Requests from {address} have X-Forwarded-For, but TRUSTED_PROXIES is 0.").format(address=address),
            _(
                "All callers appear to have that address, so limits per IP address are off. Set "
                "TRUSTED_PROXIES to the number of proxies in front."
            ),
        )
    ]


def _collapsed(request: HttpRequest, failing: list[Collapse]) -> list[OpenProblem]:
    """Return the providers that hardly deliver to a country, with what it cost and who does better there."""
    return [
        OpenProblem(
            format_html(
                _("{name} in {country}: {since} % delivered since {at}, down from {before} %.")
                if collapse.fell == ARRIVED
                else _("{name} in {country}: {since} % of users verified since {at}, down from {before} %."),
                name=_name(collapse.provider),
                country=format_country(collapse.country),
                since=collapse.since,
                before=collapse.before,
                at=written_moment(collapse.at, DAY_AND_TIME),
            ),
            " ".join(filter(None, (_cost(collapse), _better(collapse)))),
            reverse(
                "admin:verification_provider_scorecard",
                args=(collapse.provider.pk,),
                query={"country": collapse.country},
            )
            if collapse.provider.project_id
            else "",
            tuple(
                remedies(
                    request,
                    collapse.project_id,
                    collapse.provider,
                    collapse.country,
                    collapse.other[0] if collapse.other else None,
                )
            ),
        )
        for collapse in failing[:SHOWN]
    ]


def relieved_of(request: HttpRequest, relieved: list[Collapse]) -> list[OpenProblem]:
    """Return the routing rules that keep providers which still fail in a country from being tried first there."""
    found = (rules.relieving(each.project_id, each.provider, each.country) for each in relieved)
    may_change, way_back = own_project_ids(request, Right.CHANGE), request.get_full_path()
    return [
        OpenProblem(
            sentence_of(rule),
            _("Since {at}.").format(at=written_moment(rule.created_at, DAY_AND_TIME)),
            actions=((_("Remove"), remove_link(rule, way_back)),) if rule.project_id in may_change else (),
        )
        for rule in {rule.pk: rule for rule in found if rule}.values()
    ][:SHOWN]


def _cost(collapse: Collapse) -> str:
    loss = collapse.loss
    return loss.sentence if loss and loss.missed else ""


def _better(collapse: Collapse) -> str:
    other = collapse.other
    if other is None:
        return ""
    text = _("{name} delivers {share} % there.") if collapse.fell == ARRIVED else _("{name} verifies {share} % there.")
    return text.format(name=other[0].name, share=other[1])


def _set_aside(request: HttpRequest, projects: Any) -> list[OpenProblem]:
    """Return the providers that kept failing: the projects' own, and the system's, which members know by name only."""
    breakers = CircuitBreaker.objects.filter(
        provider__in=Provider.objects.serving(projects), open_until__isnull=False
    ).select_related("provider__project")
    return [
        OpenProblem(
            _("{name} is paused after repeated failures.").format(name=_name(breaker.provider)),
            capfirst(breaker.reason),
            "" if breaker.provider.is_system and not request.user.is_superuser else _page("provider", breaker.pk),
        )
        for breaker in breakers.order_by("-opened_at")[:SHOWN]
    ]


def _name(provider: Provider) -> str:
    channel = ChannelType(provider.channel).label
    return f"{provider} ({channel}, {provider.project or 'system'})"


def _page(name: str, pk: int) -> str:
    return reverse(f"admin:verification_{name}_change", args=(pk,))
