"""``forget PROJECT RECIPIENT [--export FILE|-] [--keep]``"""

from __future__ import annotations

import json
import os
from typing import Any

from django.core.management.base import CommandParser
from django.core.serializers.json import DjangoJSONEncoder

from verification.core.errors import UserError
from verification.management.base import WatchwordCommand, add_project, aligned, print_in_utf8
from verification.services.maintenance.forgetting import export, forget
from verification.services.projects.projects import find_project


class Command(WatchwordCommand):
    help = "Erase everything that a project stores about one recipient, after an export if you ask for one."
    epilog = (
        "The numbers that count towards the daily limits stay for that day under a keyed hash, so that nobody can\n"
        "erase to get around them; an opt-out also stays until somebody lifts it. Database dumps are not changed.\n\n"
        "examples:\n"
        "  manage.py forget Shop ada@example.com --export ada.json\n"
        "  manage.py forget Shop +4915112345678 --export - --keep"
    )

    def add_arguments(self, parser: CommandParser) -> None:
        add_project(parser)
        parser.add_argument("recipient", metavar="RECIPIENT", help="The phone number or e-mail address.")
        parser.add_argument(
            "--export", metavar="FILE", help="First write what the project stores, as JSON; - prints it."
        )
        parser.add_argument("--keep", action="store_true", help="Only export; erase nothing.")

    def handle(self, *, project: str, recipient: str, keep: bool, json: bool, **options: Any) -> None:
        owner, file = find_project(project), options["export"]
        if keep and not file:
            raise UserError("--keep erases nothing, so pass --export too.")
        if file:
            text = as_json(export(project=owner, to=recipient))
            if file == "-":
                print_in_utf8()
                self.stdout.write(text)
                self.stdout.flush()  # nothing is erased whose export was lost
            else:
                write_new(file, text)
        if keep:
            return
        counts = forget(project=owner, to=recipient)
        if file != "-":  # which has the output for itself
            self.show(
                counts,
                f"Erased. Rows deleted, and rows kept for a day:\n\n{aligned(counts.items())}",
                as_json=json,
            )


def as_json(data: dict[str, Any]) -> str:
    return json.dumps(data, cls=DjangoJSONEncoder, indent=2, ensure_ascii=False)


def write_new(file: str, text: str) -> None:
    """Write a file that only its owner can read, and replace none."""
    try:
        with open(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as output:
            output.write(text + "\n")
    except OSError as error:
        raise UserError(f"Cannot write {file}: {error.strerror}") from None
