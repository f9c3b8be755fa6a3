"""Alerts: the events that the owners were notified of, and how."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

from django.contrib import admin, messages
from django.contrib.admin.utils import unquote
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from verification.admin.alert_destinations import NO_MAIL_SERVER
from verification.admin.base import display
from verification.admin.base.columns import ErrorColumn
from verification.admin.base.display import page_address
from verification.admin.base.permissions import own_project_ids
from verification.admin.base.traffic_admin import CreatedFilter, TrafficAdmin
from verification.admin.providers.routing_rules import remedies
from verification.core import mail_server
from verification.core.formats import DAY_AND_TIME, DAY_OF_YEAR_AND_TIME, written_moment
from verification.core.numbers import whole_number
from verification.models import Alert, AlertService, Channel, Provider, Right
from verification.models.alerts import COLLAPSE, OUTAGE
from verification.services.analytics import alert_ends, collapses, cost_budgets, impact
from verification.services.analytics.alert_ends import AlertEnd
from verification.services.analytics.impact import CountryBreak, Loss, break_key, read_break_key
from verification.services.analytics.summary import ABOUT_CHANNELS, ABOUT_PROVIDERS
from verification.services.notifications.alerts import mark_read

BUDGETS = ("daily_budget", cost_budgets.KIND, cost_budgets.MONTH_KIND)
FACTS = "facts"  # of the alert whose page is shown
WITH_CHANNEL_PAGE = (*ABOUT_CHANNELS, *BUDGETS)


@dataclass(frozen=True, slots=True)
class AlertFacts:
    """What the page of an alert works out once: its end, what it cost, and the steps against what it is about."""

    end: AlertEnd | None
    loss: Loss | None
    steps: list[tuple[str, str]]


def _keep_facts(request: HttpRequest, alert: Alert) -> AlertFacts:
    """Return the facts. They are kept on the alert, as its columns are not given the request."""
    if found := getattr(alert, FACTS, None):
        return cast(AlertFacts, found)
    end = alert_ends.end_of(alert)
    loss = impact.of_alert(
        project=alert.project_id, kind=alert.kind, key=alert.key, since=alert.created_at, until=alert.ended_at
    )
    facts = AlertFacts(end, loss, steps_of(request, alert, end))
    setattr(alert, FACTS, facts)
    return facts


def _hours(alert: Alert) -> str:
    """Return the time for which the impact is estimated."""
    span = impact.span_of_alert(kind=alert.kind, key=alert.key, since=alert.created_at, until=alert.ended_at)
    if span is None:
        return ""
    since, until = (at and written_moment(at, DAY_AND_TIME) for at in span)
    return (_("{since} to {until}") if until else _("since {since}")).format(since=since, until=until)


class AlertStateFilter(admin.SimpleListFilter):
    title = gettext_lazy("state")
    parameter_name = "state"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [("unread", _("Unread")), ("read", _("Read"))]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Alert]) -> QuerySet[Alert]:
        if self.value() not in ("unread", "read"):
            return queryset
        return queryset.filter(read_at__isnull=self.value() == "unread")


@admin.register(Alert)
class AlertAdmin(ErrorColumn, TrafficAdmin):
    """Opening an alert marks it as read, for all members of its project."""

    viewers = Right.SEE_TRAFFIC
    empty_text = gettext_lazy("No alerts so far.")
    has_history = False
    list_display = ("state", "title_excerpt", "delivery_state", "project", "created")
    list_display_links = ("title_excerpt",)
    list_filter = (AlertStateFilter, CreatedFilter)
    list_select_related = ("project",)
    intro = gettext_lazy(
        'Each event sends one alert to every active <a class="ww-link" href="../alertservice/">alert destination</a>.'
    )
    ordering = ("-created_at", "-id")
    actions: Any = ("mark_selected_read",)
    fieldsets = (
        (
            None,
            {
                "fields": (
                    "title",
                    "detail",
                    "next_steps",
                    "project",
                    "created_time",
                    "ending",
                    "users_lost",
                    "where_to_look",
                )
            },
        ),
        (
            gettext_lazy("Delivery"),
            {"fields": ("delivery_state", "mailed_time", "posted_time", "services", "error_text")},
        ),
    )
    readonly_fields = (
        "next_steps",
        "created_time",
        "ending",
        "users_lost",
        "where_to_look",
        "mailed_time",
        "posted_time",
        "services",
        "delivery_state",
        "error_text",
    )

    def get_intro(self, request: HttpRequest) -> Any:
        """Say that no mail goes out where that is so."""
        if mail_server.has_mail_server():
            return self.intro
        return format_html("{} {}", mark_safe(self.intro), NO_MAIL_SERVER)  # noqa: S308  (our own words, with a link)

    created_time = display.column("created_at", gettext_lazy("Triggered"))

    @admin.display(description=gettext_lazy("Status"))
    def ending(self, alert: Any) -> str:
        end = alert.facts.end
        if end is None or end.at is None:
            return display.label(_("Ongoing"), "warning")
        return _("Ended at {time}").format(time=written_moment(end.at, DAY_AND_TIME))

    mailed_time = display.column("mailed_at", gettext_lazy("E-mail sent"))
    posted_time = display.column("posted_at", gettext_lazy("Webhook sent"))

    @admin.display(description=gettext_lazy("Chats"))
    def services(self, alert: Alert) -> str:
        services = AlertService.objects.filter(project=alert.project_id, pk__in=alert.told_services or [])
        return ", ".join(each.name for each in services) or "–"

    @admin.display(description=gettext_lazy("Impact"))
    def users_lost(self, alert: Any) -> str:
        loss = alert.facts.loss
        return f"{loss.sentence} · {_hours(alert)}" if loss else "–"

    @admin.display(description=gettext_lazy("What you can do"))
    def next_steps(self, alert: Any) -> SafeString:
        buttons = format_html_join("", '<a class="ww-act" href="{1}">{0}</a>', alert.facts.steps)
        return format_html('<span class="ww-problem-actions">{}</span>', buttons)

    @admin.display(description=gettext_lazy("Related pages"))
    def where_to_look(self, alert: Alert) -> SafeString:
        return format_html_join(SafeString(" · "), '<a class="ww-link" href="{1}">{0}</a>', links_of(alert))

    def get_fieldsets(self, request: HttpRequest, obj: Alert | None = None) -> Any:
        """Leave out the end of what is not known to have one, and the users of what cost nobody."""
        (_unused, first), *rest = self.fieldsets
        facts = _keep_facts(request, obj) if obj else AlertFacts(None, None, [])
        shown = {"ending": facts.end, "users_lost": facts.loss, "next_steps": facts.steps}
        left_out = {name for name, fact in shown.items() if not fact}
        first = {"fields": tuple(name for name in first["fields"] if name not in left_out)}
        return ((None, first), *rest)

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        alert = self.get_object(request, unquote(object_id))
        if alert is not None:
            mark_read(Alert.objects.filter(pk=alert.pk))
        response: HttpResponse = super().change_view(request, object_id, form_url, extra_context)
        return response

    @admin.display(description=gettext_lazy("State"), ordering="read_at")
    def state(self, alert: Alert) -> str:
        return display.label(_("Read")) if alert.read_at else display.label(_("Unread"), "warning")

    @admin.display(description=gettext_lazy("Alert"), ordering="title")
    def title_excerpt(self, alert: Alert) -> str:
        return display.excerpt(display.keep_units(alert.title), 80)

    @admin.display(description=gettext_lazy("Sent to"))
    def delivery_state(self, alert: Alert) -> str:
        if alert.due_at:
            return display.label(
                _("In progress")
                if alert.due_at <= timezone.now()
                else _("Next attempt {time}").format(time=written_moment(alert.due_at, DAY_OF_YEAR_AND_TIME)),
                "info",
            )
        if alert.error:
            return display.label(_("Failed"), "danger")
        by = ((_("e-mail"), alert.mailed_at), (_("webhook"), alert.posted_at), (_("chat"), alert.told_services))
        ways = [way for way, at in by if at]
        return (
            display.label(_("{names}").format(names=", ".join(ways)), "success")
            if ways
            else display.label(_("In-app only"))
        )

    @admin.action(description=gettext_lazy("Mark selected as read"), permissions=["view"])
    def mark_selected_read(self, request: HttpRequest, queryset: QuerySet[Alert]) -> None:
        number = mark_read(queryset)
        self.message_user(request, _("{number} marked as read.").format(number=number), messages.SUCCESS)


def steps_of(request: HttpRequest, alert: Alert, end: AlertEnd | None) -> list[tuple[str, str]]:
    """Return the title and address of each step against what an alert is about; none once it is over."""
    if (end and end.at) or alert.project_id not in own_project_ids(request, Right.CHANGE):
        return []
    if alert.kind == COLLAPSE:
        return _against_collapse(request, alert)
    if alert.kind in ABOUT_PROVIDERS and (provider := _provider(alert)):
        check = reverse("admin:verification_provider_check_credentials", args=(provider.pk,))
        return [(_("Check credentials"), check), *remedies(request, alert.project_id, provider, "")]
    if alert.kind in BUDGETS:
        return [(_("Change the limit"), page_address(channel)) for channel in _channels(alert)]
    if alert.kind == OUTAGE:
        return [(_("Check the providers"), _providers_of(channel)) for channel in _channels(alert)]
    return []


def _against_collapse(request: HttpRequest, alert: Alert) -> list[tuple[str, str]]:
    """Offer what the headline of the overview offers; a collapse that a routing rule has relieved needs no more."""
    for each in collapses.open_ones([alert.project_id]):
        if break_key(CountryBreak(each.provider.pk, each.country, each.at, each.fell)) == alert.key:
            best = each.other[0] if each.other else None
            figures = {"project": alert.project_id, "provider_id": each.provider.pk, "country": each.country}
            return [
                *remedies(request, alert.project_id, each.provider, each.country, best),
                (_("View the figures"), reverse("admin:verification_figures", query=figures)),
            ]
    return []


def _providers_of(channel: Channel) -> str:
    query = {"project": channel.project_id, "channel__exact": channel.type}
    return reverse("admin:verification_provider_changelist", query=query)


def links_of(alert: Alert) -> list[tuple[str, str]]:
    """Return the title and the address of each page behind an alert, the nearest first."""
    return [*_subject(alert), (_("Figures for that day"), _figures(alert))]


def _subject(alert: Alert) -> list[tuple[str, str]]:
    if alert.kind in ABOUT_PROVIDERS and (provider := _provider(alert)):
        broken = read_break_key(alert.key)
        query = {"country": broken.country} if broken else None
        scorecard = reverse("admin:verification_provider_scorecard", args=(provider.pk,), query=query)
        return [
            (_("{provider} scorecard").format(provider=provider), scorecard),
            (_("Provider settings"), page_address(provider)),
        ]
    if alert.kind in WITH_CHANNEL_PAGE:
        return [(_("{channel} channel").format(channel=row), page_address(row)) for row in _channels(alert)]
    if alert.kind == "guard":
        return [(_("Traffic guard"), reverse("admin:verification_guardblock_changelist"))]
    return []


def _provider(alert: Alert) -> Provider | None:
    number = whole_number(alert.key.partition(" ")[0]) or 0  # no provider has the number 0
    return Provider.objects.filter(project=alert.project_id, pk=number).first()


def _channels(alert: Alert) -> QuerySet[Channel]:
    """Return the channel that the alert is about, if it is still there."""
    return Channel.objects.filter(project=alert.project_id, type=alert.key.partition(":")[0].partition(" ")[0])


def _figures(alert: Alert) -> str:
    day = f"{alert.created_at:%Y-%m-%d}"
    return reverse("admin:verification_figures", query={"from": day, "to": day, "project": alert.project_id})
