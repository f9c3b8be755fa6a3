"""The decision log: which rule refused traffic or would have, how often, and by which figures."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils import timezone
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.text import capfirst
from django.utils.translation import gettext_lazy as _

from verification.admin.base import display
from verification.admin.base.statistics_filters import LastBetweenFilter
from verification.admin.base.traffic_admin import SPANS, CreatedFilter, TrafficAdmin
from verification.core import countries
from verification.core.formats import grouped
from verification.models import ChannelType, Decision, GuardRule, ListSubject, Right
from verification.models.guard import ABOUT_COUNTRIES
from verification.services.protection.guard import findings
from verification.services.records.decisions import RULES, SUBJECT_MAX_LENGTH

COUNTRY_RULES = ("country", *ABOUT_COUNTRIES)  # the rules whose subject is a country
SENTENCE_RULES = ("connection", "connection_proof")  # those whose subject says in words what was wrong
NAMES = {
    "entry": _("matched by"),
    "retry_after": _("seconds left"),
    "channel": _("channel"),
    "channels": _("channels"),
    "country": _("country"),
    "type": _("kind of number"),
    "budget": _("message limit"),
    "budget_in_money": _("cost limit"),
    "key": _("key"),
    "networks": _("networks"),
    "limit": _("limit"),
    "known_since": _("known since"),
}
WORDS = {str(value): label for value, label in (*ChannelType.choices, *ListSubject.choices)}


def title_of_rule(rule: str) -> str:
    return str(RULES[rule].title) if rule in RULES else rule.replace("_", " ").capitalize()


def title_of_decision(decision: Decision) -> SafeString:
    is_country = decision.rule in COUNTRY_RULES
    subject = display.format_country(decision.subject) if is_country else decision.subject
    return format_html("{}: {}", title_of_rule(decision.rule), subject)


REFUSED, NOTHING_REFUSED = "refused", "nothing"  # in the address


class RuleFilter(admin.SimpleListFilter):
    title = _("rule")
    parameter_name = "rule"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [(name, title_of_rule(name)) for name in RULES]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Decision]) -> QuerySet[Decision]:
        return queryset.filter(rule=self.value()) if self.value() else queryset


class OutcomeFilter(admin.SimpleListFilter):
    title = _("outcome")
    parameter_name = "outcome"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [(REFUSED, str(_("Refused"))), (NOTHING_REFUSED, str(_("Nothing refused")))]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Decision]) -> QuerySet[Decision]:
        chosen = {REFUSED: {"refused__gt": 0}, NOTHING_REFUSED: {"refused": 0}}
        return queryset.filter(**chosen.get(self.value() or "", {}))


class LastFilter(CreatedFilter):
    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        span = SPANS.get(self.value() or "")
        return queryset.filter(last_at__gte=timezone.now() - span) if span else queryset


@admin.register(Decision)
class DecisionAdmin(TrafficAdmin):
    viewers = Right.SEE_TRAFFIC
    empty_text = _("Nothing has been refused so far.")
    has_history = False
    list_display = ("rule_title", "subject_label", "times", "refusals", "figures_excerpt", "project", "last")
    list_filter = (LastBetweenFilter, RuleFilter, OutcomeFilter, LastFilter)
    list_select_related = ("project",)
    intro = _(
        "Why requests were refused, or would have been. Callers never learn which rule applied. One line per rule,"
        " subject and hour. “Nothing refused” means that the traffic guard only observed, or that the code was sent"
        " another way."
    )
    search_fields = ("subject",)
    search_help_text = _("Subject, such as +4915… or Morocco")
    ordering = ("-last_at", "-id")
    fieldsets = (
        (None, {"fields": ("rule_title", "meaning", "subject_label", "project", "times", "refusals", "all_figures")}),
        (_("When"), {"fields": ("first_time", "last_time")}),
    )
    readonly_fields = (
        "rule_title",
        "meaning",
        "subject_label",
        "times",
        "refusals",
        "all_figures",
        "first_time",
        "last_time",
    )

    first_time = display.column("first_at", _("First time in this hour"))
    last_time = display.column("last_at", _("Last time in this hour"))

    def look_up(self, request: HttpRequest, rows: Any, term: str) -> Any:
        written = {value for value, word in WORDS.items() if word.casefold() == term.casefold()}
        return rows.filter(subject__in={countries.country_of(term) or term[:SUBJECT_MAX_LENGTH], *written})

    @admin.display(description=_("Rule"))
    def rule_title(self, decision: Decision) -> str:
        return title_of_rule(decision.rule)

    @admin.display(description=_("Meaning"))
    def meaning(self, decision: Decision) -> str:
        return str(RULES[decision.rule].meaning) if decision.rule in RULES else "–"

    @admin.display(description=_("Applies to"))
    def subject_label(self, decision: Decision) -> str:
        if decision.rule in COUNTRY_RULES:
            return display.format_country(decision.subject)
        if decision.rule in SENTENCE_RULES:
            return decision.subject
        return display.monospace(WORDS.get(decision.subject, decision.subject))

    @admin.display(description=_("Count"))
    def times(self, decision: Decision) -> str:
        return grouped(decision.count)

    @admin.display(description=_("Refused"))
    def refusals(self, decision: Decision) -> str:
        return grouped(decision.refused) if decision.refused else display.label(_("Nothing refused"))

    @admin.display(description=_("Details"))
    def figures_excerpt(self, decision: Decision) -> str:
        return display.excerpt(figures_of(decision), 80)

    @admin.display(description=_("Details"))
    def all_figures(self, decision: Decision) -> str:
        if "country" not in decision.figures or decision.rule in GuardRule.values:
            return figures_of(decision) or "–"
        figures = (
            (capfirst(_name(name)), display.format_country(str(value)) if name == "country" else _written(value))
            for name, value in decision.figures.items()
        )
        return format_html_join(SafeString("<br>"), "{}: {}", figures)

    @admin.display(description=_("Last"))
    def last(self, decision: Decision) -> str:
        return display.time_ago_label(decision.last_at)


def figures_of(decision: Decision) -> str:
    """Write a decision's figures: for a rule of the guard as its sentence, else each by its name."""
    if decision.rule in GuardRule.values:
        try:
            return findings.what_was_counted(GuardRule(decision.rule), decision.figures)
        except KeyError:
            pass  # a line that an earlier version wrote
    written = (f"{_name(name)}: {_written(value)}" for name, value in decision.figures.items())
    return capfirst(", ".join(written))


def _name(figure: str) -> str:
    return str(NAMES.get(figure, figure.replace("_", " ")))


def _written(value: object) -> str:
    if isinstance(value, list):
        return ", ".join(map(_written, value))
    return str(WORDS.get(str(value), str(value).replace("_", " ")))
