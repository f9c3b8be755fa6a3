"""``stats``"""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.db.models import Count, Q
from django.utils import timezone

from verification.management.base import WatchwordCommand, table
from verification.models import Message, MessageStatus, Project, Session, Worker
from verification.services import guard, workers
from verification.services.retention import is_overdue, last_purge

HOURS = 24


class Command(WatchwordCommand):
    help = f"Sessions and messages of the last {HOURS} hours by project, and the workers. Test logins are left out."

    def handle(self, *, json: bool, **_: Any) -> None:
        rows = collect()
        header = ("project", "name", "sessions", "verified", *MessageStatus.values)
        text = table(
            header,
            ([*(row[name] for name in header[:4]), *row["messages"].values()] for row in rows),
        )
        finished_at = last_purge()
        purge = {"finished_at": finished_at and finished_at.isoformat(), "is_overdue": is_overdue(finished_at)}
        running = [describe(worker) for worker in workers.running()]
        text += f"\n\n{tell(running)}"
        text += f"\nLast purge: {purge['finished_at'] or 'none yet'}{', overdue' if purge['is_overdue'] else ''}"
        self.show({"hours": HOURS, "projects": rows, "workers": running, "purge": purge}, text, as_json=json)


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
    recent = Q(created_at__gte=timezone.now() - timedelta(hours=HOURS), is_test=False)
    verified = Count("verified_at")
    sessions = {
        project: (total, done)
        for project, total, done in Session.objects.filter(recent)
        .order_by()
        .values_list("project")
        .annotate(Count("id"), verified)
    }
    messages = {
        (project, status): count
        for project, status, count in Message.objects.filter(recent)
        .order_by()
        .values_list("project", "status")
        .annotate(Count("id"))
    }
    return [
        {
            "project": project.pk,
            "name": project.name,
            "sessions": sessions.get(project.pk, (0, 0))[0],
            "verified": sessions.get(project.pk, (0, 0))[1],
            "messages": {status: messages.get((project.pk, status), 0) for status in MessageStatus.values},
            "countries": [line.as_dict() for line in guard.by_country([project.pk], hours=HOURS)],
        }
        for project in Project.objects.order_by("id")
    ]
