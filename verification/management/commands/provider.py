"""``provider show|set|enable|disable|remove|prices|newhook ID``"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from django.core.exceptions import ValidationError
from django.core.management.base import CommandParser

from providers import registry
from verification.core.crypto import DecryptionFailed
from verification.core.errors import UserError
from verification.core.numbers import whole_number
from verification.management.base import WatchwordCommand, aligned, content_of
from verification.management.commands.addprovider import read_settings
from verification.management.commands.setproject import split
from verification.models import Provider
from verification.services.projects import kill_switch
from verification.services.projects.settings import read_text
from verification.services.providers import price_lists
from verification.services.providers.accounts import hook_url, is_known, reports_back, stored_secrets
from verification.services.providers.editing import FIELDS, change_provider, release, remove_provider, renew_hook
from verification.services.providers.price_lists import PriceLine, PriceListDifference
from verification.services.records import audit

ACTIONS = ("show", "set", "enable", "disable", "remove", "prices", "newhook")
NAMES = ("name", *(name for name in FIELDS if name != "is_enabled"))


class Command(WatchwordCommand):
    help = (
        "Show, change, enable, disable or remove a provider, its prices, or its webhook address. Processes follow "
        "within a second."
    )
    epilog = (
        f"names that set takes: {', '.join(NAMES)}\n"
        "Pass the settings of its type with --set, as addprovider --help lists them. Other values stay as they "
        "are.\n\n"
        "examples:\n"
        "  manage.py list providers Shop\n"
        "  manage.py provider show 12\n"
        "  manage.py provider set 12 priority=5 only_prefixes=+49,+43 --set password=@smtp-password.txt\n"
        '  manage.py provider disable 12 --reason "It bills what it does not deliver."\n'
        "  manage.py provider remove 12 --yes\n"
        "  manage.py provider prices 12 > prices.csv\n"
        "  manage.py provider prices 12 prices.csv --yes\n"
        "  manage.py provider newhook 12"
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("action", choices=ACTIONS)
        parser.add_argument("provider", metavar="ID", help="The provider's id, from list providers.")
        parser.add_argument(
            "values",
            metavar="NAME=VALUE",
            nargs="*",
            help="With set: any of the names below. With prices: the file of a list, or - for standard input.",
        )
        parser.add_argument(
            "--set",
            metavar="NAME=VALUE",
            action="append",
            default=[],
            help="With set: a setting of the type. NAME=@FILE reads the value from a file, NAME=- from standard input.",
        )
        parser.add_argument(
            "--unset",
            metavar="NAME",
            action="append",
            default=[],
            help="With set: remove a setting of the type, such as the username and password of a login.",
        )
        parser.add_argument("--reason", default="", help="With disable: why, for the audit log.")
        parser.add_argument("--yes", action="store_true", help="With remove and prices: do it without asking.")

    def handle(self, *, action: str, provider: str, json: bool, **options: Any) -> None:
        row = find(provider)
        of_set = options["set"] or options["unset"]
        if of_set and action != "set" or options["values"] and action not in ("set", "prices"):
            raise UserError(f"Only set accepts values; {action} does not.")
        if action == "prices":
            data, text = prices(
                row, options["values"], is_agreed=options["yes"], shows=None if json else self.stdout.write
            )
            self.show(data, text, as_json=json)
            return
        if action == "newhook":
            data, text = new_hook(row)
            self.show(data, text, as_json=json)
            return
        if action == "set":
            changed = self._set(row, options["values"], read_settings(options["set"]), options["unset"])
            text = f"Changed {row.name}." if changed else f"{row.name} has these values already: nothing changed."
        elif action == "remove":
            text = self._remove(row, is_agreed=options["yes"])
        elif action == "enable":
            kill_switch.resume(f"provider:{row.pk}")
            text = f"Enabled {row.name}."
        elif action == "disable":
            kill_switch.stop(f"provider:{row.pk}", reason=options["reason"])
            text = f"Disabled {row.name}."
        else:
            data = description(row)
            text = aligned((name, format_value(value)) for name, value in data.items())
            self.show(data, text, as_json=json)
            return
        self.show({"provider": int(provider)}, text, as_json=json)

    def _set(self, row: Provider, texts: list[str], given: dict[str, str], unset: list[str]) -> bool:
        values = {}
        settings: dict[str, str | None] = {**given, **dict.fromkeys(unset)}
        if twice := sorted(set(given) & set(unset)):
            raise UserError(f"You cannot set and unset {twice[0]} at once.")
        for name, text in map(split, texts):
            if name not in NAMES:
                raise UserError(f"There is no name {name!r}. Names: {', '.join(NAMES)}. Settings go with --set.")
            values[name] = read_text(Provider._meta.get_field(name), text.strip())
        if not values and not settings:
            raise UserError("Pass at least one NAME=VALUE, --set NAME=VALUE or --unset NAME.")
        try:
            return change_provider(row, values, settings)
        except ValidationError as error:
            name, sentences = next(iter(error.message_dict.items()))
            raise UserError(f"{name}: {sentences[0]}") from None
        except DecryptionFailed:
            raise UserError(
                "The present encryption keys cannot decrypt its stored secrets. Enter them again."
            ) from None

    def _remove(self, row: Provider, *, is_agreed: bool) -> str:
        if not is_agreed:
            raise UserError(f"This removes {row.name} with its settings and credentials. Pass --yes to confirm.")
        release(row)
        remove_provider(row)
        return f"Removed {row.name}. Its messages stay."


def new_hook(row: Provider) -> tuple[dict[str, Any], str]:
    """Change a provider's webhook address. Raises :class:`UserError` for a service that calls nobody."""
    if not is_known(row.type) or not reports_back(registry.adapter_class(row.type)):
        raise UserError(f"A provider of type {row.type} has no webhook address.")
    address = renew_hook(row)
    text = f"Enter this address at the vendor now: Watchword rejects reports to the previous one.\n\n{address}"
    return {"provider": row.pk, "hook_url": address}, text


def prices(
    row: Provider, files: list[str], *, is_agreed: bool, shows: Callable[[str], Any] | None
) -> tuple[dict[str, Any], str]:
    """Print the list that holds, or put that of a file in its place once the difference was seen and agreed to.

    ``shows`` prints the difference where people read along. Raises :class:`UserError`; then nothing is changed.
    """
    old, number = price_lists.lines_of(row), row.price_list
    if not files:
        return {"provider": row.pk, "prices": [_written(line) for line in old]}, price_lists.format_lines(old).rstrip()
    if len(files) > 1:
        raise UserError("Pass one file with prices.")
    try:
        new = price_lists.read(content_of(files[0], max_bytes=price_lists.MAX_BYTES).decode("utf-8-sig"))
    except UnicodeDecodeError:
        raise UserError(f"{files[0]}: the file is not UTF-8 text.") from None
    found = price_lists.difference(old, new)
    data = {
        "provider": row.pk,
        "added": [_written(line) for line in found.added],
        "removed": [_written(line) for line in found.removed],
        "changed": [[_written(line) for line in pair] for pair in found.changed],
    }
    if found.is_empty:
        return {**data, "applied": False}, f"The prices of {row.name} match {files[0]}: nothing to change."
    if shows is not None:
        shows("\n".join(difference_lines(found)))
    if not is_agreed and not (shows is not None and sys.stdin.isatty()):
        raise UserError(
            "There is no terminal to ask for confirmation, so nothing changed. Pass --yes to replace the prices."
        )
    if not is_agreed and input("Replace the prices? [y/N] ").strip().lower() not in ("y", "yes"):
        raise UserError("Nothing changed.")
    price_lists.replace(row, new, number=number)
    text = f"Replaced the prices: {len(new)} now"
    audit.record(text, row=row, project=row.project, label=row.name)
    return {**data, "applied": True}, f"{row.name} now has {len(new):,} prices. They apply to messages from now on."


def difference_lines(found: PriceListDifference) -> list[str]:
    """Write a difference as people read it: + is new, - goes, ~ changes."""
    return [
        *(f"+ {_written(line)}" for line in found.added),
        *(f"- {_written(line)}" for line in found.removed),
        *(f"~ {_written(before)} -> {_written(after)}" for before, after in found.changed),
    ]


def _written(line: PriceLine) -> str:
    key, value = price_lists.entry_of(line)
    return f"{key}: {value}"


def find(text: str) -> Provider:
    """Return the provider of this id. Raises :class:`UserError`."""
    provider_id = whole_number(text)
    found = None if provider_id is None else Provider.objects.filter(pk=provider_id).select_related("project").first()
    if found is None:
        raise UserError(f"There is no provider {text!r}. To see their ids: manage.py list providers")
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


def format_value(value: Any) -> str:
    """Return a value of the description in words."""
    if isinstance(value, dict):
        return (
            ", ".join(f"{name}={format_value(item)}" for name, item in value.items() if item not in ("", None)) or "–"
        )
    if isinstance(value, list):
        return ", ".join(map(str, value)) or "–"
    if isinstance(value, bool):
        return str(value).lower()
    return "–" if value in (None, "") else str(value)
