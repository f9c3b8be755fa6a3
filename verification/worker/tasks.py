"""The actors that a wake-up calls. Each is one line over a service, takes an id, and may run twice."""

import logging

import dramatiq

from verification import sql
from verification.services.delivery import dispatch, record
from verification.services.records import faults
from verification.worker.broker import CONNECTIONS, MESSAGES, broker

log = logging.getLogger(__name__)


@dramatiq.actor(queue_name=MESSAGES, actor_name=MESSAGES, broker=broker)
def deliver_message(message_id: int) -> None:
    _deliver(message_id)


@dramatiq.actor(queue_name=CONNECTIONS, actor_name=CONNECTIONS, broker=broker)
def deliver_connected(message_id: int) -> None:
    _deliver(message_id, is_connected=True)


def _deliver(message_id: int, *, is_connected: bool = False) -> None:
    try:
        dispatch.deliver(message_id, is_connected=is_connected)
    except Exception as error:  # the row's lease ends, and the sweep delivers it
        faults.heed(error)
        fields = {"message_id": message_id, "request_id": record.request_of(message_id) or None}
        log.error("delivery failed", extra=fields | {"error": sql.reason(error)})
