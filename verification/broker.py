"""The wake-up line from web processes to workers: dramatiq on Valkey, with a consumer that waits instead of polling.

The stock consumer sleeps up to a second between looks at an idle queue. Ours blocks on a list that every enqueue
pushes to, so that a code leaves milliseconds after its commit. The broker is a hint: what it loses, the sweep finds.
So nobody waits for a broker that is away, and a queue that no worker reads is dropped before it fills the memory.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable
from contextlib import suppress
from typing import Any

import dramatiq
import redis
from django.conf import settings
from django.db import close_old_connections, connections
from dramatiq.brokers import redis as stock
from dramatiq.errors import ConnectionClosed
from redis.exceptions import RedisError

log = logging.getLogger(__name__)

NAMESPACE = "watchword"
WAKE_LIST_LENGTH = 64  # more wake-ups than a process has idle threads need not be remembered
MAX_WAITING = 10_000  # so many wait only where no worker runs, or too few by far
FULL_SECONDS = 0.005  # how long a consumer with no room looks away
AWAY_SECONDS = 1.0  # how long a consumer leaves a broker alone that did not answer
PATIENCE_SECONDS = 5.0  # more than a consumer ever blocks; a broker silent for longer is gone


class WakingConsumer(stock._RedisConsumer):  # dramatiq's internals: requirements pin the release
    is_away = False

    def __next__(self) -> Any:
        if not self.message_cache:
            room = self.prefetch - self.outstanding_message_count
            if room < max(1, self.prefetch // 4):  # under load a few at a time cost less than one by one
                time.sleep(FULL_SECONDS)
                return None
            try:
                self.message_cache = self._fetch(room)
                self._note(is_away=False)
            except RedisError:
                self._note(is_away=True)
                time.sleep(AWAY_SECONDS)
        return super().__next__() if self.message_cache else None

    def ack(self, message: dramatiq.MessageProxy) -> None:
        # Not worth a second try, in which the thread would be stuck: who is woken again finds nothing to do.
        with suppress(RedisError, ConnectionClosed):
            super().ack(message)

    def requeue(self, messages: Iterable[dramatiq.MessageProxy]) -> None:
        with suppress(RedisError):  # as above; the sweep finds their rows
            super().requeue(messages)

    def _fetch(self, room: int) -> Any:
        fetched = self.broker.do_fetch(self.queue_name, room)
        if not fetched:
            self.broker.wait_for_wake(self.queue_name, seconds=max(1.0, self.timeout / 1000))
            fetched = self.broker.do_fetch(self.queue_name, room)
        return fetched

    def _note(self, *, is_away: bool) -> None:
        if is_away and not self.is_away:
            log.warning("The broker is away; messages go out with the sweep.")
        if self.is_away and not is_away:
            log.info("The broker is back.")
        self.is_away = is_away


class WakingBroker(stock.RedisBroker):
    """``client`` has short time-outs; ``patient_client`` may block for as long as a consumer waits."""

    def __init__(self, *, client: redis.Redis, patient_client: redis.Redis, **options: Any) -> None:
        super().__init__(client=client, **options)
        self.patient_client = patient_client

    @property
    def consumer_class(self) -> type[WakingConsumer]:
        return WakingConsumer

    def declare_queue(self, queue_name: str) -> None:
        """As the stock broker's, but without the queue for delayed messages: we have none, and it is polled."""
        if queue_name not in self.queues:
            self.emit_before("declare_queue", queue_name)
            self.queues.add(queue_name)
            self.emit_after("declare_queue", queue_name)

    def enqueue(self, message: dramatiq.Message[Any], *, delay: int | None = None) -> dramatiq.Message[Any]:
        enqueued = super().enqueue(message, delay=delay)
        wake_list = self._wake_list(message.queue_name)
        pipeline = self.client.pipeline(transaction=False)
        pipeline.rpush(wake_list, b"1")
        pipeline.ltrim(wake_list, -WAKE_LIST_LENGTH, -1)
        pipeline.llen(f"{self.namespace}:{message.queue_name}")
        *_, waiting = pipeline.execute()
        if waiting > MAX_WAITING:
            self.flush(message.queue_name)
        return enqueued

    def wait_for_wake(self, queue_name: str, *, seconds: float) -> None:
        self.patient_client.blpop([self._wake_list(queue_name)], timeout=seconds)

    def _wake_list(self, queue_name: str) -> str:
        return f"{self.namespace}:wake:{queue_name}"


class DatabaseConnections(dramatiq.Middleware):
    """Worker threads keep their connections, but not broken ones, and close them when they end."""

    def before_process_message(self, broker: dramatiq.Broker, message: dramatiq.MessageProxy) -> None:
        close_old_connections()

    def before_worker_thread_shutdown(self, broker: dramatiq.Broker, thread: object) -> None:
        connections.close_all()


def make_broker() -> WakingBroker:
    """The broker of this process. No retries, no results: the message rows own all of that."""
    seconds = settings.REDIS_TIMEOUT_SECONDS
    return WakingBroker(
        client=redis.Redis.from_url(settings.BROKER_URL, socket_timeout=seconds, socket_connect_timeout=seconds),
        patient_client=redis.Redis.from_url(
            settings.BROKER_URL, socket_timeout=PATIENCE_SECONDS, socket_connect_timeout=seconds
        ),
        namespace=NAMESPACE,
        middleware=[DatabaseConnections()],
    )
