"""Wake a worker for a row that is written. This is a hint: if it is lost, the sweep finds the row within a second."""

from __future__ import annotations

import logging

from django.db import transaction
from redis.exceptions import RedisError

from verification.core import valkey
from verification.core.caching import Breaker, LastReason
from verification.worker.broker import BOTS, CONNECTIONS, MESSAGES, broker

log = logging.getLogger(__name__)

AWAY_SECONDS = 1.0  # how long the broker is left alone after it took no wake-up
_away = Breaker(seconds=AWAY_SECONDS)
_failure = LastReason()


def wake(message_id: int) -> None:
    """Wake a worker once the current transaction, if any, is committed. Never raises."""
    transaction.on_commit(lambda: _send(MESSAGES, message_id))


def wake_connected(message_id: int) -> None:
    """Wake a worker that holds connections, once the current transaction, if any, is committed. Never raises."""
    transaction.on_commit(lambda: _send(CONNECTIONS, message_id))


def wake_bots() -> None:
    """Have a worker look for bot updates, once the current transaction, if any, is committed. Never raises."""
    transaction.on_commit(lambda: _send(BOTS, 0))


def _send(queue: str, message_id: int) -> None:
    if not _away.allow():
        return
    try:
        broker.wake(queue, message_id)
    except RedisError as error:
        _away.record_failure()
        if _failure.changes_to(reason := valkey.reason(error)):
            log.warning("The broker rejects wake-ups: %s. The workers' sweep delivers the messages.", reason)
    else:
        _away.record_success()
        if _failure.changes_to(""):
            log.info("The broker accepts wake-ups again.")
