"""What workers do when they are woken. Each is a line over a service, takes an id, and may run twice."""

import logging

import dramatiq

from verification.broker import make_broker
from verification.services import dispatch

log = logging.getLogger(__name__)

broker = make_broker()
dramatiq.set_broker(broker)


@dramatiq.actor(queue_name="messages", broker=broker)
def deliver_message(message_id: int) -> None:
    try:
        dispatch.deliver(message_id)
    except Exception as error:  # the row is still there, and its lease ends; the sweep takes it from here
        log.error("message %s: delivery failed with %s", message_id, type(error).__name__)
