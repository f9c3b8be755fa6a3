"""Puts the functions of this folder into the database, and the triggers that watch for the audit log."""

from functools import partial
from pathlib import Path
from typing import Any

from django.apps import AppConfig
from django.db import connections, transaction
from django.db.models.signals import post_migrate

from verification.sql.watching import triggers

FOLDER = Path(__file__).parent
INSTALL_LOCK = 7_294_001  # an advisory lock of our own: two installers at once would trip over each other


def after_every_migrate(app: AppConfig, *, watched: dict[str, Any]) -> None:
    post_migrate.connect(partial(_install, watched), sender=app, weak=False, dispatch_uid="verification.sql.install")


def _install(watched: dict[str, Any], *, using: str, **_: Any) -> None:
    with transaction.atomic(using=using), connections[using].cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s)", [INSTALL_LOCK])
        for path in sorted(FOLDER.glob("*.sql")):
            cursor.execute(path.read_text())
        cursor.execute(triggers(watched))
