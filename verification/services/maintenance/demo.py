"""The demo of a first start on one's own machine: a project that sends to the terminal, and a user for the admin.

Its keys and the password stand in one file that only its owner can read. The file is written inside the transaction
that makes the rows. So a start that is killed leaves both, neither, or a file of keys that the database does not know.
The next start sees which, and makes the demo where there is none.
"""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.db import transaction

from providers.adapters.inbox import InboxMessage, read
from verification.models import ApiKey, ChannelType, EventType, Membership, Project, Provider
from verification.services.projects.keys import digest_of
from verification.services.projects.projects import NewProject, create_first_keys, create_project
from verification.services.providers.accounts import add_provider, add_sandbox
from verification.services.providers.store import ProviderStore

PROJECT_NAME = "Demo"
USER_NAME = "admin"
PASSWORD_BYTES = 12  # 96 random bits
# Type, name, priority and settings. The first one's messages are in the terminal, the panel and the demo page.
PROVIDERS: tuple[tuple[str, str, int, dict[str, Any]], ...] = (
    ("inbox", "Inbox", 10, {"prints": True}),
    ("console", "Console", 20, {}),
)


@dataclass(frozen=True, slots=True)
class Demo:
    """The demo as its file tells it. A part that the operator has since revoked, changed or deleted is empty."""

    project: int
    api_key: str
    secret_key: str
    webhook_secret: str
    admin_user: str
    admin_password: str


@dataclass(frozen=True, slots=True)
class Showing:
    """How the demo page is shown to everybody: what it asks them to try, and the newest messages in the inbox's place.

    They have what those of the inbox have, and nothing that somebody received.
    """

    lead: str
    messages: Callable[[Demo, int], list[InboxMessage]]


to_everybody: list[Showing] = []  # of an app, from its ready(); otherwise the page is for this machine


def ensure_demo(path: Path) -> Demo:
    """Return the demo that ``path`` tells of, and make it if there is none. What the operator took away stays away."""
    demo = load(path)
    if demo is None or not _was_made(demo):
        demo = _make(path)
    return _still_true(demo)


def path() -> Path:
    """Return where the demo's file is."""
    return Path(settings.HOME_DIR / "demo.json")


def read_demo(path: Path) -> Demo | None:
    """Return the demo that ``path`` tells of, and make nothing."""
    demo = load(path)
    return _still_true(demo) if demo else None


def read_inbox(demo: Demo) -> list[InboxMessage]:
    """Return what the demo's inboxes have kept, the newest first. Raises whatever their store raises."""
    inboxes = Provider.objects.filter(project=demo.project, type="inbox").values_list("pk", flat=True)
    kept = [message for inbox in inboxes for message in read(ProviderStore(inbox))]
    return sorted(kept, key=lambda message: message.at, reverse=True)


def load(path: Path) -> Demo | None:
    try:
        return Demo(**json.loads(path.read_text()))
    except (OSError, ValueError, TypeError):
        return None


def _was_made(demo: Demo) -> bool:
    """Return whether the rows were ever committed to this database: a key or the user of them is still there."""
    has_key = ApiKey.objects.filter(digest=digest_of(demo.api_key)).exists()
    return has_key or User.objects.filter(username=demo.admin_user).exists()


@transaction.atomic
def _make(path: Path) -> Demo:
    password = secrets.token_urlsafe(PASSWORD_BYTES)
    user = User.objects.filter(username=USER_NAME).first()
    if user is None:
        user = User.objects.create_superuser(USER_NAME, password=password)
    else:
        password = ""  # not ours to know: somebody chose it, or its file is gone
    new = _make_project(user)
    demo = Demo(
        project=new.project.pk,
        api_key=new.api_key,
        secret_key=new.secret_key,
        webhook_secret=new.webhook_secret,
        admin_user=USER_NAME,
        admin_password=password,
    )
    save(path, demo)
    return demo


def _make_project(user: User) -> NewProject:
    """Make a test project with both providers and the sandbox on every channel. One that is there already only gets
    further keys.
    """
    project = Project.objects.filter(name=PROJECT_NAME).first()
    if project is not None:
        Membership.objects.get_or_create(project=project, user=user)
        return create_first_keys(project, by=user)
    new = create_project(name=PROJECT_NAME, owner=user, is_sandbox=True)
    for channel in ChannelType.values:
        for provider_type, name, priority, values in PROVIDERS:
            add_provider(
                project=new.project,
                channel=channel,
                provider_type=provider_type,
                name=name,
                values=values,
                priority=priority,
            )
    add_sandbox(new.project)
    new.project.events = list(EventType.values)  # so that `listen` shows what happens
    new.project.save(update_fields=["events"])
    return new


def save(path: Path, demo: Demo) -> None:
    """Write the file whole or not at all, and have it on the disk before the rows are committed."""
    draft = path.with_suffix(".draft")
    draft.unlink(missing_ok=True)
    with open(draft, "x", opener=lambda name, flags: os.open(name, flags, 0o600)) as file:
        file.write(json.dumps(asdict(demo), indent=2) + "\n")
        file.flush()
        os.fsync(file.fileno())
    draft.replace(path)


def _still_true(demo: Demo) -> Demo:
    live = {
        bytes(digest)
        for digest in ApiKey.objects.live()
        .filter(project__is_enabled=True, digest__in=[digest_of(demo.api_key), digest_of(demo.secret_key)])
        .values_list("digest", flat=True)
    }
    user = User.objects.filter(username=demo.admin_user, is_active=True).first()
    return replace(
        demo,
        api_key=demo.api_key if digest_of(demo.api_key) in live else "",
        secret_key=demo.secret_key if digest_of(demo.secret_key) in live else "",
        admin_user=demo.admin_user if user else "",
        admin_password=demo.admin_password if user and user.check_password(demo.admin_password) else "",
    )
