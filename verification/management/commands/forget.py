"""``forget PROJECT RECIPIENT [--export FILE|-] [--keep]``"""

from __future__ import annotations

import json
import os
from typing import Any

from django.core.management.base import CommandParser
from django.core.serializers.json import DjangoJSONEncoder

from verification.core.errors import UserError
from verification.management.base import WatchwordCommand, add_project, aligned
from verification.services.maintenance.forgetting import export, forget
from verification.services.projects.projects import find_project


class Command(WatchwordCommand):
    help = "Erase all that a project knows of one recipient, and export it first if asked to."
    epilog = (
        "What counts in the limits of the day stays for that day under a keyed hash, so that erasing is no way around\n"
        "them; an opt-out stays so until it is lifted. Dumps of the database keep what they hold.\n\n"
        "examples:\n"
        "  manage.py forget Shop ada@example.com --export ada.json\n"
        "  manage.py forget Shop +4915112345678 --export - --keep"
    )

    def add_arguments(self, parser: CommandParser) -> None:
        add_project(parser)
        parser.add_argument("recipient", metavar="RECIPIENT", help="The phone number or e-mail address.")
        parser.add_argument("--export", metavar="FILE", help="Write what is known there first, as JSON; - prints it.")
        parser.add_argument("--keep", action="store_true", help="Only export; erase nothing.")

    def handle(self, *, project: str, recipient: str, keep: bool, json: bool, **options: Any) -> None:
        owner, file = find_project(project), options["export"]
        if keep and not file:
            raise UserError("--keep erases nothing, so give --export too.")
        if file:
            text = as_json(export(project=owner, to=recipient))
            self.stdout.write(text) if file == "-" else write_new(file, text)
        if keep:
            return
        counts = forget(project=owner, to=recipient)
        if file != "-":  # which has the output for itself
            self.show(
                counts,
                f"Forgotten. Rows that went, and those kept for a day:\n\n{aligned(counts.items())}",
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
        raise UserError(f"{file} cannot be written: {error.strerror}") from None
