"""Charts, drawn on the server as SVG: bars, lines and marks over a row of hours or days.

A drawing has coordinates of its own and is stretched to the page's width, so it holds no text. The scale stands beside
it, and the same numbers stand in a table.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.utils.translation import gettext as _

from verification.core.formats import grouped

WIDTH, HEIGHT = 720, 160  # units of the drawing's own; the page scales them
ROUND_ENDS = (1, 1.2, 1.6, 2, 2.4, 3, 4, 5, 6, 8, 10)  # the ends of a scale, times a power of ten
GAP = 0.25  # the part of a bar's place that stays free
SCALE_LABELS = 5  # under the chart: more would meet on a phone

Number = float | int | None


@dataclass(frozen=True, slots=True)
class Series:
    """The values of one name, one for each step; None where there is nothing to tell."""

    name: str
    look: str  # the class of its colour in panel.css
    values: Sequence[Number]
    is_bar: bool = False
    is_dashed: bool = False


@dataclass(frozen=True, slots=True)
class ChartMark:
    """An occurrence beside the figures: a line at one time, or an area where it lasted."""

    text: str
    at: datetime
    until: datetime | None = None


@dataclass(frozen=True, slots=True)
class ChartArea:
    """A bar, a mark, or the place of a step whose title the pointer shows."""

    x: float
    width: float
    y: float
    height: float
    title: str
    look: str = ""


@dataclass(frozen=True, slots=True)
class ChartLine:
    """A line through the values of a series. ``path`` is in the words of SVG."""

    name: str
    look: str
    path: str
    is_dashed: bool


@dataclass(frozen=True, slots=True)
class Chart:
    """A chart as its template draws it."""

    id: str
    title: str
    about: str  # one sentence for those who do not see the drawing
    scale: list[str]  # from the top: the largest number, the half, zero
    labels: list[str]
    bars: list[ChartArea]
    curves: list[ChartLine]
    marks: list[ChartArea]
    places: list[ChartArea]
    keys: list[tuple[str, str]]  # the look and the name of each series
    width: int = WIDTH
    height: int = HEIGHT


def draw(
    chart_id: str,
    title: str,
    steps: Sequence[datetime],
    series: Sequence[Series],
    *,
    label: Callable[[datetime], str],
    step: timedelta,
    written: Callable[[Number], str] = lambda value: "–" if value is None else grouped(value),
    marks: Sequence[ChartMark] = (),
    top: float | None = None,
) -> Chart | None:
    """Return the chart of these series; None where there is nothing to draw. ``top`` fixes the end of the scale."""
    largest = max((value for each in series for value in each.values if value is not None), default=0)
    if not steps or not largest:
        return None
    top = top or round_up(largest)
    if isinstance(largest, int) and top % 2 and top < 10:
        top += 1  # so that half of a scale of sessions is a whole number
    place = WIDTH / len(steps)
    texts = [
        f"{label(at)}: " + ", ".join(f"{written(each.values[number])} {each.name.lower()}" for each in series)
        for number, at in enumerate(steps)
    ]
    ends = _("{label} to {label2}").format(label=label(steps[0]), label2=label(steps[-1]))
    return Chart(
        id=chart_id,
        title=title,
        about=_("{title}, {ends}, at most {amount}. The table has the numbers.").format(
            title=title, ends=ends, amount=written(largest)
        ),
        scale=[written(top), written(top / 2 if top % 2 else int(top / 2)), written(0)],
        labels=[label(steps[round(n * (len(steps) - 1) / (SCALE_LABELS - 1))]) for n in range(SCALE_LABELS)]
        if len(steps) >= SCALE_LABELS
        else [label(at) for at in steps],
        bars=[bar for each in series if each.is_bar for bar in _bars(each, place, top)],
        curves=[
            ChartLine(each.name, each.look, _path(each.values, place, top), each.is_dashed)
            for each in series
            if not each.is_bar
        ],
        marks=[_mark(mark, steps, step) for mark in marks],
        places=[ChartArea(round(n * place, 2), round(place, 2), 0, HEIGHT, text) for n, text in enumerate(texts)],
        keys=[(each.look, each.name) for each in series],
    )


def round_up(number: float) -> float:
    """Return the next number with one digit, or two even ones: the end of a scale that reads well, also at its half."""
    size: float = 10 ** math.floor(math.log10(number))
    end = next(end for end in ROUND_ENDS if number <= end * size)
    return round(end * size) if size >= 10 else end * size


def _height(value: float, top: float) -> float:
    return round(HEIGHT * min(value / top, 1), 2)


def _bars(series: Series, place: float, top: float) -> list[ChartArea]:
    return [
        ChartArea(
            x=round(number * place + GAP * place / 2, 2),
            width=round((1 - GAP) * place, 2),
            y=HEIGHT - _height(value, top),
            height=_height(value, top),
            title="",
            look=series.look,
        )
        for number, value in enumerate(series.values)
        if value
    ]


def _path(values: Sequence[Number], place: float, top: float) -> str:
    """Return a line with a gap wherever there is no value; a value without neighbours is a dot."""
    parts: list[str] = []
    is_down = False
    for number, value in enumerate(values):
        if value is None:
            is_down = False
            continue
        point = f"{(number + 0.5) * place:.1f} {HEIGHT - _height(value, top):.1f}"
        parts.append(f"L{point}" if is_down else f"M{point}h0")
        is_down = True
    return "".join(parts)


def _mark(mark: ChartMark, steps: Sequence[datetime], step: timedelta) -> ChartArea:
    whole = (steps[-1] + step - steps[0]) / WIDTH
    x = min(max((mark.at - steps[0]) / whole, 0), WIDTH - 1)
    end = min((mark.until - steps[0]) / whole, WIDTH) if mark.until else x
    return ChartArea(round(x, 2), round(max(end - x, 0), 2), 0, HEIGHT, mark.text)
