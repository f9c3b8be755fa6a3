"""``addprovider PROJECT | --system --channel … --type … --name … [--set …]``"""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser

from providers import registry
from providers.base import Setting, SettingKind
from providers.http import packages
from verification.core.errors import UserError
from verification.management.base import WatchwordCommand, add_project, read_value, whole
from verification.models import ChannelType
from verification.models.channels import DEFAULT_DAILY_BUDGET, DEFAULT_PRIORITY
from verification.services.projects.projects import find_project
from verification.services.providers.accounts import add_provider, hook_url, reports_back

MAX_PRIORITY = MAX_BUDGET = 2**31 - 1  # what their columns hold


class Command(WatchwordCommand):
    help = (
        "Add a provider, the account at a vendor that sends a channel's messages. Creates the channel if the "
        "project lacks it."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        add_project(parser, nargs="?")
        parser.add_argument(
            "--system",
            action="store_true",
            help="Instead of PROJECT: serve every project that has the channel, after its own providers.",
        )
        parser.add_argument("--channel", required=True, help=" | ".join(ChannelType.values))
        parser.add_argument("--type", required=True, help="One of the types below.")
        parser.add_argument("--name", required=True, help="Your name for it.")
        parser.add_argument(
            "--set",
            metavar="NAME=VALUE",
            action="append",
            default=[],
            help="A setting of the type. A secret on a command line stays in the shell's history: NAME=@FILE reads "
            "the value from a file, NAME=- from standard input. (Write a value that begins with @ as @@…)",
        )
        parser.add_argument(
            "--priority",
            type=whole(least=0, most=MAX_PRIORITY),
            default=DEFAULT_PRIORITY,
            metavar="N",
            help=f"Watchword tries the lowest number first. Default: {DEFAULT_PRIORITY}.",
        )
        parser.add_argument(
            "--daily-budget",
            type=whole(least=0, most=MAX_BUDGET),
            metavar="N",
            help="Maximum messages per day (UTC) over this channel of the project; 0 means no limit. Without it the "
            f"channel keeps its own budget; a new SMS or voice channel gets {DEFAULT_DAILY_BUDGET:,}.",
        )
        parser.epilog = (
            "types and their settings (* is required, secrets are stored encrypted):\n"
            + "\n".join(describe(name) for name in registry.all_types())
            + "\n\nexamples:\n"
            "  manage.py addprovider Shop --channel sms --type http --name Gateway --set url=https://sms.example/send\n"
            "  manage.py addprovider --system --channel email --type smtp --name Mail \\\n"
            "      --set host=mail.example --set from_email=codes@shop.example --set username=shop \\\n"
            "      --set password=@smtp-password.txt"
        )

    def handle(self, *, project: str | None, system: bool, json: bool, **options: Any) -> None:
        if (project is None) != system:
            raise UserError("Pass either a PROJECT or --system.")
        if system and options["daily_budget"] is not None:
            raise UserError("A budget belongs to a project: pass a PROJECT with --daily-budget.")
        owner = None if project is None else find_project(project)
        provider = add_provider(
            project=owner,
            channel=options["channel"],
            provider_type=options["type"],
            name=options["name"],
            values=read_settings(options["set"]),
            priority=options["priority"],
            daily_budget=options["daily_budget"],
        )
        text = f"Provider {provider.pk} ({provider.name}) now serves {provider.channel} of {owner or 'every project'}."
        data: dict[str, Any] = {"provider": provider.pk}
        if reports_back(registry.adapter_class(provider.type)):
            data["hook_url"] = hook_url(provider)
            text += f"\nWebhook address, to enter at the vendor for its delivery reports: {data['hook_url']}"
            text += "\nIt contains a secret, so keep it out of your proxy's logs."
        self.show(data, text, as_json=json)


def read_settings(texts: list[str]) -> dict[str, str]:
    """``name=value``, with the value itself, ``@FILE``, or ``-`` for standard input."""
    values = {}
    for text in texts:
        name, sign, value = text.partition("=")
        if not sign or not name:
            raise UserError(f"--set: write NAME=VALUE instead of {text!r}.")
        if name in values:
            raise UserError(f"--set: {name} appears twice.")
        values[name] = read_value(f"--set {name}", value)
    return values


def describe(provider_type: str) -> str:
    """Return the lines of one type in the help."""
    found = registry.adapter_class(provider_type)
    lines = [f"  {provider_type}: {found.label}; {', '.join(found.channels)}"]
    if lacking := packages.missing(found.packages):
        lines.append(f"      needs {', '.join(lacking)}, which is not installed here (requirements/vendors.txt)")
    return "\n".join(lines + [f"      {_describe(setting)}" for setting in found.declared])


def _describe(setting: Setting) -> str:
    notes = [str(setting.label)]
    if setting.kind is SettingKind.SECRET:
        notes.append("secret")
    if setting.kind is SettingKind.CHOICE:
        notes.append(" | ".join(value for value, _ in setting.choices))
    if setting.default not in ("", False):
        notes.append(f"default {setting.default}")
    return f"{setting.name}{'*' if setting.required else ''}: {', '.join(notes)}"
