"""``list projects|keys|providers|channels|testlogins [PROJECT]``"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any

from django.core.management.base import CommandParser
from django.utils import timezone

from verification.management.base import WatchwordCommand, add_project, table
from verification.models import ApiKey, Channel, Project, Provider, TestLogin
from verification.services.projects.projects import find_project

Row = dict[str, Any]


def projects(project: Project | None) -> list[Row]:
    found = Project.objects.filter(deleted_at=None).prefetch_related("channels").order_by("name", "pk")
    return [
        {
            "id": row.pk,
            "name": row.name,
            "enabled": row.is_enabled,
            "channels": [channel.type for channel in row.channels.all() if channel.is_active],
            "created_at": row.created_at,
        }
        for row in found
        if project in (None, row)
    ]


def keys(project: Project | None) -> list[Row]:
    """List the keys by what they begin with. No text of a key is stored."""
    return [
        {
            "id": row.pk,
            "project": row.project.name,
            "kind": row.kind,
            "prefix": row.prefix,
            "state": row.state,
            "created_at": row.created_at,
            "expires_at": row.expires_at,
            "last_used_at": row.last_used_at,
        }
        for row in _of(ApiKey, project).order_by("project__name", "pk")
    ]


def providers(project: Project | None) -> list[Row]:
    """List the providers in the order of trial: a project's own, and after them the system's, which serve it too."""
    found = Provider.objects.of(project) if project else Provider.objects.exclude(project__deleted_at__isnull=False)
    return [
        {
            "id": row.pk,
            "project": row.project.name if row.project else None,
            "channel": row.channel,
            "type": row.type,
            "name": row.name,
            "enabled": row.is_enabled,
            "priority": row.priority,
            "weight": row.weight,
            "aside_until": row.breaker.open_until if hasattr(row, "breaker") else None,
        }
        for row in found.select_related("project", "breaker").in_order()
    ]


def channels(project: Project | None) -> list[Row]:
    serving = list(Provider.objects.filter(is_enabled=True).in_order())
    return [
        {
            "project": row.project.name,
            "channel": row.type,
            "name": row.display_name,
            "active": row.is_active,
            "position": row.position,
            "daily_budget": row.effective_budget,
            "served_by": [
                each.name for each in serving if each.channel == row.type and each.project_id in (None, row.project_id)
            ],
        }
        for row in _of(Channel, project).order_by("project__name", "position", "pk")
    ]


def testlogins(project: Project | None) -> list[Row]:
    """List the test logins without their codes."""
    return [
        {
            "id": row.pk,
            "project": row.project.name,
            "to": row.to,
            "works": row.project.test_logins_enabled and (row.expires_at is None or row.expires_at > timezone.now()),
            "expires_at": row.expires_at,
        }
        for row in _of(TestLogin, project).order_by("project__name", "to")
    ]


LISTS: dict[str, Callable[[Project | None], list[Row]]] = {
    "projects": projects,
    "keys": keys,
    "providers": providers,
    "channels": channels,
    "testlogins": testlogins,
}


class Command(WatchwordCommand):
    help = "List the configuration, of all projects or of one."
    epilog = (
        "Times are in UTC. The list contains no secrets.\n\n"
        "examples:\n"
        "  manage.py list projects\n"
        "  manage.py list providers Shop --json"
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("what", choices=tuple(LISTS), help="What to list.")
        add_project(parser, nargs="?")

    def handle(self, *, what: str, project: str | None, json: bool, **_: Any) -> None:
        rows = LISTS[what](None if project is None else find_project(project))
        data = {what: [{name: _plain(value) for name, value in row.items()} for row in rows]}
        self.show(data, as_table(rows) if rows else "There are none.", as_json=json)


def as_table(rows: list[Row]) -> str:
    header = [name.replace("_", " ").upper() for name in rows[0]]
    return table(header, ([_words(value) for value in row.values()] for row in rows))


def _words(value: Any) -> object:
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, datetime):
        return f"{value:%Y-%m-%d %H:%M}"
    return (", ".join(value) or "–") if isinstance(value, list) else value


def _plain(value: Any) -> Any:
    return value.isoformat() if isinstance(value, datetime) else value


def _of(model: Any, project: Project | None) -> Any:
    rows = model.objects.filter(project__deleted_at=None).select_related("project")
    return rows if project is None else rows.filter(project=project)
