"""``stats``"""

from __future__ import annotations

from typing import Any

from verification.management.base import WatchwordCommand, table
from verification.models import Project, Worker
from verification.services.oversight import figures
from verification.services.protection.guard import conversion
from verification.services.records import workers
from verification.services.upkeep.retention import is_overdue, last_purge

STATES = ("delivered", "failed", "expired")  # of messages


class Command(WatchwordCommand):
    help = (
        f"Sessions and messages of the last {figures.HOURS} hours by project, and the workers. "
        "Test logins are left out."
    )

    def handle(self, *, json: bool, **_: Any) -> None:
        rows = collect()
        header = ("project", "name", "sessions", "verified", "messages", *STATES)
        text = table(
            header,
            ([*(row[name] for name in header[:4]), *row["messages"].values()] for row in rows),
        )
        finished_at = last_purge()
        purge = {"finished_at": finished_at and finished_at.isoformat(), "is_overdue": is_overdue(finished_at)}
        running = [describe(worker) for worker in workers.running()]
        text += f"\n\n{tell(running)}"
        text += f"\nLast purge: {purge['finished_at'] or 'none yet'}{', overdue' if purge['is_overdue'] else ''}"
        self.show({"hours": figures.HOURS, "projects": rows, "workers": running, "purge": purge}, text, as_json=json)


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


def collect() -> list[dict[str, Any]]:
    """One row a project, those without traffic included."""
    projects = list(Project.objects.filter(deleted_at=None).order_by("id"))
    counted = figures.count([project.pk for project in projects])
    return [_row(project, counted.get(project.pk, figures.Figures())) for project in projects]


def _row(project: Project, counted: figures.Figures) -> dict[str, Any]:
    return {
        "project": project.pk,
        "name": project.name,
        "sessions": counted.sessions,
        "verified": counted.verified,
        "messages": {state: counted.number(state) for state in ("all", *STATES)},
        "countries": [line.as_dict() for line in conversion.by_country([project.pk], hours=figures.HOURS)],
    }
