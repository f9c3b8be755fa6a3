"""Puts the functions of this folder into the database."""

from pathlib import Path
from typing import Any

from django.apps import AppConfig
from django.db import connections, transaction
from django.db.models.signals import post_migrate

FOLDER = Path(__file__).parent
INSTALL_LOCK = 7_294_001  # an advisory lock of our own: two installers at once would trip over each other


def after_every_migrate(app: AppConfig) -> None:
    post_migrate.connect(_install, sender=app, dispatch_uid="verification.sql.install")


def _install(*, using: str, plan: Any = None, **_: Any) -> None:
    with transaction.atomic(using=using), connections[using].cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s)", [INSTALL_LOCK])
        for path in sorted(FOLDER.glob("*.sql")):
            cursor.execute(path.read_text())
