"""``stats [--days N]``"""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser
from django.utils import timezone

from verification.management.base import WatchwordCommand, table, whole
from verification.models import Project, Worker
from verification.services.oversight import figures, report
from verification.services.protection.guard import conversion
from verification.services.records import workers
from verification.services.upkeep.retention import is_overdue, last_purge

STATES = ("delivered", "failed", "expired")  # of messages
COLUMNS = ("project", "name", "started", "sent", "delivered", "checked", "verified", "proved")


class Command(WatchwordCommand):
    help = (
        f"The figures of the last {figures.HOURS} hours, or of some days, by project and against the time before, and"
        " the workers. Test logins are left out."
    )
    epilog = "With --json also by channel, provider, country and language.\n\nexample:\n  manage.py stats --days 7"

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--days",
            type=whole(least=1, most=report.MAX_DAYS),
            metavar="N",
            help=f"Days (UTC), of which today is the last. Default: the last {figures.HOURS} hours.",
        )

    def handle(self, *, days: int | None, json: bool, **_: Any) -> None:
        now = timezone.now()
        span = report.last_days(now, days) if days else report.last_hours(now, figures.HOURS)
        rows = collect(span)
        finished_at = last_purge()
        purge = {"finished_at": finished_at and finished_at.isoformat(), "is_overdue": is_overdue(finished_at)}
        running = [describe(worker) for worker in workers.running()]
        text = f"{written(rows)}\n\n{tell(running)}"
        text += f"\nLast purge: {purge['finished_at'] or 'none yet'}{', overdue' if purge['is_overdue'] else ''}"
        data = {
            "since": span.since.isoformat(),
            "until": span.until.isoformat(),
            "projects": rows,
            "workers": running,
            "purge": purge,
        }
        self.show(data, text, as_json=json)


def written(rows: list[dict[str, Any]]) -> str:
    """Lay out the figures of each project; what cannot be told is a dash."""
    header = (*COLUMNS, "conversion %", "before", "to verify (s)", "p95")
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
                    )
                ),
            ]
            for row in rows
        ),
    )


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
        return "Workers: none runs, so nothing is delivered. Start one with: manage.py worker"
    lines = (
        f"{row['host']} process {row['pid']}: {', '.join(row['kinds'])}, {row['threads']} threads" for row in running
    )
    return "Workers: " + "; ".join(lines)


def collect(span: report.Range) -> list[dict[str, Any]]:
    """One row a project, those without traffic included."""
    return [_row(project, span) for project in Project.objects.filter(deleted_at=None).order_by("id")]


def _row(project: Project, span: report.Range) -> dict[str, Any]:
    only = [project.pk]
    told = report.total(only, span)
    return {
        "project": project.pk,
        "name": project.name,
        "sessions": told.counts["sessions"],
        "verified": told.counts["sessions_verified"],
        "messages": {"all": told.counts["messages"], **{state: told.counts[f"messages_{state}"] for state in STATES}},
        "figures": report.as_dict(told),
        "before": report.as_dict(report.total(only, span.before)),
        "verified_users": report.users(only, span),
        "by": {name.removesuffix("_id"): _by(only, span, name) for name in report.DIMENSIONS if name != "project"},
        "refused": dict(report.refusals(only, span)),
        "countries": [line.as_dict() for line in conversion.by_country(only, hours=figures.HOURS)],
    }


def _by(projects: list[int], span: report.Range, name: str) -> list[dict[str, Any]]:
    found = report.grouped(projects, span, (name,))
    names = report.names(name, found)
    return [
        {name.removesuffix("_id"): names.get(key, key), **report.as_dict(told)}
        for (key,), told in sorted(found.items(), key=lambda item: (-item[1].counts["messages"], str(item[0])))
    ]
