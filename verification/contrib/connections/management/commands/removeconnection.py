"""``removeconnection ID``"""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser

from verification.contrib.connections.connections import remove_connection
from verification.core.numbers import MAX_ID
from verification.management.base import WatchwordCommand, whole


class Command(WatchwordCommand):
    help = "Remove a connection: its address stops working within a second. What it sent stays in the lists."
    epilog = "To see the ids: manage.py listconnections"

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("connection", type=whole(least=1, most=MAX_ID), metavar="ID", help="The connection's id.")

    def handle(self, *, connection: int, json: bool, **_: Any) -> None:
        removed = remove_connection(connection)
        self.show({"removed": connection}, f"Removed {removed.name} of {removed.project}.", as_json=json)
