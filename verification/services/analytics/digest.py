"""The digest: once a week a project's owner is told its figures, by the ways of an alert."""

from __future__ import annotations

from datetime import UTC, datetime, time, timedelta
from zoneinfo import ZoneInfo

from verification import sql
from verification.models import Alert, Project
from verification.services.analytics.ranges import Range
from verification.services.analytics.summary import Summary, SummaryRow, summarize
from verification.services.notifications import alerts
from verification.services.records.batches import run_each

DIGEST = "digest"  # the kind of these alerts
MONDAY = 0
FROM_HOUR = 9  # of Monday, on the clock of the project
LEAST_MESSAGES = 20  # of a provider in the week, below which its share of lost messages says nothing


def raise_due(now: datetime | None = None) -> int:
    """Raise the digests of the last week where it is Monday from nine on, and Monday in UTC, too. Return how many."""
    at = now or sql.now()
    projects = Project.objects.filter(alert_digest=True, is_enabled=True, deleted_at=None).order_by("pk")
    return sum(run_each(projects, lambda project: _raise_if_due(project, at), job=DIGEST))


def _raise_if_due(project: Project, now: datetime) -> bool:
    local = now.astimezone(ZoneInfo(project.alert_time_zone))
    week = week_before(local)  # east of UTC+9 it goes on beyond nine: in Auckland until 13:00
    if local.weekday() != MONDAY or local.hour < FROM_HOUR or now < week.until:
        return False
    key = f"{local:%G-W%V}"
    if Alert.objects.filter(project=project, kind=DIGEST, key=key).exists():
        return False
    title, detail = words_of(summarize([project.pk], week))
    alerts.raise_alert(project_id=project.pk, kind=DIGEST, key=key, title=title, detail=detail)
    return True


def week_before(local: datetime) -> Range:
    """Return the seven days before this local day, in UTC as all figures are."""
    until = datetime.combine(local.date(), time.min, UTC)
    return Range(until - timedelta(days=7), until)


def words_of(summary: Summary) -> tuple[str, str]:
    """Return the digest's title and text."""
    if summary.is_empty:
        return "Last week: no activity", "No sessions, messages or refusals."
    verified, before = (sums.counts["sessions_verified"] for sums in (summary.sums, summary.before))
    lines = [
        f"Verified: {verified:,} ({before:,} the week before).",
        f"Conversion: {_percent(summary.sums.conversion)} of the sessions with a code sent "
        f"({_percent(summary.before.conversion)} the week before).",
    ]
    cost = summary.money.cost
    if cost.known is not None and cost.sends:
        per = cost.per(verified)
        least = "at least " if cost.unknown else ""
        each = f", {per:,} per verified session" if per is not None else ""
        lines.append(f"Cost: {least}{cost.known:,} {cost.currency}{each}.")
    if worst := worst_provider(summary):
        lines.append(
            f"Worst provider: {worst.name} lost {worst.sums.lost:,} of {worst.sums.counts['messages']:,} messages."
        )
    days = f"{summary.span.since:%d %b} to {summary.span.last_day:%d %b}"
    return f"Last week: {verified:,} verified", f"{days} (UTC)\n" + "\n".join(lines)


def worst_provider(summary: Summary) -> SummaryRow | None:
    """Return the provider that lost the largest share of its messages; None if none lost any."""
    rows = [
        line
        for line in summary.by["provider_id"]
        if line.key and line.sums.counts["messages"] >= LEAST_MESSAGES and line.sums.lost
    ]
    return max(rows, key=lambda line: line.sums.lost / line.sums.counts["messages"], default=None)


def _percent(share: float | None) -> str:
    return "–" if share is None else f"{share:g} %"
