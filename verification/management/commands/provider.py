"""``provider show|set|enable|disable|remove ID``"""

from __future__ import annotations

from typing import Any

from django.core.exceptions import ValidationError
from django.core.management.base import CommandParser

from providers import registry
from verification.crypto import DecryptionFailed
from verification.errors import Misuse
from verification.management.base import WatchwordCommand, aligned
from verification.management.commands.addprovider import read_settings
from verification.management.commands.setproject import split
from verification.models import Provider
from verification.services.gateways.accounts import hook_url, is_known, reports_back, stored_secrets
from verification.services.gateways.editing import FIELDS, change_provider, release, remove_provider
from verification.services.projects import kill_switch
from verification.services.projects.settings import read_text
from verification.whole_numbers import whole_number

ACTIONS = ("show", "set", "enable", "disable", "remove")
NAMES = ("name", *(name for name in FIELDS if name != "is_enabled"))


class Command(WatchwordCommand):
    help = "Show, change, enable, disable or remove a provider. Every process goes by it within a second."
    epilog = (
        f"names that set takes: {', '.join(NAMES)}\n"
        "The settings of its type are given with --set, as addprovider --help lists them. What is not given stays.\n\n"
        "examples:\n"
        "  manage.py list providers Shop\n"
        "  manage.py provider show 12\n"
        "  manage.py provider set 12 priority=5 only_prefixes=+49,+43 --set password=@smtp-password.txt\n"
        '  manage.py provider disable 12 --reason "It bills what it does not deliver."\n'
        "  manage.py provider remove 12 --yes"
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("action", choices=ACTIONS)
        parser.add_argument("provider", metavar="ID", help="The provider's id, as list providers tells it.")
        parser.add_argument("values", metavar="NAME=VALUE", nargs="*", help="With set: any of the names below.")
        parser.add_argument(
            "--set",
            metavar="NAME=VALUE",
            action="append",
            default=[],
            help="With set: a setting of the type. NAME=@FILE reads the value from a file, NAME=- from standard input.",
        )
        parser.add_argument("--reason", default="", help="With disable: why, for the audit log.")
        parser.add_argument("--yes", action="store_true", help="With remove: do it, there is no way back.")

    def handle(self, *, action: str, provider: str, json: bool, **options: Any) -> None:
        row = find(provider)
        if action != "set" and (options["values"] or options["set"]):
            raise Misuse(f"Only set takes values; {action} takes none.")
        if action == "set":
            changed = self._set(row, options["values"], read_settings(options["set"]))
            text = f"{row.name} is changed." if changed else f"{row.name} was so before: nothing is changed."
        elif action == "remove":
            text = self._remove(row, is_agreed=options["yes"])
        elif action == "enable":
            kill_switch.resume(f"provider:{row.pk}")
            text = f"{row.name} is enabled."
        elif action == "disable":
            kill_switch.stop(f"provider:{row.pk}", reason=options["reason"])
            text = f"{row.name} is disabled."
        else:
            data = description(row)
            text = aligned((name, shown(value)) for name, value in data.items())
            self.show(data, text, as_json=json)
            return
        self.show({"provider": int(provider)}, text, as_json=json)

    def _set(self, row: Provider, texts: list[str], settings: dict[str, str]) -> bool:
        values = {}
        for name, text in map(split, texts):
            if name not in NAMES:
                raise Misuse(f"There is no name {name!r}. Names: {', '.join(NAMES)}. Settings go with --set.")
            values[name] = read_text(Provider._meta.get_field(name), text.strip())
        if not values and not settings:
            raise Misuse("Give at least one NAME=VALUE or --set NAME=VALUE.")
        try:
            return change_provider(row, values, settings)
        except ValidationError as error:
            name, sentences = next(iter(error.message_dict.items()))
            raise Misuse(f"{name}: {sentences[0]}") from None
        except DecryptionFailed:
            raise Misuse(
                "Its stored secrets cannot be read with the present encryption keys. Give them again."
            ) from None

    def _remove(self, row: Provider, *, is_agreed: bool) -> str:
        if not is_agreed:
            raise Misuse(f"{row.name} would go with its settings and credentials. Give --yes to remove it.")
        release(row)
        remove_provider(row)
        return f"{row.name} is removed. Its messages stay."


def find(text: str) -> Provider:
    """Return the provider of this id. Raises :class:`Misuse`."""
    provider_id = whole_number(text)
    found = None if provider_id is None else Provider.objects.filter(pk=provider_id).select_related("project").first()
    if found is None:
        raise Misuse(f"There is no provider {text!r}. manage.py list providers tells their ids.")
    return found


def description(row: Provider) -> dict[str, Any]:
    """Describe a provider for its operator. Of secrets only the names are told."""
    data: dict[str, Any] = {
        "provider": row.pk,
        "project": row.project.name if row.project else None,
        "channel": row.channel,
        "type": row.type,
        "name": row.name,
        **{name: getattr(row, name) for name in FIELDS},
        "settings": row.settings,
    }
    try:
        data["stored_secrets"] = sorted(name for name, value in stored_secrets(row).items() if value)
        if is_known(row.type) and reports_back(registry.adapter_class(row.type)):
            data["hook_url"] = hook_url(row)
    except DecryptionFailed:
        data["stored_secrets"] = None
    return data


def shown(value: Any) -> str:
    """Return a value of the description in words."""
    if isinstance(value, dict):
        return ", ".join(f"{name}={shown(item)}" for name, item in value.items() if item not in ("", None)) or "–"
    if isinstance(value, list):
        return ", ".join(map(str, value)) or "–"
    if isinstance(value, bool):
        return str(value).lower()
    return "–" if value in (None, "") else str(value)
