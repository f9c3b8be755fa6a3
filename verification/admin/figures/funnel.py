"""The funnel: how many sessions reached each step, and where most were lost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.utils.translation import gettext_lazy, ngettext

from verification.admin.figures.words import percent
from verification.core.formats import grouped
from verification.services.analytics import report
from verification.services.analytics.summary import Summary

STEPS = {  # by their words in docs/figures.md
    "started": gettext_lazy("Started"),
    "sent": gettext_lazy("Sent"),
    "delivered": gettext_lazy("Delivered"),
    "checked": gettext_lazy("Code entered"),
    "verified": gettext_lazy("Verified"),
    "proved": gettext_lazy("Confirmed by your server"),
}


@dataclass(frozen=True, slots=True)
class FunnelStep:
    """A step of the funnel: how many sessions reached it, and how many were lost since the step before."""

    word: str
    number: int
    share: float | None  # in percent of the first step
    lost: int
    lost_share: float | None  # in percent of the step before
    before: int


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
