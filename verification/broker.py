"""The wake-up line from web processes to workers: dramatiq on Valkey, with a consumer that waits instead of polling.

The stock consumer sleeps up to a second between looks at an idle queue. Ours blocks on a list that every enqueue
pushes to, so that a code leaves milliseconds after its commit. The broker is a hint: what it loses, the sweep finds.
"""

from __future__ import annotations

import time
from typing import Any

import dramatiq
import redis
from django.conf import settings
from django.db import close_old_connections, connections
from dramatiq.brokers import redis as stock
from dramatiq.errors import ConnectionClosed
from redis.exceptions import RedisError

WAKE_LIST_LENGTH = 64  # more wake-ups than a process has idle threads need not be remembered
FULL_SECONDS = 0.005  # how long a consumer with no room looks away
NAMESPACE = "watchword"


class WakingConsumer(stock._RedisConsumer):  # dramatiq's internals: requirements pin the release
    def __next__(self) -> Any:
        if self.message_cache or self.queue_name.endswith(".DQ"):
            return super().__next__()
        room = self.prefetch - self.outstanding_message_count
        if room <= 0:
            time.sleep(FULL_SECONDS)
            return None
        try:
            self.message_cache = self.broker.do_fetch(self.queue_name, room)
            if not self.message_cache:
                self.broker.wait_for_wake(self.queue_name, seconds=max(1.0, self.timeout / 1000))
                self.message_cache = self.broker.do_fetch(self.queue_name, room)
        except RedisError as error:
            raise ConnectionClosed(error) from None
        return super().__next__() if self.message_cache else None


class WakingBroker(stock.RedisBroker):
    """``client`` has short time-outs; ``patient_client`` may block for as long as a consumer waits."""

    def __init__(self, *, client: redis.Redis, patient_client: redis.Redis, **options: Any) -> None:
        super().__init__(client=client, **options)
        self.patient_client = patient_client

    @property
    def consumer_class(self) -> type[WakingConsumer]:
        return WakingConsumer

    def enqueue(self, message: dramatiq.Message[Any], *, delay: int | None = None) -> dramatiq.Message[Any]:
        enqueued = super().enqueue(message, delay=delay)
        wake_list = self._wake_list(message.queue_name)
        pipeline = self.client.pipeline(transaction=False)
        pipeline.rpush(wake_list, b"1")
        pipeline.ltrim(wake_list, -WAKE_LIST_LENGTH, -1)
        pipeline.execute()
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
        patient_client=redis.Redis.from_url(settings.BROKER_URL, socket_connect_timeout=seconds),
        namespace=NAMESPACE,
        middleware=[DatabaseConnections()],
    )
