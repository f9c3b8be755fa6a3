"""``listconnections [PROJECT]``"""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser

from verification.contrib.connections import connections
from verification.contrib.connections.connections import AUTOMATIC
from verification.management.base import WatchwordCommand, add_project, table
from verification.models import IdentityConnection
from verification.services.projects.projects import find_project


class Command(WatchwordCommand):
    help = "List the identity systems that submit their codes, of all projects or of one. Shows no secrets."

    def add_arguments(self, parser: CommandParser) -> None:
        add_project(parser, nargs="?")

    def handle(self, *, project: str | None, json: bool, **_: Any) -> None:
        found = connections.connections_of(None if project is None else find_project(project))
        rows = [_row(connection) for connection in found]
        text = "There are none."
        if rows:
            header = [name.replace("_", " ").upper() for name in rows[0]]
            text = table(header, (["–" if value is None else value for value in row.values()] for row in rows))
        self.show({"connections": rows}, text, as_json=json)


def _row(connection: IdentityConnection) -> dict[str, Any]:
    used = connection.last_used_at
    return {
        "id": connection.pk,
        "project": connection.project.name,
        "system": connection.system,
        "channel": connection.channel or AUTOMATIC,
        "name": connection.name,
        "last_used_at": used and used.isoformat(timespec="minutes"),
        "url": connections.address_of(connection),
    }
