"""``listen [--project PROJECT] [--forward URL] [--type TYPES] [--id ID]``"""

from __future__ import annotations

import json as jsonlib
import time
from typing import Any

from django.conf import settings
from django.core.management.base import CommandParser

from verification.core import formats
from verification.core.errors import UserError
from verification.management.base import WatchwordCommand
from verification.models import EventType, Project
from verification.services.notifications import event_feed, events
from verification.services.notifications.payloads import body_of, webhook_id
from verification.services.projects.projects import find_project
from verification.sql.rows import DescribedEvent

POLL_SECONDS = 1.0  # between two looks at the database
# Whoever runs this command forwards to their own machine, whatever the service may call.
THIS_MACHINE = ("127.0.0.0/8", "::1/128")


class Command(WatchwordCommand):
    help = "Print the events of a project while you develop, or forward them to a server on this machine."
    epilog = (
        "It reads the database and does not change the real delivery. Forwarded events have the same id and body,\n"
        "and the same signature with the project's webhook secret. Press Ctrl-C to stop.\n\n"
        "examples:\n"
        "  manage.py setproject Shop events=session.opened,session.verified\n"
        "  manage.py listen --project Shop --forward http://localhost:3000/hook"
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--project", help="A project's name or id; optional if there is only one project.")
        parser.add_argument("--forward", metavar="URL", help="Post each event to this URL.")
        parser.add_argument("--type", metavar="TYPES", help="Only these types, as session.verified,session.locked.")
        parser.add_argument("--id", metavar="ID", help="Only the event with this id, as evt_41, then stop.")
        parser.add_argument("--oldest", action="store_true", help="Start with the oldest stored event.")
        parser.add_argument("--once", action="store_true", help="Stop when there are no more events.")

    def handle(self, *, project: str | None, oldest: bool, once: bool, **options: Any) -> None:
        row = find_project(project) if project else _only_project()
        if options["id"]:
            self._print(row, event_feed.read_event(row.pk, options["id"]), options)
            return
        types = _types(options["type"])
        after = event_feed.OLDEST if oldest else event_feed.newest_place()
        if not once:
            self.stderr.write(_introduction(row))
        while True:
            page = event_feed.page_after(row.pk, after, types=types)
            after = page.after
            for event in page.events:
                self._print(row, event, options)
            if page.has_more:
                continue
            if once:
                return
            time.sleep(POLL_SECONDS)

    def _print(self, project: Project, event: DescribedEvent, options: dict[str, Any]) -> None:
        body = body_of(event)
        answer = _forward(project, options["forward"], event, body) if options["forward"] else None
        if options["json"]:
            data = {"id": webhook_id(event), "type": event.type, "body": body, "answer": answer}
            self.stdout.write(jsonlib.dumps(data, ensure_ascii=False))
        else:
            line = f"{formats.iso_time(event.created_at)}  {event.type}  {webhook_id(event)}"
            self.stdout.write(f"{line}  → {answer}" if answer else line)
            self.stdout.write(f"  {jsonlib.dumps(body, ensure_ascii=False)}")
        self.stdout.flush()


def _forward(project: Project, url: str, event: DescribedEvent, body: dict[str, Any]) -> str:
    networks = (*settings.OUTBOUND_ALLOWED_NETWORKS, *THIS_MACHINE)
    tried = events.call(project=project, url=url, event_id=webhook_id(event), body=body, networks=networks)
    return tried.error if tried.status is None else f"HTTP {tried.status}"


def _types(given: str | None) -> list[str] | None:
    """Return the types that are wanted, None for all. Raises :class:`UserError`."""
    types = given.split(",") if given else None
    if unknown := set(types or ()) - set(EventType.values):
        raise UserError(f"Unknown event types: {', '.join(sorted(unknown))}. Use: {', '.join(EventType.values)}.")
    return types


def _only_project() -> Project:
    found = list(Project.objects.filter(deleted_at=None)[:2])
    if len(found) != 1:
        raise UserError("Name the project with --project: there is more than one, or none.")
    return found[0]


def _introduction(project: Project) -> str:
    chosen = ", ".join(project.events) or "none yet, see: manage.py setproject --help"
    return f"Listening to {project}. Its session events: {chosen}. Press Ctrl-C to stop."
