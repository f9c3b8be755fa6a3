"""``setproject PROJECT name=value …``"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from django.apps import apps
from django.core.management.base import CommandParser
from django.db import transaction

from verification.core.errors import UserError
from verification.management.base import WatchwordCommand, add_project, aligned, read_value
from verification.models import Channel, ChannelType, HostedPage
from verification.models.project_settings import SECRETS
from verification.models.project_settings.described import Described, describe, described
from verification.services.analytics import cost_budgets
from verification.services.projects import hosted_page
from verification.services.projects.projects import find_project, set_project
from verification.services.projects.settings import CHANNEL_SETTABLE, set_channel

OF_PAGE = "hosted_page."  # before the names of its settings


class Command(WatchwordCommand):
    help = "Change a project's settings. Every process follows within a second."

    def add_arguments(self, parser: CommandParser) -> None:
        add_project(parser)
        parser.add_argument("values", metavar="NAME=VALUE", nargs="+", help="One or more of the names below.")
        parser.epilog = (
            "names, each with the kind of its value:\n\n"
            f"{names_by_group()}\n\n"
            "With event_recipients=true anyone with a secret key reads whole recipients in events from then on. In\n"
            "the panel only people who see whole addresses can switch it on.\n\n"
            "Separate list entries with commas; an empty value clears the list. A secret on a command line stays in\n"
            "the shell's history: challenge_secret=@FILE reads it from a file, challenge_secret=- from standard "
            "input.\n\n"
            "examples:\n"
            "  manage.py setproject Shop code_length=4 origins=https://shop.example,https://m.shop.example\n"
            "  manage.py setproject Shop sms.daily_budget=5000\n"
            "  manage.py setproject Shop hosted_page.is_enabled=true "
            "hosted_page.return_addresses=https://shop.example/in\n"
            "  manage.py setproject Shop challenge_mode=always challenge_provider=turnstile \\\n"
            "      challenge_site_key=0x4AAAAAAAB challenge_secret=@turnstile-secret.txt"
        )

    def handle(self, *, project: str, values: list[str], json: bool, **_: Any) -> None:
        found = find_project(project)
        given = {name: read_value(name, value) if name in SECRETS else value for name, value in map(split, values)}
        of_page = _take(given, OF_PAGE)
        if of_page and not has_hosted_pages():
            raise UserError("This installation has no hosted pages.")
        of_channels = {channel: _take(given, f"{channel}.") for channel in ChannelType.values}
        with transaction.atomic():
            set_project(project=found, values=given)
            channels = {
                channel: set_channel(found, channel, settings) for channel, settings in of_channels.items() if settings
            }
            if of_page:
                hosted_page.save_from_text(found, of_page)
        for channel in channels.values():
            cost_budgets.watch(channel)  # a new limit of its costs holds at once
        shown = {name: getattr(found, name) for name in given if name not in SECRETS}
        shown |= {f"{type}.{name}": getattr(row, name) for type, row in channels.items() for name in of_channels[type]}
        page = hosted_page.page_of(found)
        shown |= {f"{OF_PAGE}{name}": getattr(page, name) for name in of_page}
        texts = [f"{name}=…" if name in SECRETS else f"{name}={value}" for name, value in given.items()]
        texts += [f"{type}.{name}={value}" for type in channels for name, value in of_channels[type].items()]
        texts += [f"{OF_PAGE}{name}={value}" for name, value in of_page.items()]
        self.show(
            {"project": found.pk, **shown},
            f"Changed project {found.pk} ({found.name}): {', '.join(texts)}",
            as_json=json,
        )


def split(text: str) -> tuple[str, str]:
    name, sign, value = text.partition("=")
    if not sign or not name:
        raise UserError(f"Write NAME=VALUE instead of {text!r}.")
    return name, value


def _take(given: dict[str, str], prefix: str) -> dict[str, str]:
    """Take the settings whose names begin so out of those given."""
    return {name.removeprefix(prefix): given.pop(name) for name in list(given) if name.startswith(prefix)}


def names_by_group() -> str:
    groups = described()
    groups["Channels, each setting after the channel's name as in sms.daily_budget"] = [
        describe(name, Channel) for name in CHANNEL_SETTABLE
    ]
    if has_hosted_pages():
        fields = [describe(name, HostedPage) for name in hosted_page.SETTABLE]
        groups["Hosted page"] = [replace(field, name=f"{OF_PAGE}{field.name}") for field in fields]
    return "\n\n".join(f"{title}\n{aligned(map(_line, settings))}" for title, settings in groups.items())


def has_hosted_pages() -> bool:
    return apps.is_installed("verification.contrib.hosted")


def _line(setting: Described) -> tuple[str, str]:
    """Return the line of one name in the help: kind, default, and what it does."""
    default = f", default {setting.default}" if setting.default else ""
    return setting.name, " ".join(filter(None, [f"{setting.kind}{default}.", setting.about]))
