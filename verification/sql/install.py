"""Puts the functions of this folder into the database, and the triggers that watch for the audit log."""

from functools import partial
from pathlib import Path
from typing import Any

from django.apps import AppConfig
from django.db import connections, transaction
from django.db.models.signals import post_migrate

from verification.sql.watching import triggers

FOLDER = Path(__file__).parent
# What a request or a delivery waits for looks up a few rows by their keys. PostgreSQL plans it once per connection;
# while the tables are small, reading them whole looks cheaper, and such a plan is kept until their next ANALYZE,
# however they have grown. So is the reading of all that waits, to sort it, where an index has it in order. On a new
# installation a claim took more than ten times as long. Before PostgreSQL 18 what is done all the same, such as reading
# a table of a single row, would then look dear enough to compile the plan.
BY_KEY = (
    "claim_callbacks",
    "claim_fallback",
    "claim_messages",
    "claim_updates",
    "close_unconfirmed",
    "expire_messages",
    "find_reported",
    "find_session",
    "finish_message",
    "hand_over",
    "is_still_wanted",
    "judge_stranger",
    "open_session",
    "provider_paces",
    "queue_manual_message",
    "redeem_token",
    "send_code",
    "spend_attempt",
    "store_updates",
    "strangers_wrong_codes",
    "take_receipt",
    "view_channels",
    "wipe_codes",
)
AVOIDED = ("enable_seqscan", "enable_bitmapscan", "enable_sort", "enable_mergejoin", "enable_hashjoin", "jit")

INSTALL_LOCK = 7_294_001  # an advisory lock of our own: two installers at once would trip over each other


def after_every_migrate(app: AppConfig, *, watched: dict[str, Any]) -> None:
    post_migrate.connect(partial(_install, watched), sender=app, weak=False, dispatch_uid="verification.sql.install")


def _install(watched: dict[str, Any], *, using: str, **_: Any) -> None:
    with transaction.atomic(using=using), connections[using].cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s)", [INSTALL_LOCK])
        for path in sorted(FOLDER.rglob("*.sql"), key=lambda path: path.name):
            cursor.execute(path.read_text())
        for function in BY_KEY:
            cursor.execute(f"ALTER FUNCTION {function} {' '.join(f'SET {option} = off' for option in AVOIDED)}")
        cursor.execute(triggers(watched))
