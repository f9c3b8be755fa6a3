"""``exportproject PROJECT … | --all | --schema``"""

from __future__ import annotations

from json import dumps
from typing import Any

from django.core.management.base import CommandParser

from verification.contrib.config_files.export import file_of, write
from verification.contrib.config_files.schema import schema
from verification.core.errors import UserError
from verification.management.base import WatchwordCommand, print_in_utf8
from verification.models import Project
from verification.services.projects.projects import find_project


class Command(WatchwordCommand):
    help = "Print the configuration of projects as a file for apply. It contains no keys, secrets or people."
    epilog = (
        "The file only names secrets; apply --help says how to provide them.\n\n"
        "examples:\n"
        "  manage.py exportproject Shop > shop.yaml\n"
        "  manage.py exportproject --all > projects.yaml\n"
        "  manage.py exportproject --schema > set-up.schema.json"
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("projects", metavar="PROJECT", nargs="*", help="A project's id or name.")
        parser.add_argument("--all", action="store_true", help="Every project.")
        parser.add_argument("--schema", action="store_true", help="Instead, print the file's JSON schema.")

    def handle(self, *, projects: list[str], json: bool, **options: Any) -> None:
        if bool(projects) + options["all"] + options["schema"] != 1:
            raise UserError("Pass projects, or --all, or --schema.")
        print_in_utf8()
        if options["schema"]:
            self.stdout.write(dumps(schema(), indent=2))
            return
        rows = Project.objects.filter(deleted_at=None) if options["all"] else [find_project(text) for text in projects]
        twice = {row.name for row in rows if sum(other.name == row.name for other in rows) > 1}
        if twice:
            raise UserError(f"Two projects are named {sorted(twice)[0]!r}; a file identifies projects by name.")
        file = file_of(*rows)
        self.show(file, write(file).removesuffix("\n"), as_json=json)
