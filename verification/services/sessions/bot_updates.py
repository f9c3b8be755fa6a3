"""Updates of bots: each tells what a user did in a chat. A row keeps it until a worker has acted on it.

The messenger's call is answered once the row is written. Workers speak in chats, in threads of their own, so a
messenger that does not answer holds no request. A worker marks a row after it has acted on it. If the worker dies
before, another acts on the row again, which changes nothing that was done.
"""

from __future__ import annotations

import logging
import uuid
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from providers.base import BotEvent, BotMessage, BotReachability, BotStarted, ContactShared
from verification import sql
from verification.core.errors import ApiError
from verification.models import BotUpdate, Provider
from verification.services.sessions import subscriptions
from verification.sql.rows import ClaimedUpdate
from verification.worker import wake

log = logging.getLogger(__name__)

# Seconds for which one worker has an update to itself: longer than three answers in chats may take, the most that an
# update leads to.
LEASE_SECONDS = 30
PER_PROJECT = 2  # updates of one project's bots that a worker handles at a time
MAX_TRIES = 5  # claims of an update; one whose handling failed as often is given up
MAX_WAITING = 300  # waiting updates of one bot. The messenger keeps and repeats what we refuse beyond.
RETRY_SECONDS = 1  # wait that a refused messenger is told

_EVENTS = {event.__name__: event for event in (BotMessage, BotReachability, BotStarted, ContactShared)}


def store(provider: Provider, events: Sequence[BotEvent], *, key: str) -> None:
    """Keep the events of a genuine call, and wake a worker. An event that was told before is not kept again.

    ``key`` is the messenger's own name for the call, empty where it has none. Raises ``service_unavailable`` where too
    many of the bot's updates wait.
    """
    key = key[:180] or uuid.uuid4().hex
    kept = sql.call(
        "store_updates",
        provider=provider.pk,
        max=MAX_WAITING,
        keys=[f"{key} {number}" if number else key for number in range(len(events))],
        accounts=[event.account_id for event in events],
        events=sql.Jsonb([{"type": type(event).__name__, **asdict(event)} for event in events]),
    )
    if not kept.is_kept:
        raise ApiError("service_unavailable", "Too many updates of this bot wait.", retry_after=RETRY_SECONDS)
    wake.wake_bots()


def claim_due(*, limit: int, busy: Sequence[int] = ()) -> list[ClaimedUpdate]:
    """Claim updates that are due, at most ``PER_PROJECT`` under way for each project.

    ``busy`` names the project of each update that this process handles now; 0 stands for the system's bots.
    """
    return sql.call_many(
        ClaimedUpdate,
        "claim_updates",
        limit=limit,
        per_project=PER_PROJECT,
        busy=list(busy),
        lease_seconds=LEASE_SECONDS,
    )


def act(row: ClaimedUpdate) -> None:
    """Act on a claimed update (a row of ``claim_updates``), and mark it. If that fails, it is claimed again later."""
    claimed = BotUpdate.objects.filter(pk=row.update_id, tries=row.tries, due_at__isnull=False)
    update = claimed.select_related("provider__project").first()
    if update is None:
        return
    if row.tries > MAX_TRIES:
        log.error("An update of %s failed after %s tries; no more retries.", update.provider.name, MAX_TRIES)
    else:
        subscriptions.act_on(update.provider, _read(update.event))
    claimed.update(due_at=None, event=None, account_id="")


def act_on_all() -> int:
    """Act on everything that is due, one after the other. Return the number of updates."""
    acted = 0
    while claimed := claim_due(limit=1):
        act(claimed[0])
        acted += 1
    return acted


def _read(event: Any) -> BotEvent:
    fields = dict(event)
    return _EVENTS[fields.pop("type")](**fields)
