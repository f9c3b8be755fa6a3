"""``issuekey PROJECT --kind api|secret|webhook [--expires-in SECONDS]``"""

from __future__ import annotations

from typing import Any

from django.apps import apps
from django.core.management.base import CommandParser

from verification.core import sids
from verification.core.errors import UserError
from verification.management.base import MAX_SECONDS, WatchwordCommand, add_project, aligned, whole
from verification.models import KeyKind, Project
from verification.services.projects.keys import IssuedKey, digest_of, issue_key
from verification.services.projects.projects import find_project
from verification.services.projects.webhook_secrets import rotate_webhook_secret

WEBHOOK = "webhook"


class Command(WatchwordCommand):
    help = "Create another key for a project. You see it only now; earlier keys stay valid."
    shows_secret = True
    epilog = (
        "Apps and pages use an API key, for the session endpoints; only your servers use a secret key.\n"
        "A webhook secret signs callbacks and alerts; the previous one also signs for another day.\n\n"
        "example:\n"
        "  manage.py issuekey Shop --kind secret --expires-in 2592000"
    )

    def add_arguments(self, parser: CommandParser) -> None:
        add_project(parser)
        parser.add_argument("--kind", required=True, choices=[*KeyKind.values, WEBHOOK])
        parser.add_argument(
            "--expires-in",
            type=whole(least=1, most=MAX_SECONDS),
            metavar="SECONDS",
            help="Default: valid until you revoke it.",
        )

    def handle(self, *, project: str, kind: str, expires_in: int | None, json: bool, **_: Any) -> None:
        owner = find_project(project)
        if kind == WEBHOOK:
            if expires_in:
                raise UserError(
                    "A webhook secret expires a day after you create the next one; --expires-in is for keys."
                )
            secret = rotate_webhook_secret(owner)
            text = f"The new webhook secret of {owner}. The previous one also signs for another day:\n\n{secret}"
            self.show({"webhook_secret": secret}, text, as_json=json)
            return
        key = issue_key(project=owner, kind=KeyKind(kind), expires_in=expires_in)
        text = f"Created key {key.id} of {owner}. Copy it now; you will not see it again:\n\n"
        beside = twilio_sids(owner, key)
        text += aligned([(str(key.kind.label), key.text), *beside.values()])
        data = {"key": key.id, f"{kind}_key": key.text} | {name: sid for name, (_, sid) in beside.items()}
        self.show(data, text, as_json=json)


def twilio_sids(project: Project, key: IssuedKey) -> dict[str, tuple[str, str]]:
    """Return what Twilio's libraries ask for beside the key, by name; nothing where they cannot log in with it."""
    is_served = apps.is_installed("verification.contrib.twilio") and project.twilio_endpoints
    if key.kind is not KeyKind.SECRET or not is_served:
        return {}
    return {
        "account_sid": ("Account SID", sids.of_project(sids.ACCOUNT, project.public_id)),
        "key_sid": ("API key SID", sids.of_key(digest_of(key.text))),
        "service_sid": ("Service SID", sids.of_project(sids.SERVICE, project.public_id)),
    }
