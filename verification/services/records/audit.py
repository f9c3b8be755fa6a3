"""The audit log: the name of the actor, and the lines that no change of a row writes.

Such lines are logins, looks at a secret, and resets.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.db import connection, transaction
from django.db.models import Model

from verification.models import AuditEntry, Project

_WRITES = ("INSERT", "UPDATE", "DELETE")


@dataclass(frozen=True, slots=True)
class Actor:
    who: str
    address: str | None


_actor: ContextVar[Actor | None] = ContextVar("actor", default=None)


@contextmanager
def acting(who: str, address: str | None) -> Iterator[None]:
    """Put on record as done by ``who`` whatever this thread writes through the ORM within the context.

    Outside of it the process is named: ``command: purge``, or ``watchword`` for the service itself.
    """
    token = _actor.set(Actor(who, address))
    try:
        with connection.execute_wrapper(_name_actor):
            yield
    finally:
        _actor.reset(token)


def record(
    action: str, *, row: Model | None = None, project: Project | None = None, label: str = "", who: str = ""
) -> None:
    """Add a line to the log. ``who`` is given where the line is about somebody other than the actor, as at a login."""
    actor = _actor.get() or Actor(settings.PROCESS_NAME, None)
    AuditEntry.objects.create(
        action=action[:200],
        who=(who or actor.who)[:150],
        address=actor.address,
        project=project,
        object_type=row._meta.label_lower if row else "",
        object_id=str(row.pk) if row else "",
        object_label=label[:255],
    )


def _name_actor(execute: Callable[..., Any], statement: str, params: Any, many: bool, context: Any) -> Any:
    """Tell the trigger who acts, in the transaction of the write.

    A pooler may give the next transaction another connection.
    """
    actor = _actor.get()
    if actor is None or not statement.startswith(_WRITES):
        return execute(statement, params, many, context)
    with transaction.atomic(savepoint=False), connection.cursor() as cursor:
        cursor.execute(
            "SELECT set_config('watchword.who', %s, true), set_config('watchword.address', %s, true)",
            [actor.who, actor.address or ""],
        )
        return execute(statement, params, many, context)
