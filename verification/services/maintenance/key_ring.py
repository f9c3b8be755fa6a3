"""Whether the ring of encryption keys is this database's. A process with another ring neither starts nor is ready.

The newest secret of each column that lasts is looked at, by the id of its key, which is the hash of the key itself. One
that is in the ring is enough: of a ring that lacks an older key the doctor tells, and other providers still send. Where
nothing is stored yet, every ring fits.
"""

from __future__ import annotations

from django.db import DEFAULT_DB_ALIAS, DatabaseError, InterfaceError, connections
from django.db.backends.base.base import BaseDatabaseWrapper
from psycopg import sql

from verification.core import crypto
from verification.core.caching import FreshCache
from verification.services.maintenance.reencryption import COLUMNS, SHORT_LIVED

REFUSED = (
    "ENCRYPTION_KEYS cannot decrypt any secret of this database: the keys belong to another installation, or were "
    "replaced. Give this process the keys that the others have."
)
CONNECT_SECONDS = 3  # the wait for the database at a start, which must not hang where that is away
ASK_AGAIN_SECONDS = 60.0  # between two looks of a process that runs: only a restored database changes the answer
_NEWEST = sql.SQL(
    "(SELECT substring({column} FROM {start} FOR {length}) FROM {table}"
    " WHERE {column} IS NOT NULL ORDER BY {pk} DESC LIMIT 1)"
)

_fits: FreshCache[str, bool] = FreshCache(fresh_seconds=ASK_AGAIN_SECONDS)


def refusal() -> str:
    """Return in one sentence why the ring does not fit; empty if it does. Raises Django's database errors."""
    return "" if _fits.get("", lambda: _opens(connections[DEFAULT_DB_ALIAS])) else REFUSED


def refusal_at_start() -> str:
    """Return the same, over a connection of its own; empty if the database is away or not migrated yet."""
    looking = connections[DEFAULT_DB_ALIAS].copy()
    looking.settings_dict["OPTIONS"] = {**looking.settings_dict["OPTIONS"], "connect_timeout": CONNECT_SECONDS}
    try:
        return "" if _opens(looking) else REFUSED
    except (DatabaseError, InterfaceError):
        return ""
    finally:
        looking.close()


def _opens(connection: BaseDatabaseWrapper) -> bool:
    newest: list[sql.Composed] = [
        _NEWEST.format(
            column=sql.Identifier(each.column),
            start=crypto.KEY_ID_FROM + 1,  # PostgreSQL counts from one
            length=crypto.KEY_ID_BYTES,
            table=sql.Identifier(each.model._meta.db_table),
            pk=sql.Identifier(str(each.model._meta.pk.column)),
        )
        for each in COLUMNS
        if each.model not in SHORT_LIVED
    ]
    with connection.cursor() as cursor:
        cursor.execute(sql.SQL(" UNION ").join(newest))
        found = {bytes(key_id) for (key_id,) in cursor.fetchall() if key_id is not None}
    return not found or not found.isdisjoint(crypto.key_ids())
