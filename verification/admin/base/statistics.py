"""Figures as the pages show them: tiles against the time before, the funnel, charts, and what each leads to."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from decimal import Decimal
from statistics import median
from typing import Any
from urllib.parse import urlencode

from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from verification.admin.base.charts import Chart, ChartMark, Number, Series, draw
from verification.admin.base.display import format_exact_time, keep_units, time_ago
from verification.core.formats import (
    DAY,
    DAY_AND_TIME,
    DAY_OF_YEAR_AND_TIME,
    grouped,
    written_date,
    written_moment,
    zone_name,
)
from verification.models import ChannelType
from verification.services.analytics import impact, report
from verification.services.analytics.costs import SHOWN_PLACES
from verification.services.analytics.price_comparison import Offer
from verification.services.analytics.ranges import Range
from verification.services.analytics.report import FigureSums
from verification.services.analytics.summary import AlertOfRange, Summary

STEPS = {  # of the funnel, by their words in docs/figures.md
    "started": gettext_lazy("Started"),
    "sent": gettext_lazy("Sent"),
    "delivered": gettext_lazy("Delivered"),
    "checked": gettext_lazy("Code entered"),
    "verified": gettext_lazy("Verified"),
    "proved": gettext_lazy("Confirmed by your server"),
}
MAX_POINTS = 60  # of a line in a chart: with more, a week by the hour is a thicket of single sessions
# Sent sessions of a point, in the median: among ten, one session moves a conversion by ten points, among two by fifty.
MIN_SESSIONS_OF_A_POINT = 10
MIN_POINTS = 4  # fewer make no line
POINT_HOURS, POINT_DAYS = (1, 3, 6, 24), (1, 2, 7)  # the lengths of a point's time that people know
FEW = 20  # of the time before: fewer say nothing in percent
# Counts of independent events spread by the square root of their number, so a difference by that of their sum. Twice
# as much comes by chance once in twenty times.
CHANCE = 2
BETWEEN = "between"  # the parameter by which the lists take a range of time
EMPTY = "none"  # in an address, the value of what has no provider, country or language


@dataclass(frozen=True, slots=True)
class Tile:
    """One figure in large letters. ``change`` says how it compares with the time before, and ``mood`` colours it."""

    title: str
    value: str
    change: str
    note: str = ""
    mood: str = ""
    link: str = ""

    @property
    def lines(self) -> list[str]:
        return [keep_units(self.change), keep_units(self.note)]


@dataclass(frozen=True, slots=True)
class FunnelStep:
    """A step of the funnel: how many sessions reached it, and how many were lost since the step before."""

    word: str
    number: int
    share: float | None  # in percent of the first step
    lost: int
    lost_share: float | None  # in percent of the step before
    before: int


@dataclass(frozen=True, slots=True)
class EventRow:
    """An event of the range as the page lists it."""

    event: AlertOfRange
    at: str
    ago: str
    lasted: str
    loss: str = ""  # of an outage, what it cost


def tiles(summary: Summary, narrowing: Mapping[str, str] | None = None) -> list[Tile]:
    """Return the figures of a range against the one before; where that was not counted whole, without a comparison.

    ``narrowing`` has the filters of the page as the lists take them, for the links.
    """
    made = _tiles(summary, narrowing or {})
    if summary.is_before_whole:
        return made
    return [replace(tile, change=_("no full previous period"), mood="") for tile in made]


def _tiles(summary: Summary, narrowing: Mapping[str, str]) -> list[Tile]:
    sums, before, span = summary.sums, summary.before, summary.span
    counts, counts_before = sums.counts, before.counts
    refused = sum(times for _, times in summary.refused)
    users, users_before = summary.users, summary.users_before
    verified = _tile(
        _("Verified sessions"),
        counts["sessions_verified"],
        counts_before["sessions_verified"],
        link=list_link("session", span, state="verified", **narrowing),
    )
    if users is not None and users_before is not None and (users or users_before):
        verified = _tile(_("Verified users (unique per day)"), users, users_before, link=verified.link)
    elif users:  # counted by the day alone, which a part of a day cannot be compared with
        note = ngettext("{number} user, unique per day", "{number} users, unique per day", users)
        verified = replace(verified, note=note.format(number=grouped(users)))
    is_known = counts_before["sessions_sent"] >= FEW
    return [
        verified,
        Tile(
            _("Conversion of sent codes"),
            percent(sums.conversion),
            _points(sums.conversion, before.conversion) if is_known else _("too little earlier data"),
        ),
        _time_tile(_("Median time to deliver"), sums, before, delivery_times(sums)),
        _time_tile(_("Median time to verify"), sums, before, "verify_times"),
        _tile(
            _("Refused requests"),
            refused,
            summary.refused_before,
            is_good=False,
            link=refusals_link(span, narrowing),
        ),
        *_money_tiles(summary),
    ]


def funnel(summary: Summary) -> list[FunnelStep]:
    steps: list[FunnelStep] = []
    for word, name in report.FUNNEL:
        number = summary.sums.counts[name]
        last = steps[-1].number if steps else number
        lost = max(0, last - number)
        share = report.percent(number, summary.sums.counts["sessions"])
        before = summary.before.counts[name]
        steps.append(FunnelStep(str(STEPS[word]), number, share, lost, report.percent(lost, last), before))
    return steps


def largest_loss(steps: Sequence[FunnelStep]) -> str:
    """Return the sentence on the step at which most sessions were lost; empty where none was. The proof is no loss."""
    pairs = list(zip(steps, steps[1:-1], strict=False))
    worst = max(pairs, key=lambda pair: pair[1].lost, default=None)
    if worst is None or not worst[1].lost:
        return ""
    return ngettext(
        "Biggest drop-off: {word} → {word2}, {lost} session ({lost_share})",
        "Biggest drop-off: {word} → {word2}, {lost} sessions ({lost_share})",
        worst[1].lost,
    ).format(
        word=worst[0].word.lower(),
        word2=worst[1].word.lower(),
        lost=grouped(worst[1].lost),
        lost_share=percent(worst[1].lost_share),
    )


def over_time(summary: Summary) -> dict[str, Any]:
    """Return what charts.html shows: the charts, the table behind them, and the alerts that are marked."""
    return {
        "charts": charts_of(summary),
        "table": _table(summary),
        "events": [_event_row(event) for event in summary.events],
        "zone": "UTC" if summary.span.is_by_day else zone_name(summary.span.until),
    }


def charts_of(summary: Summary) -> list[Chart]:
    """Return the charts of a report: the counts, and where there is something to draw the conversion and the times."""
    span = summary.span
    steps = [at for at, _ in summary.over_time]
    sums = [each for _, each in summary.over_time]
    before = [each for _, each in summary.over_time_before][: len(sums)]
    before += [FigureSums()] * (len(sums) - len(before))
    shared: dict[str, Any] = {
        "label": lambda at: step_label(at, span),
        "step": span.step,
        "marks": [ChartMark(e.title, e.at, e.until) for e in summary.events],
    }
    deliver = delivery_times(summary.sums)
    coarse = _steps_of_a_point(sums, POINT_DAYS if span.is_by_day else POINT_HOURS)
    fewer, wide = steps[::coarse], shared | {"step": coarse * span.step}
    now, then = (report.merged(each, coarse) for each in (sums, before))
    counts = [
        Series(_("Started"), "ww-started", [each.counts["sessions"] for each in sums], is_bar=True),
        Series(_("Verified"), "ww-verified", [each.counts["sessions_verified"] for each in sums], is_bar=True),
    ]
    if summary.before.counts["sessions_verified"]:
        values = [each.counts["sessions_verified"] for each in before]
        counts.append(Series(_("Verified, previous period"), "ww-before", values, is_dashed=True))
    drawn = [
        draw("counts", _("Sessions started and verified"), steps, counts, **shared),
        draw(
            "conversion",
            _("Conversion"),
            fewer,
            [
                Series(_("Conversion"), "ww-verified", [each.conversion for each in now]),
                Series(
                    _("Before"),
                    "ww-before",
                    [each.conversion for each in then],
                    is_dashed=True,
                ),
            ],
            written=percent,
            top=100,
            **wide,
        ),
        draw("deliver", _("Time to deliver"), fewer, _times(now, deliver), written=seconds, **wide),
        draw("verify", _("Time to verify"), fewer, _times(now, "verify_times"), written=seconds, **wide),
    ]
    return [chart for chart in drawn if chart]


def _steps_of_a_point(sums: Sequence[FigureSums], lengths: Sequence[int]) -> int:
    """Return how many steps a point of a line sums up: the fewest with which its shares and medians mean something."""
    lengths = [each for each in lengths if each * MIN_POINTS <= len(sums)] or lengths[:1]
    for length in lengths:
        sent = [number for each in report.merged(sums, length) if (number := each.counts["sessions_sent"])]
        if len(sums) <= length * MAX_POINTS and sent and median(sent) >= MIN_SESSIONS_OF_A_POINT:
            return length
    return lengths[-1]


def delivery_times(sums: FigureSums) -> str:
    """Return the times that tell of delivery: of receipts, or where no provider sends any, of acceptance."""
    return "receipt_times" if sums.times.get("receipt_times") else "accept_times"


def step_label(at: datetime, span: Range) -> str:
    """Write a day, which all figures count in UTC, or an hour in the reader's zone."""
    return written_date(at, DAY) if span.is_by_day else written_date(timezone.localtime(at), DAY_OF_YEAR_AND_TIME)


def range_start(at: datetime, span: Range) -> str:
    """Write the beginning of a range: of whole days in UTC, as they are counted."""
    return f"{written_date(at, DAY_AND_TIME)} UTC" if span.is_by_day else written_moment(at, DAY_AND_TIME)


def range_end(span: Range) -> str:
    """Write the last day of a range of days, or the hour at which a shorter one ends."""
    return written_date(span.last_day, DAY) if span.is_by_day else written_moment(span.until, DAY_AND_TIME)


def list_link(name: str, span: Range, **query: Any) -> str:
    """Return the address of the list of sessions, messages or decisions of a range, narrowed by its filters."""
    query = {BETWEEN: f"{span.since:%Y-%m-%dT%H}..{span.until:%Y-%m-%dT%H}"} | query
    if name != "decision":
        query["test"] = "without"
    return f"{reverse(f'admin:verification_{name}_changelist')}?{urlencode(query)}"


def refusals_link(span: Range, narrowing: Mapping[str, str], **query: str) -> str:
    """Return the address of the decisions of a range. Empty where the page is narrowed by what their list is not."""
    return "" if narrowing.keys() - {"project"} else list_link("decision", span, **narrowing, **query)


def percent(value: Number) -> str:
    return "–" if value is None else f"{grouped(value, places=0 if float(value).is_integer() else 1)} %"


def seconds(value: Number) -> str:
    """Write seconds with two digits that count."""
    if value is None:
        return "–"
    return _("{number} s").format(number=grouped(value, places=0 if value >= 10 or not value else 1))


def _tile(title: str, now: int, before: int, *, link: str = "", is_good: bool = True) -> Tile:
    """Return a number against the one before. ``is_good`` says whether more of it is."""
    if not before:
        return Tile(title, grouped(now), _("no earlier data"), link=link)
    if before < FEW or 0 < abs(now - before) <= CHANCE * math.sqrt(now + before):
        return Tile(title, grouped(now), _("was {before}").format(before=grouped(before)), link=link)
    change = round(100 * (now - before) / before)
    if not change:
        return Tile(title, grouped(now), _("unchanged ({before})").format(before=grouped(before)), link=link)
    mood = "good" if (change > 0) is is_good else "bad"
    return Tile(title, grouped(now), _changed(change, grouped(before)), mood=mood, link=link)


def _changed(percent_more: int, before: str) -> str:
    if percent_more > 0:
        return _("▲ {share} % vs {before}").format(share=grouped(percent_more), before=before)
    return _("▼ {share} % vs {before}").format(share=grouped(-percent_more), before=before)


def _points(now: float | None, before: float | None) -> str:
    if before is None or now is None:
        return _("no earlier data") if before is None else _("was {share}").format(share=percent(before))
    change = round(now - before, 1)
    if not change:
        return _("unchanged ({share})").format(share=percent(before))
    points, then = grouped(abs(change), places=1), percent(before)
    if change > 0:
        return _("▲ {points} points vs {share}").format(points=points, share=then)
    return _("▼ {points} points vs {share}").format(points=points, share=then)


def _money_tiles(summary: Summary) -> list[Tile]:
    """Return the cost and that of a verified user; nothing where nothing was sent."""
    cost, before = summary.money.cost, summary.money.before
    if summary.money.is_empty:
        return []
    verified, verified_before = (each.counts["sessions_verified"] for each in (summary.sums, summary.before))
    note = ""
    if cost.unknown:
        note = _("no message has a price") if cost.known is None else _("at least; some prices are missing")
    per, per_before = cost.per(verified), before.per(verified_before)
    return [
        Tile(
            _("Cost, {currency}").format(currency=cost.currency),
            amount(cost.known),
            _against(cost.known, before.known),
            note,
        ),
        Tile(
            _("Per verified user, {currency}").format(currency=cost.currency),
            amount(per),
            _against(per, per_before),
            note,
        ),
    ]


def amount(money: Decimal | None) -> str:
    """Write an amount of money; what nobody knows is a word and no 0."""
    return _("Unknown") if money is None else grouped(money)


AT_LEAST = "≥ "  # marks a sum that some messages are missing from


def money_cell(money: Decimal | None, unknown: int) -> str:
    """Write an amount in a table that names the currency."""
    return "–" if money is None else f"{AT_LEAST if unknown else ''}{grouped(money)}"


def has_at_least(cells: Iterable[str]) -> bool:
    """Return whether one of these amounts has the mark, which the page then explains."""
    return any(cell.startswith(AT_LEAST) for cell in cells)


@dataclass(frozen=True, slots=True)
class OfferRow:
    """The cost of the same messages at another provider, as a row of a table."""

    offer: Offer
    channel: str
    would_cost: str
    did_cost: str
    saved: str
    conversion: str
    per_verified: str
    trial: str  # the address of the page that tries it with a part of the messages; empty where the user may not


def offer_row(offer: Offer, trial: str = "") -> OfferRow:
    saved = round(offer.saved, 2)
    return OfferRow(
        offer,
        str(ChannelType(offer.channel).label),
        grouped(round(offer.would_cost, 2)),
        grouped(round(offer.did_cost, 2)),
        signed(-saved),
        _known(offer),
        "–" if offer.per_verified is None else grouped(round(offer.per_verified, SHOWN_PLACES)),
        trial,
    )


def _known(offer: Offer) -> str:
    """Return the verified of a hundred where the provider would carry these messages, or that nobody knows."""
    if offer.conversion is None:
        return _("rarely used here") if offer.used else _("never used here")
    if offer.known == offer.compared:
        return percent(offer.conversion)
    return _("{share} (known for {number})").format(share=percent(offer.conversion), number=grouped(offer.known))


def signed(value: Decimal) -> str:
    """Write a difference: with its sign, or 0 where there is none."""
    if not value:
        return "0"
    return f"+{grouped(value)}" if value > 0 else grouped(value).replace("-", "−")


def _against(now: Decimal | None, before: Decimal | None) -> str:
    if before is None:
        return _("no earlier data")
    if now is None or not before:
        return _("was {before}").format(before=grouped(before))
    change = round(100 * (now - before) / before)
    if not change:
        return _("unchanged ({before})").format(before=grouped(before))
    return _changed(change, grouped(before))


def _time_tile(title: str, sums: FigureSums, before: FigureSums, name: str) -> Tile:
    now, then = sums.seconds(name, 0.5), before.seconds(name, 0.5)
    late = sums.seconds(name, 0.95)
    change = _("was {seconds}").format(seconds=seconds(then)) if then is not None else _("no earlier data")
    note = _("95 % within {seconds}").format(seconds=seconds(late)) if late is not None else ""
    return Tile(title, seconds(now), change, note)


def _times(sums: Sequence[FigureSums], name: str) -> list[Series]:
    return [
        Series(_("Median"), "ww-verified", [each.seconds(name, 0.5) for each in sums]),
        Series(_("95 % within"), "ww-late", [each.seconds(name, 0.95) for each in sums]),
    ]


def _event_row(event: AlertOfRange) -> EventRow:
    lasted = _("until {time}").format(time=format_exact_time(event.until)) if event.until else ""
    loss = impact.of_alert(project=event.project, kind=event.kind, key=event.key, since=event.at, until=event.until)
    return EventRow(event, format_exact_time(event.at), time_ago(event.at), lasted, loss.sentence if loss else "")


def _table(summary: Summary) -> list[dict[str, Any]]:
    """Return the numbers behind the charts, and in words what happened in each hour or day."""
    deliver = delivery_times(summary.sums)
    return [
        {
            "label": step_label(at, summary.span),
            "counts": [sums.counts[name] for name in ("sessions", "sessions_sent", "sessions_verified")],
            "conversion": percent(sums.conversion),
            "times": [
                seconds(sums.seconds(name, share)) for name in (deliver, "verify_times") for share in (0.5, 0.95)
            ],
            "events": [event.title for event in summary.events if at <= event.at < at + summary.span.step],
        }
        for at, sums in summary.over_time
    ]
