"""``addconnection PROJECT --system SYSTEM [--channel CHANNEL|auto] [--name NAME] [--secret TEXT] [--country NAME]``"""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser

from verification.contrib.connections import connections, registry
from verification.contrib.connections.base import COUNTRY
from verification.contrib.connections.connections import AUTOMATIC
from verification.core.errors import UserError
from verification.management.base import WatchwordCommand, add_project, aligned, read_value
from verification.models import ChannelType
from verification.services.projects.projects import find_project


class Command(WatchwordCommand):
    help = "Let an identity system submit its codes to a project. You see the secret only now."
    shows_secret = True
    epilog = (
        "With --channel auto the channel is chosen for each recipient, as for a session. --secret takes one that the\n"
        "system draws itself, such as Zitadel's signing key; @FILE and - read it from a file or from standard input.\n"
        "--set gives an option of the system, such as the name of a field.\n\n"
        "examples:\n"
        "  manage.py addconnection Shop --system supabase_sms --channel auto\n"
        "  manage.py addconnection Shop --system generic --set to=user.phone --set code=otp"
    )

    def add_arguments(self, parser: CommandParser) -> None:
        add_project(parser)
        parser.add_argument("--system", required=True, choices=list(registry.all_systems()))
        parser.add_argument("--channel", default=AUTOMATIC, choices=[AUTOMATIC, *ChannelType.values])
        parser.add_argument("--name", default="", help="Default: the system's.")
        parser.add_argument("--secret", default="", metavar="TEXT", help="Default: a random secret.")
        parser.add_argument("--country", default="", help="Of numbers without a plus, such as MA. Default: none.")
        parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="An option of the system.")

    def handle(
        self,
        *,
        project: str,
        system: str,
        channel: str,
        name: str,
        secret: str,
        country: str,
        set: list[str],
        json: bool,
        **_: Any,
    ) -> None:
        options = dict(map(_pair, set)) | ({COUNTRY.name: country} if country else {})
        connection, text = connections.add_connection(
            project=find_project(project),
            system=system,
            channel="" if channel == AUTOMATIC else channel,
            name=name,
            secret=read_value("--secret", secret),
            options=options,
        )
        lines = [(str(line.name), line.text) for line in connections.lines_of(connection, text)]
        self.show(
            {"connection": connection.pk, "url": connections.address_of(connection), "secret": text},
            f"Created connection {connection.pk} of {connection.project}. Paste these into {connection.name}; you "
            "will not see the secret again:\n\n"
            f"{aligned(lines)}",
            as_json=json,
        )


def _pair(text: str) -> tuple[str, str]:
    name, sign, value = text.partition("=")
    if not sign:
        raise UserError(f"--set {text}: write it as NAME=VALUE.")
    return name, value
