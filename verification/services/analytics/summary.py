"""One report of a range against the range before: what the figures page, the overview, the files and ``stats`` tell.

The caller names the projects, so a sum holds nothing of another's.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import Q
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from verification.models import Alert, ChannelType, Project, Provider
from verification.models.alerts import COLLAPSE, COLLAPSE_OVER, OUTAGE
from verification.models.guard import ABOUT_COUNTRIES
from verification.services.analytics import costs, price_comparison, report
from verification.services.analytics.impact import read_break_key
from verification.services.analytics.price_comparison import Money, money_of
from verification.services.analytics.ranges import Range
from verification.services.analytics.report import FigureSums, Where
from verification.services.notifications import balance_alerts, provider_alerts

EVENTS_TOLD = 50  # the latest of a range: more marks on a chart hide each other
# The kinds of alerts whose key begins with a provider's id.
ABOUT_PROVIDERS = (provider_alerts.KIND, balance_alerts.KIND, COLLAPSE, COLLAPSE_OVER)
ABOUT_CHANNELS = (OUTAGE, "channel_up")  # whose key begins with a channel
NOT_SENT, NO_COUNTRY = gettext_lazy("Not sent"), gettext_lazy("No country")  # the names of empty keys


@dataclass(frozen=True, slots=True)
class SummaryRow:
    """The figures of one channel, provider, country, language or project. ``key`` is its value in the rows."""

    key: Any
    name: str
    sums: FigureSums
    before: FigureSums


@dataclass(frozen=True, slots=True)
class AlertOfRange:
    """An alert of the range. ``until`` is the end of an outage that is over."""

    alert: int
    project: int
    kind: str
    key: str
    title: str
    at: datetime
    until: datetime | None


@dataclass(frozen=True, slots=True)
class Summary:
    """All that is told of a range. ``users`` are counted by the day.

    They are None where the range is not of whole days, or the figures are of one channel, country and the like.
    ``over_time_before`` is whole, also while the range still runs: a chart shows what is yet to come.
    """

    span: Range
    sums: FigureSums
    before: FigureSums
    users: int | None
    users_before: int | None
    over_time: list[tuple[datetime, FigureSums]]
    over_time_before: list[tuple[datetime, FigureSums]]
    by: dict[str, list[SummaryRow]]
    refused: list[tuple[str, int]]
    refused_before: int
    events: list[AlertOfRange]
    money: Money
    is_before_whole: bool  # whether the time before was counted from its first day on, and so may be compared with

    @property
    def is_empty(self) -> bool:
        """Nothing was asked for in the range: no session, no message and no refusal."""
        return not (self.sums.counts["sessions"] or self.sums.counts["messages"] or self.refused)


def summarize(
    projects: Sequence[int], span: Range, where: Where | None = None, *, with_system: bool = False
) -> Summary:
    """Sum the figures of these projects, or only those that have the values of ``where``.

    ``with_system`` compares with the price lists of system providers, too, which are the operator's to see.
    """
    rows, rows_before = (report.grouped(projects, each, report.DIMENSIONS, where) for each in (span, span.before))
    country = (where or {}).get("country")
    has_users = span.is_of_days and not where
    return Summary(
        span=span,
        sums=_total(rows),
        before=_total(rows_before),
        users=report.users(projects, span) if has_users else None,
        users_before=report.users(projects, span.before) if has_users and span.before.is_of_days else None,
        over_time=report.over_time(projects, span, where),
        over_time_before=report.over_time(projects, span.whole_before, where),
        by={name: _lines(place, name, rows, rows_before) for place, name in enumerate(report.DIMENSIONS)},
        refused=report.refusals(projects, span, country),
        refused_before=sum(times for _, times in report.refusals(projects, span.before, country)),
        events=_events(projects, span, where, rows),
        money=money_of(projects, span, where, with_system=with_system),
        is_before_whole=report.is_counted_by(projects, span.before.since),
    )


def _events(
    projects: Sequence[int], span: Range, where: Where | None, rows: Mapping[tuple[Any, ...], FigureSums]
) -> list[AlertOfRange]:
    """Return the latest alerts of a range, in the order of time.

    Of one provider's figures these are its own alerts and the outages of its channel. Of one country's, none is about
    another country, or about a provider or a channel that carried nothing there; ``rows`` has the ones that did.
    The alert that a provider fails in a country stands at the hour since which it does.
    """
    where = where or {}
    found = Alert.objects.filter(project__in=projects, created_at__gte=span.since, created_at__lt=span.until)
    if provider := Provider.objects.filter(pk=where.get("provider_id") or 0).first():
        found = found.filter(_of_providers({provider.pk}) | _of_channels({provider.channel}))
    if where.keys() - {"provider_id"}:
        used = {name: {keys[place] for keys in rows} for place, name in enumerate(report.DIMENSIONS)}
        found = found.exclude(Q(kind__in=ABOUT_PROVIDERS) & ~_of_providers(used["provider_id"]))
        found = found.exclude(Q(kind__in=ABOUT_CHANNELS) & ~_of_channels(used["channel"]))
    if "country" in where:
        rule = Q(kind="guard", key__regex=rf"^({'|'.join(ABOUT_COUNTRIES)}) ")
        about_countries = Q(kind__in=(COLLAPSE, COLLAPSE_OVER)) | rule
        found = found.exclude(about_countries & ~Q(key__contains=f" {where['country']} "))
    return sorted(
        (
            AlertOfRange(each.pk, each.project_id, each.kind, each.key, each.title, _began(each, span), each.ended_at)
            for each in found.order_by("-created_at")[:EVENTS_TOLD]
        ),
        key=lambda event: event.at,
    )


def _of_providers(ids: Iterable[int]) -> Q:
    return Q(kind__in=ABOUT_PROVIDERS, key__regex=rf"^({'|'.join(map(str, ids))})( |$)")


def _of_channels(channels: Iterable[str]) -> Q:
    return Q(kind__in=ABOUT_CHANNELS, key__regex=rf"^({'|'.join(channels)})( |$)")


def _began(alert: Alert, span: Range) -> datetime:
    found = read_break_key(alert.key) if alert.kind == COLLAPSE else None
    return max(found.at, span.since) if found else alert.created_at


def as_dict(summary: Summary) -> dict[str, Any]:
    """The report in the words of docs/figures.md, for programs."""
    return {
        "since": summary.span.since.isoformat(),
        "until": summary.span.until.isoformat(),
        "figures": report.as_dict(summary.sums),
        "before": report.as_dict(summary.before),
        "cost": costs.as_dict(summary.money.cost, summary.sums.counts["sessions_verified"]),
        "cost_before": costs.as_dict(summary.money.before, summary.before.counts["sessions_verified"]),
        "other_providers": [price_comparison.as_dict(offer) for offer in summary.money.offers],
        "verified_users": summary.users,
        "verified_users_before": summary.users_before,
        "refused": dict(summary.refused),
        "over_time": [
            {
                "from": at.isoformat(),
                **report.as_dict(sums),
                **costs.as_dict(summary.money.at(at), sums.counts["sessions_verified"]),
            }
            for at, sums in summary.over_time
        ],
        "by": {
            word(name): [
                {
                    word(name): line.name,
                    "key": line.key,
                    **report.as_dict(line.sums),
                    **costs.as_dict(summary.money.of(name, line.key), line.sums.counts["sessions_verified"]),
                    "before": _short(line.before),
                }
                for line in lines
            ]
            for name, lines in summary.by.items()
        },
        "events": [
            {
                "at": event.at.isoformat(),
                "until": event.until and event.until.isoformat(),
                "kind": event.kind,
                "title": event.title,
            }
            for event in summary.events
        ],
    }


def word(dimension: str) -> str:
    """Return the name of a dimension for people and programs."""
    return dimension.removesuffix("_id")


def _short(sums: FigureSums) -> dict[str, Any]:
    return {"verified": sums.counts["sessions_verified"], "conversion_percent": sums.conversion}


def _total(rows: dict[tuple[Any, ...], FigureSums]) -> FigureSums:
    whole = FigureSums()
    for sums in rows.values():
        whole.add(sums.counts, sums.times)
    return whole


def _lines(
    place: int, dimension: str, rows: dict[tuple[Any, ...], FigureSums], rows_before: dict[tuple[Any, ...], FigureSums]
) -> list[SummaryRow]:
    """Return the figures by one dimension, the rows with most sessions first."""
    found, before = _by_place(place, rows), _by_place(place, rows_before)
    names = names_of(dimension, list(found))
    lines = [SummaryRow(key, names[key], sums, before.get(key, FigureSums())) for key, sums in found.items()]
    return sorted(lines, key=lambda line: (-line.sums.counts["sessions"], -line.sums.counts["messages"], line.name))


def _by_place(place: int, rows: dict[tuple[Any, ...], FigureSums]) -> dict[Any, FigureSums]:
    found: dict[Any, FigureSums] = {}
    for keys, sums in rows.items():
        found.setdefault(keys[place], FigureSums()).add(sums.counts, sums.times)
    return found


def names_of(dimension: str, keys: list[Any]) -> dict[Any, str]:
    if dimension == "provider_id":
        return report.names(dimension, [(key,) for key in keys])
    if dimension == "project":
        return dict(Project.objects.filter(pk__in=keys).values_list("pk", "name"))
    if dimension == "channel":
        return {key: str(ChannelType(key).label) if key in ChannelType.values else str(NOT_SENT) for key in keys}
    return {key: key or (str(NO_COUNTRY) if dimension == "country" else _("None")) for key in keys}
