"""The last 24 hours of some projects, as the overview shows them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _

from verification.admin.base.charts import Chart
from verification.admin.base.display import channel_icon, format_country, time_ago
from verification.admin.figures.funnel import funnel, largest_loss
from verification.admin.figures.over_time import over_time
from verification.admin.figures.tiles import Tile, tiles
from verification.admin.traffic.decisions import title_of_rule
from verification.admin.traffic.messages import newest_lost
from verification.core.formats import DAY, grouped, written_date
from verification.models import ChannelType, GuardBlock, GuardMode, Message
from verification.models.messages import LOST
from verification.services.analytics import ranges
from verification.services.analytics.summary import Summary, SummaryRow, summarize
from verification.services.protection.guard import conversion

FAILURES_READ = 50  # the latest failures read; those with one reason are shown as one line
FAILURES_SHOWN = 5
COUNTRIES_SHOWN = 8
RULES_SHOWN = 6
OBSERVED_SHOWN = 3
FEW_VERIFIED = 5  # users of a day, below which nothing is said about those that the server did not confirm


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


@dataclass(frozen=True, slots=True)
class CountryRow:
    """The SMS and calls to a country, by its name. ``link`` leads to its figures; empty for what has no country."""

    line: conversion.ConversionFigures
    name: str
    link: str


@dataclass(frozen=True, slots=True)
class RefusedByRule:
    """How often a rule refused. ``title`` is the rule's name for readers."""

    rule: str
    title: str
    times: int


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


@dataclass(frozen=True, slots=True, kw_only=True)
class DayFigures:
    """What ``templates/admin/index.html`` shows of the day, in the order of the page.

    ``charts`` has the chart of the sessions, and ``table`` the numbers behind it, by hours of the time zone ``zone``.
    ``findings`` is how many findings of the traffic guard hold now.
    """

    tiles: list[Tile]
    charts: list[Chart]
    table: list[Any]
    zone: str
    loss: str
    rows: list[ChannelRow]
    countries: list[CountryRow]
    observed: str
    unconfirmed: str
    failures: list[FailureGroup]
    refusals: list[RefusedByRule]
    findings: int


def figures_of_day(projects: Any, traffic_of: list[int]) -> DayFigures:
    """Count the day of these projects. Messages are listed of the projects whose traffic the user may see."""
    now = timezone.now()
    ids = list(projects.values_list("pk", flat=True))
    summary = summarize(ids, ranges.last_hours(now, ranges.DAY_HOURS))
    chart = over_time(summary)
    return DayFigures(
        tiles=_tiles(summary),
        charts=chart["charts"][:1],
        table=chart["table"],
        zone=chart["zone"],
        loss=largest_loss(funnel(summary)),
        rows=_channel_rows(summary),
        countries=_country_rows(projects),
        observed=_observed(projects),
        unconfirmed=_unconfirmed(summary),
        failures=_failures(traffic_of, now),
        refusals=[RefusedByRule(rule, title_of_rule(rule), times) for rule, times in summary.refused[:RULES_SHOWN]],
        findings=GuardBlock.objects.filter(project__in=projects, lifted_at=None, until__gt=now).count(),
    )


def _observed(projects: Any) -> str:
    """Return which projects are so new that no country is refused yet, and until when; empty where none is."""
    ends = {
        project.name: project.countries_observed_until
        for project in projects.exclude(traffic_guard=GuardMode.OFF).filter(guard_country_sends__gt=0)
    }
    new = sorted((end, name) for name, end in ends.items() if end is not None)
    if not new:
        return ""
    return _("The traffic guard only observes countries so far and blocks none: {projects}.").format(
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


def _tiles(summary: Summary) -> list[Tile]:
    """Return the tiles of the day, with one for the lost messages after the first four."""
    lost = summary.sums.lost
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


def _failures(traffic_of: list[int], now: datetime) -> list[FailureGroup]:
    """Return the latest failures, those of one reason together."""
    recent = Message.objects.filter(created_at__gte=now - timedelta(hours=ranges.DAY_HOURS))
    lost = newest_lost(recent, traffic_of, LOST, FAILURES_READ)
    groups: dict[tuple[Any, ...], FailureGroup] = {}
    for message in lost.select_related("project", "provider").order_by("-created_at")[:FAILURES_READ]:
        alike = (message.project_id, message.channel, message.provider_id, message.status, message.error)
        groups.setdefault(alike, FailureGroup(message)).number += 1
    return list(groups.values())[:FAILURES_SHOWN]


def _channel_rows(summary: Summary) -> list[ChannelRow]:
    lines = [line for line in summary.by["channel"] if line.key in ChannelType.values]
    return [_channel_row(line) for line in lines if line.sums.counts["messages"]]


def _channel_row(line: SummaryRow) -> ChannelRow:
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


def _country_rows(projects: Any) -> list[CountryRow]:
    lines = conversion.by_country(projects, hours=ranges.DAY_HOURS)[:COUNTRIES_SHOWN]
    return [_country_row(line) for line in lines]


def _country_row(line: conversion.ConversionFigures) -> CountryRow:
    if not line.subject:
        return CountryRow(line, _("No country"), "")
    address = reverse("admin:verification_figures", query={"country": line.subject})
    return CountryRow(line, format_country(line.subject), address)
