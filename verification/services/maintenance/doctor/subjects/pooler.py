"""A pooler between us and PostgreSQL: its mode, against DATABASE_POOLER. A system check looks at the limits."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from typing import Any

from django.conf import settings
from django.db import DatabaseError, InterfaceError, connection

from verification.services.maintenance.doctor.findings import Aims, Finding, critical, note, warning

LOOKS = 20  # transactions of each of two connections. In transaction mode the two surely meet in one session
SHARED = "DATABASE_POOLER=transaction for every process, as docs/operate.md says."


def mode_is_as_set(aims: Aims) -> Iterator[Finding]:
    """Compare DATABASE_POOLER with what two connections see of each other, and of the server's processes."""
    own: Any = connection
    own.ensure_connection()
    is_set = settings.DATABASE_POOLER != "none"
    if not is_between(own):
        if is_set:
            yield note(
                "pooler-not-there",
                "DATABASE_POOLER is transaction, but DATABASE_URL connects to PostgreSQL directly.",
                "Remove DATABASE_POOLER: Watchword then prepares statements, which is faster.",
            )
        return
    if not has_transactions(own):
        yield critical(
            "pooler-by-statement",
            "The pooler may use another session for each statement (pool_mode = statement), so transactions "
            "do not work.",
            "Set pool_mode = transaction in pgbouncer.ini.",
        )
        return
    is_shared = shares_sessions(own)
    if is_shared and not is_set:
        yield critical(
            "pooler-not-set",
            "A pooler in transaction mode sits in front of PostgreSQL, and DATABASE_POOLER does not say so.",
            f"Set {SHARED}",
        )
    elif is_set and not is_shared:
        yield warning(
            "pooler-by-session",
            "The pooler keeps one session per connection (pool_mode = session), so it saves none.",
            "Set pool_mode = transaction in pgbouncer.ini, or connect to PostgreSQL directly.",
        )


def is_between(own: Any) -> bool:
    """Return whether a pooler answers: it tells each client a made-up number in place of the server's process."""
    return bool(own.connection.info.backend_pid != process_of(own))


def has_transactions(own: Any) -> bool:
    with closing(own.copy()) as other:
        try:
            other.set_autocommit(False)
            process_of(other)
            process_of(other)
        except (DatabaseError, InterfaceError):
            return False
    return True


def shares_sessions(own: Any) -> bool:
    """Return whether two connections that are open at once meet in one session of the server."""
    with closing(own.copy()) as one, closing(own.copy()) as other:
        seen: tuple[set[int], set[int]] = (set(), set())
        for _ in range(LOOKS):
            seen[0].add(process_of(one))
            seen[1].add(process_of(other))
            if seen[0] & seen[1]:
                return True
    return False


def process_of(connected: Any) -> int:
    with connected.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        found: int = cursor.fetchone()[0]
    return found


CHECKS = (mode_is_as_set,)
