"""``setplatform name=value …``"""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser

from verification.management.base import WatchwordCommand, aligned
from verification.management.commands.setproject import split
from verification.models import Platform
from verification.services.projects.ceilings import PLATFORM_NAMES, platform, set_platform


class Command(WatchwordCommand):
    help = (
        "Set or show the platform limits for all projects, and the account currency. Every process follows within a "
        "second."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "values",
            metavar="NAME=VALUE",
            nargs="*",
            help="One or more of the names below; without any, the command shows all values.",
        )
        fields = {field.name: field for field in Platform._meta.fields}
        names = aligned((name, str(fields[name].help_text)) for name in PLATFORM_NAMES)
        parser.epilog = f"names:\n{names}\n\nexample:\n  manage.py setplatform max_daily_budget=5000"

    def handle(self, *, values: list[str], json: bool, **_: Any) -> None:
        row = set_platform(dict(split(text) for text in values)) if values else platform()
        data = {name: getattr(row, name) for name in PLATFORM_NAMES}
        self.show(data, aligned(data.items()), as_json=json)
