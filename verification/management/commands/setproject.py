"""``setproject PROJECT name=value …``"""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser

from verification.core.errors import UserError
from verification.management.base import WatchwordCommand, add_project, aligned, read_value
from verification.models.project_settings import SECRETS
from verification.models.project_settings.described import Described, described
from verification.services.projects.projects import find_project, set_project


class Command(WatchwordCommand):
    help = "Set a project's defaults and limits. Every process goes by them within a second."

    def add_arguments(self, parser: CommandParser) -> None:
        add_project(parser)
        parser.add_argument("values", metavar="NAME=VALUE", nargs="+", help="One or more of the names below.")
        parser.epilog = (
            f"names, each with the kind of its value:\n\n{names_by_group()}\n\n"
            "event_recipients=true lets whoever holds a secret key read whole recipients in events from then on. In\n"
            "the panel only who sees whole addresses may switch it on.\n\n"
            "Lists are written with commas; an empty value empties them. A secret on a command line stays in the\n"
            "shell's history: challenge_secret=@FILE reads it from a file, challenge_secret=- from standard input.\n\n"
            "examples:\n"
            "  manage.py setproject Shop code_length=4 origins=https://shop.example,https://m.shop.example\n"
            "  manage.py setproject Shop challenge_mode=always challenge_provider=turnstile \\\n"
            "      challenge_site_key=0x4AAAAAAAB challenge_secret=@turnstile-secret.txt"
        )

    def handle(self, *, project: str, values: list[str], json: bool, **_: Any) -> None:
        found = find_project(project)
        given = {name: read_value(name, value) if name in SECRETS else value for name, value in map(split, values)}
        set_project(project=found, values=given)
        shown = {name: getattr(found, name) for name in given if name not in SECRETS}
        texts = [f"{name}=…" if name in SECRETS else f"{name}={value}" for name, value in given.items()]
        self.show(
            {"project": found.pk, **shown},
            f"Project {found.pk} ({found.name}) is set: {', '.join(texts)}",
            as_json=json,
        )


def split(text: str) -> tuple[str, str]:
    name, sign, value = text.partition("=")
    if not sign or not name:
        raise UserError(f"Write NAME=VALUE instead of {text!r}.")
    return name, value


def names_by_group() -> str:
    return "\n\n".join(f"{title}\n{aligned(map(_line, settings))}" for title, settings in described().items())


def _line(setting: Described) -> tuple[str, str]:
    """Return the line of one name in the help: kind, default, and what it does."""
    default = f", default {setting.default}" if setting.default else ""
    return setting.name, " ".join(filter(None, [f"{setting.kind}{default}.", setting.about]))
