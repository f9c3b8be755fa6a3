"""``createproject NAME [--owner EMAIL] [--sandbox]``"""

from __future__ import annotations

import secrets
from typing import Any

from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.core.management.base import CommandParser
from django.core.validators import validate_email
from django.db.models import Q

from verification.core.errors import UserError
from verification.management.base import WatchwordCommand, aligned
from verification.models import ApiKey, KeyKind
from verification.models.channels import DEFAULT_DAILY_BUDGET
from verification.services.projects.projects import create_project
from verification.services.providers.accounts import add_sandbox

PASSWORD_BYTES = 12
LIVE_TEXT = (
    "The project has no channel yet: add a provider in the panel or with addprovider.\n"
    f"SMS and voice calls each stop at {DEFAULT_DAILY_BUDGET:,} messages a day (UTC), with alerts at 50, 80 and "
    "100 %: to change that limit, use setproject PROJECT sms.daily_budget=N or the channel's page; 0 means no limit."
)
SANDBOX_TEXT = "This is a test project: it sends nothing, and docs/testing.md lists the outcome of each recipient."


class Command(WatchwordCommand):
    help = "Create a project with an API key, a secret key and a webhook secret. You see them only now."
    shows_secret = True
    epilog = (
        "The project has no channel yet: add one with addprovider.\n\n"
        "examples:\n"
        "  manage.py createproject Shop\n"
        "  manage.py createproject Shop --owner ann@example.com --json\n"
        "  manage.py createproject Tests --sandbox --json"
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "name", metavar="NAME", help="The name that users read in their messages; no other project may have it."
        )
        parser.add_argument(
            "--owner",
            metavar="EMAIL",
            help="Who runs the project in the panel: a username or an e-mail address. For a new address the command "
            "creates a user and shows the password once.",
        )
        parser.add_argument(
            "--sandbox",
            action="store_true",
            help="Create a test project with the sandbox on every channel: it sends nothing, see docs/testing.md.",
        )

    def handle(self, *, name: str, owner: str | None, sandbox: bool, json: bool, **_: Any) -> None:
        user, password = find_or_make_user(owner) if owner else (None, None)
        new = create_project(name=name, owner=user, is_sandbox=sandbox)
        if sandbox:
            add_sandbox(new.project)
        ids = dict(ApiKey.objects.filter(project=new.project).values_list("kind", "pk"))
        data: dict[str, Any] = {
            "project": new.project.pk,
            "api_key": new.api_key,
            "api_key_id": ids[KeyKind.API],
            "secret_key": new.secret_key,
            "secret_key_id": ids[KeyKind.SECRET],
            "webhook_secret": new.webhook_secret,
        }
        shown = [
            (f"API key {ids[KeyKind.API]}", new.api_key),
            (f"Secret key {ids[KeyKind.SECRET]}", new.secret_key),
            ("Webhook secret", new.webhook_secret),
        ]
        if user and not password:
            shown.append(("Owner, who had an account", user.get_username()))
        if password:
            data["owner_password"] = password
            shown.append((f"Password of {owner}", password))
        text = (
            f"Created project {new.project.pk} ({name}). Copy these now; you will not see them again:\n\n"
            f"{aligned(shown)}\n\n"
            "revokekey takes the numbers.\n" + (SANDBOX_TEXT if sandbox else LIVE_TEXT)
        )
        self.show(data, text, as_json=json)


def find_or_make_user(name: str) -> tuple[User, str | None]:
    """The user of this name or e-mail address. A new one comes with its password."""
    found = list(User.objects.filter(Q(username=name) | Q(email__iexact=name))[:2])
    if len(found) > 1:
        raise UserError(f"{name!r} matches two users. Pass the username.")
    if found:
        return found[0], None
    try:
        validate_email(name)
    except ValidationError:
        raise UserError(f"There is no user {name!r}. Pass an e-mail address to create one.") from None
    password = secrets.token_urlsafe(PASSWORD_BYTES)
    return User.objects.create_user(name, email=name, password=password, is_staff=True), password
