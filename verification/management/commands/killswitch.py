"""``killswitch [stop|resume NAME]``"""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from django.core.management.base import CommandParser

from verification.core.errors import UserError
from verification.management.base import WatchwordCommand, table
from verification.services.projects.kill_switch import EXAMPLES, resume, stop, stopped


class Command(WatchwordCommand):
    help = "Stop traffic at once, resume it, or show what is stopped. Every process follows within a second."
    epilog = (
        f"names: {', '.join(EXAMPLES)}\n\n"
        "Queued messages are not sent either; they fail. Users can still enter codes, and your server can still "
        "confirm them.\n\n"
        "examples:\n"
        "  manage.py killswitch\n"
        '  manage.py killswitch stop sms --reason "The gateway leaks."\n'
        "  manage.py killswitch resume sms"
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("action", choices=("show", "stop", "resume"), nargs="?", default="show")
        parser.add_argument("name", metavar="NAME", nargs="?", help="What to stop or resume.")
        parser.add_argument(
            "--reason",
            default="",
            help="The reason to show to others; for a project or provider it goes to the audit log.",
        )

    def handle(self, *, action: str, name: str | None, reason: str, json: bool, **_: Any) -> None:
        if (action == "show") is not (name is None):
            raise UserError("Write stop NAME, resume NAME, or nothing to see what is stopped.")
        if name is not None:
            stop(name, reason=reason) if action == "stop" else resume(name)
        rows = stopped()
        text = table(("NAME", "WHAT", "WHY"), [(row.name, row.title, row.reason) for row in rows])
        self.show({"stopped": [asdict(row) for row in rows]}, text if rows else "Nothing is stopped.", as_json=json)
