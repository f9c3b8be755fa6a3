"""The charts of a range, the table of the numbers behind them, and the alerts that are marked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from statistics import median
from typing import Any

from django.utils.translation import gettext as _

from verification.admin.base.charts import Chart, ChartMark, Series, draw
from verification.admin.base.display import format_exact_time, time_ago
from verification.admin.figures.words import percent, seconds, step_label
from verification.core.formats import zone_name
from verification.services.analytics import impact, report
from verification.services.analytics.report import FigureSums
from verification.services.analytics.summary import AlertOfRange, Summary

MAX_POINTS = 60  # of a line in a chart: with more, a week by the hour is a thicket of single sessions
# Sent sessions of a point, in the median: among ten, one session moves a conversion by ten points, among two by fifty.
MIN_SESSIONS_OF_A_POINT = 10
MIN_POINTS = 4  # fewer make no line
POINT_HOURS, POINT_DAYS = (1, 3, 6, 24), (1, 2, 7)  # the lengths of a point's time that people know


@dataclass(frozen=True, slots=True)
class EventRow:
    """An event of the range as the page lists it."""

    event: AlertOfRange
    at: str
    ago: str
    lasted: str
    loss: str = ""  # of an outage, what it cost


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
    marks = [ChartMark(event.title, event.at, event.until) for event in summary.events]
    in_span = partial(draw, label=lambda at: step_label(at, span), marks=marks)
    length = _steps_of_a_point(sums, POINT_DAYS if span.is_by_day else POINT_HOURS)
    line = partial(in_span, steps=steps[::length], step=length * span.step)
    now, then = (report.merged(each, length) for each in (sums, before))
    conversion = [
        Series(_("Conversion"), "ww-verified", [each.conversion for each in now]),
        Series(_("Before"), "ww-before", [each.conversion for each in then], is_dashed=True),
    ]
    deliver, verify = _times(now, delivery_times(summary.sums)), _times(now, "verify_times")
    drawn = [
        in_span("counts", _("Sessions started and verified"), steps, _counts(summary, sums, before), step=span.step),
        line("conversion", _("Conversion"), series=conversion, written=percent, top=100),
        line("deliver", _("Time to deliver"), series=deliver, written=seconds),
        line("verify", _("Time to verify"), series=verify, written=seconds),
    ]
    return [chart for chart in drawn if chart]


def _counts(summary: Summary, sums: Sequence[FigureSums], before: Sequence[FigureSums]) -> list[Series]:
    counts = [
        Series(_("Started"), "ww-started", [each.counts["sessions"] for each in sums], is_bar=True),
        Series(_("Verified"), "ww-verified", [each.counts["sessions_verified"] for each in sums], is_bar=True),
    ]
    if summary.before.counts["sessions_verified"]:
        values = [each.counts["sessions_verified"] for each in before]
        counts.append(Series(_("Verified, previous period"), "ww-before", values, is_dashed=True))
    return counts


def _times(sums: Sequence[FigureSums], name: str) -> list[Series]:
    return [
        Series(_("Median"), "ww-verified", [each.seconds(name, 0.5) for each in sums]),
        Series(_("95 % within"), "ww-late", [each.seconds(name, 0.95) for each in sums]),
    ]


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


def _event_row(event: AlertOfRange) -> EventRow:
    lasted = _("until {time}").format(time=format_exact_time(event.until)) if event.until else ""
    loss = impact.of_alert(project=event.project, kind=event.kind, key=event.key, since=event.at, until=event.until)
    return EventRow(event, format_exact_time(event.at), time_ago(event.at), lasted, loss.sentence if loss else "")
