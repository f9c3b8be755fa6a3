"""``stats [--days N | --from DAY --to DAY]``"""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser
from django.utils import timezone

from verification.core.errors import UserError
from verification.management.base import WatchwordCommand, table, whole
from verification.models import Project, Worker
from verification.services.analytics import ranges
from verification.services.analytics.summary import as_dict, summarize
from verification.services.maintenance.retention import first_project_at, is_overdue, last_purge
from verification.services.protection.guard import conversion
from verification.services.records import workers

STATES = ("delivered", "failed", "expired")  # of messages
COLUMNS = ("project", "name", "started", "sent", "delivered", "checked", "verified", "proved")


class Command(WatchwordCommand):
    help = (
        f"Show the figures of the last {ranges.DAY_HOURS} hours, or of some days, by project and compared with the "
        "previous period, and the workers. Leaves out test logins."
    )
    epilog = (
        "With --json also over time, by channel, provider, country and language, and the alerts.\n\n"
        "examples:\n  manage.py stats --days 7\n  manage.py stats --from 2026-10-01 --to 2026-10-31"
    )

    def add_arguments(self, parser: CommandParser) -> None:
        ends = parser.add_argument_group("a range of days (UTC), both included")
        ends.add_argument("--from", dest="first", default="", metavar="DAY", help="Such as 2026-10-01.")
        ends.add_argument("--to", dest="last", default="", metavar="DAY", help="Default: today.")
        parser.add_argument(
            "--days",
            type=whole(least=1, most=ranges.MAX_DAYS),
            metavar="N",
            help=f"Days (UTC), of which today is the last. Default: the last {ranges.DAY_HOURS} hours.",
        )

    def handle(self, *, days: int | None, first: str, last: str, json: bool, **_: Any) -> None:
        span = chosen_range(days, first, last)
        rows = collect(span)
        finished_at = last_purge()
        is_late = is_overdue(finished_at or first_project_at())
        purge = {"finished_at": finished_at and finished_at.isoformat(), "is_overdue": is_late}
        running = [describe(worker) for worker in workers.running()]
        text = f"{as_text(rows)}\n\n{tell(running)}"
        text += f"\nLast purge: {purge['finished_at'] or 'none yet'}{', overdue' if purge['is_overdue'] else ''}"
        data = {
            "since": span.since.isoformat(),
            "until": span.until.isoformat(),
            "projects": rows,
            "workers": running,
            "purge": purge,
        }
        self.show(data, text, as_json=json)


def chosen_range(days: int | None, first: str, last: str) -> ranges.Range:
    now = timezone.now()
    if not (first or last):
        return ranges.last_days(now, days) if days else ranges.last_hours(now, ranges.DAY_HOURS)
    if days:
        raise UserError("--days sets its own range. Leave out --days, or leave out --from and --to.")
    if not first:
        raise UserError("--to only sets the last day. Pass --from as well.")
    return ranges.between(ranges.read_day(first, now=now), ranges.read_day(last, now=now, default=now.date()), now=now)


def as_text(rows: list[dict[str, Any]]) -> str:
    """Lay out the figures of each project; what cannot be told is a dash."""
    header = (*COLUMNS, "conversion %", "before", "time to verify (s)", "p95", "cost", "per verified user", "no price")
    return table(
        header,
        (
            [
                row["project"],
                row["name"],
                *(row["figures"][word] for word in COLUMNS[2:]),
                *(
                    "–" if value is None else value
                    for value in (
                        row["figures"]["conversion_percent"],
                        row["before"]["conversion_percent"],
                        row["figures"]["verify_seconds"]["median"],
                        row["figures"]["verify_seconds"]["p95"],
                        cost_of(row["cost"]),
                        row["cost"]["cost_per_verified"],
                        row["cost"]["messages_without_price"],
                    )
                ),
            ]
            for row in rows
        ),
    )


def cost_of(summary: dict[str, Any]) -> str:
    """Write a cost with its currency; what nobody knows is a word and no 0."""
    return "unknown" if summary["cost"] is None else f"{summary['cost']} {summary['currency']}"


def describe(worker: Worker) -> dict[str, Any]:
    return {
        "host": worker.host,
        "pid": worker.pid,
        "version": worker.version,
        "threads": worker.threads,
        "kinds": worker.kinds,
        "started_at": worker.started_at.isoformat(),
        "seen_at": worker.seen_at.isoformat(),
    }


def tell(running: list[dict[str, Any]]) -> str:
    if not running:
        return "Workers: none running, so nothing is delivered. Start one with: manage.py worker"
    lines = (
        f"{row['host']} process {row['pid']}: {', '.join(row['kinds'])}, {row['threads']} threads" for row in running
    )
    return "Workers: " + "; ".join(lines)


def collect(span: ranges.Range) -> list[dict[str, Any]]:
    """One row a project, those without traffic included."""
    return [_row(project, span) for project in Project.objects.filter(deleted_at=None).order_by("id")]


def _row(project: Project, span: ranges.Range) -> dict[str, Any]:
    only = [project.pk]
    summary = summarize(only, span, with_system=True)
    counts = summary.sums.counts
    by = {name: lines for name, lines in as_dict(summary)["by"].items() if name != "project"}
    return {
        **as_dict(summary),
        "project": project.pk,
        "name": project.name,
        "sessions": counts["sessions"],
        "verified": counts["sessions_verified"],
        "messages": {"all": counts["messages"], **{state: counts[f"messages_{state}"] for state in STATES}},
        "by": by,
        "countries": [line.as_dict() for line in conversion.by_country(only, hours=ranges.DAY_HOURS)],
    }
