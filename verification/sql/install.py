"""Puts the functions of this folder into the database, and the triggers that watch for the audit log."""

from functools import partial
from pathlib import Path
from typing import Any

from django.apps import AppConfig
from django.db import connections, transaction
from django.db.models.signals import post_migrate

from verification.sql.watching import triggers

FOLDER = Path(__file__).parent
# These functions look up a few rows by their keys, and a request or a delivery waits for them. PostgreSQL plans each
# once per connection. While the tables are small, it prefers to read them whole, or to read all due rows and sort them.
# It keeps such a plan until their next ANALYZE, however they have grown: on a new installation a claim took more than
# ten times as long. So sequential scans and sorts are priced out. Some are made all the same, such as of a table of one
# row. Before PostgreSQL 18 their price would make the plan look worth compiling, so JIT is off.
BY_KEY = (
    "claim_events_to_tell",
    "claim_fallback",
    "claim_handed_fallback",
    "claim_messages",
    "claim_updates",
    "close_session",
    "close_unconfirmed",
    "events_to_tell",
    "expire_messages",
    "find_events",
    "find_reported",
    "find_session",
    "finish_message",
    "hand_over",
    "is_any_under_way",
    "is_still_wanted",
    "judge_stranger",
    "messages_under_way",
    "note_refused_session",
    "open_session",
    "provider_paces",
    "queue_handed_code",
    "queue_manual_message",
    "redeem_verify_token",
    "report_verified",
    "send_code",
    "spend_attempt",
    "store_updates",
    "strangers_wrong_codes",
    "take_receipt",
    "view_channels",
    "wipe_codes",
)
AVOIDED = ("enable_seqscan", "enable_bitmapscan", "enable_sort", "enable_mergejoin", "enable_hashjoin", "jit")
# With their parameters: a name may have several functions in a database that was migrated before the first release.
OF_NAMES = """
SELECT oid::regprocedure::text FROM pg_proc
WHERE pronamespace = current_schema()::regnamespace AND proname = ANY (%s)
"""

INSTALL_LOCK = 7_294_001  # an advisory lock of our own: two installers at once would trip over each other


def after_every_migrate(app: AppConfig, *, watched: dict[str, Any]) -> None:
    post_migrate.connect(partial(_install, watched), sender=app, weak=False, dispatch_uid="verification.sql.install")


def _install(watched: dict[str, Any], *, using: str, **_: Any) -> None:
    with transaction.atomic(using=using), connections[using].cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s)", [INSTALL_LOCK])
        for path in sorted(FOLDER.rglob("*.sql"), key=lambda path: path.name):
            cursor.execute(path.read_text())
        cursor.execute(OF_NAMES, [list(BY_KEY)])
        for (function,) in cursor.fetchall():
            cursor.execute(f"ALTER FUNCTION {function} {' '.join(f'SET {option} = off' for option in AVOIDED)}")
        cursor.execute(triggers(watched))
