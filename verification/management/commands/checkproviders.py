"""``checkproviders [PROJECT]``"""

from __future__ import annotations

import sys
from typing import Any

from django.core.management.base import CommandParser

from verification.management.base import WatchwordCommand, table
from verification.models import Provider
from verification.services.projects.projects import find_project
from verification.services.providers.accounts import check_provider


class Command(WatchwordCommand):
    help = "Check whether the settings of every active provider work. Sends nothing. Exit code 1 if one fails."
    epilog = "example:\n  manage.py checkproviders Shop"

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "project",
            metavar="PROJECT",
            nargs="?",
            help="The project's id or name; also checks the system providers. Default: all projects.",
        )

    def handle(self, *, project: str | None, json: bool, **_: Any) -> None:
        providers = Provider.objects.filter(is_enabled=True).select_related("project").order_by("project", "channel")
        if project is not None:
            providers = providers.of(find_project(project))
        found = [describe(provider) for provider in providers.order_by("project", "channel", "priority", "id")]
        is_ok = all(item["is_ok"] for item in found)
        self.show({"is_ok": is_ok, "providers": found}, as_table(found), as_json=json)
        if not is_ok:
            sys.exit(1)


def describe(provider: Provider) -> dict[str, Any]:
    health = check_provider(provider)
    return {
        "provider": provider.pk,
        "project": provider.project.name if provider.project else None,
        "channel": provider.channel,
        "type": provider.type,
        "name": provider.name,
        "is_ok": health.is_ok,
        "is_sure": health.is_sure,
        "detail": health.detail,
        "balance": health.balance,
    }


def as_table(found: list[dict[str, Any]]) -> str:
    if not found:
        return "There is no active provider. Add one with addprovider."
    header = ("", "id", "project", "channel", "name", "answer")
    return table(
        header,
        (
            (
                ("ok" if item["is_sure"] else "reached") if item["is_ok"] else "FAILS",
                item["provider"],
                item["project"] or "(system)",
                item["channel"],
                item["name"],
                item["detail"] + (f" Balance: {item['balance']}." if item["balance"] else ""),
            )
            for item in found
        ),
    )
