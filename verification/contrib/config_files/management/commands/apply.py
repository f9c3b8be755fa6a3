"""``apply FILE [--dry-run] [--yes] [--secrets DIR]``"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser

from verification.contrib.config_files.load import MAX_BYTES, FileRefused, read
from verification.contrib.config_files.plan import Plan, apply, plan
from verification.core.errors import UserError
from verification.management.base import WatchwordCommand, cell_of, content_of

VARIABLE = "WATCHWORD_SECRET_"  # before the name of a secret: no file asks for a variable that is something else
DIFFERS = 2  # the exit status of --dry-run where something would change


class Command(WatchwordCommand):
    help = "Change projects to match a set-up file. Shows the changes, and asks before it applies them."
    epilog = (
        "The command creates projects that the file names and that do not exist, without keys. What the file does not\n"
        "name stays. It applies all of the file or nothing. docs/configuration-file.md describes the file.\n\n"
        "The file names a secret as {secret: NAME}. The command reads its value from the file NAME in the folder\n"
        f"of --secrets or, without that option, from the variable {VARIABLE}NAME, in capitals. If there is none, the "
        "stored\n"
        "value stays.\n\n"
        "exit status:\n"
        "  0  applied, or there was nothing to change\n"
        "  1  rejected or not confirmed: nothing changed\n"
        f"  {DIFFERS}  only with --dry-run: something would change\n\n"
        "examples:\n"
        "  manage.py apply shop.yaml\n"
        "  manage.py apply shop.yaml --dry-run\n"
        "  manage.py apply shop.yaml --yes --secrets /run/secrets/watchword\n"
        "  manage.py exportproject Shop | ssh other manage.py apply - --yes"
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", metavar="FILE", help="The file, or - for standard input.")
        parser.add_argument("--dry-run", action="store_true", help="Show the changes without applying them.")
        parser.add_argument("--yes", action="store_true", help="Apply without asking.")
        parser.add_argument("--secrets", metavar="DIR", help="A folder with a file for each secret.")

    def handle(self, *, file: str, dry_run: bool, yes: bool, secrets: str | None, json: bool, **_: Any) -> None:
        if dry_run and yes:
            raise UserError("--dry-run changes nothing, so there is nothing to confirm: leave out --yes.")
        find = finder(secrets)
        try:
            document = read(content_of(file, max_bytes=MAX_BYTES))
            planned = plan(document, find_secret=find)
            is_applied = not (planned.is_empty or dry_run) and (yes or self._ask(planned, as_json=json))
            if is_applied:
                planned = apply(document, find_secret=find, shown="" if yes else planned.digest)
        except FileRefused as error:
            raise CommandError("\n".join(f"{file}: {fault}" for fault in error.faults)) from error
        self.show({"applied": is_applied, **planned.as_dict()}, text_of(planned, is_applied, file), as_json=json)
        if dry_run and not planned.is_empty:
            sys.exit(DIFFERS)

    def _ask(self, planned: Plan, *, as_json: bool) -> bool:
        """Show the plan and return whether the operator agrees. Raises :class:`UserError` where nobody can be asked."""
        if as_json or not sys.stdin.isatty():
            raise UserError(
                "There is no terminal to ask for confirmation. Pass --yes to apply it, or --dry-run to see the changes."
            )
        self.stdout.write("\n".join(map(cell_of, planned.lines())))
        if input("Apply this? [y/N] ").strip().lower() not in ("y", "yes"):
            raise UserError("Nothing changed.")
        return True


def finder(folder: str | None) -> Callable[[str], str | None]:
    """Return what finds secrets by name: in the folder that was given, or else in the environment."""
    if folder is not None and not Path(folder).is_dir():
        raise UserError(f"--secrets: there is no folder {folder}.")

    def find(name: str) -> str | None:  # the schema has judged the name: none leads out of the folder
        if folder is None:
            return os.environ.get(f"{VARIABLE}{name.upper()}")
        try:
            return Path(folder, name).read_text().removesuffix("\n")
        except (FileNotFoundError, IsADirectoryError):
            return None
        except (OSError, UnicodeDecodeError) as error:
            reason = error.strerror if isinstance(error, OSError) else "it is not text"
            raise UserError(f"--secrets: cannot read {name}: {reason}.") from None

    return find


def text_of(planned: Plan, is_applied: bool, file: str) -> str:
    if planned.is_empty:
        return f"Everything matches {file}: nothing to change."
    lines = [cell_of(line) for line in planned.lines()]
    if not is_applied:
        return "\n".join([*lines, "Nothing changed: this is what apply would do."])
    lines.append("Applied.")
    new = [project.project for project in planned.projects if project.is_new]
    lines += [f"{name} is new and has no keys: create them with manage.py issuekey." for name in new]
    return "\n".join(lines)
