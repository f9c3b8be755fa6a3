"""The tiles: the figures of a range in large letters, each against the range before."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from decimal import Decimal

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from verification.admin.base.display import keep_units
from verification.admin.figures.links import list_link, refusals_link
from verification.admin.figures.money import amount
from verification.admin.figures.over_time import delivery_times
from verification.admin.figures.words import percent, seconds
from verification.core.formats import grouped
from verification.services.analytics.report import FigureSums
from verification.services.analytics.summary import Summary

FEW = 20  # of the time before: fewer say nothing in percent
# Counts of independent events spread by the square root of their number, so a difference by that of their sum. Twice
# as much comes by chance once in twenty times.
CHANCE = 2


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


def _time_tile(title: str, sums: FigureSums, before: FigureSums, name: str) -> Tile:
    now, then = sums.seconds(name, 0.5), before.seconds(name, 0.5)
    late = sums.seconds(name, 0.95)
    change = _("was {seconds}").format(seconds=seconds(then)) if then is not None else _("no earlier data")
    note = _("95 % within {seconds}").format(seconds=seconds(late)) if late is not None else ""
    return Tile(title, seconds(now), change, note)


def _money_tiles(summary: Summary) -> list[Tile]:
    """Return the tiles of the cost and the cost per verified user; none where nothing was sent."""
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


def _against(now: Decimal | None, before: Decimal | None) -> str:
    if before is None:
        return _("no earlier data")
    if now is None or not before:
        return _("was {before}").format(before=grouped(before))
    change = round(100 * (now - before) / before)
    if not change:
        return _("unchanged ({before})").format(before=grouped(before))
    return _changed(change, grouped(before))
