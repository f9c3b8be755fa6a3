"""The wake-up line from web processes to workers: a list in Valkey, at which idle workers wait.

dramatiq gives the worker threads, the actors, and the interfaces of broker and consumer. Its own Redis broker never
loses a message: each costs acknowledgements, heartbeats and a script in the server. Its idle consumers look now and
then. With 50 ms between two looks at most, a code took 18 ms longer to its provider (median), and with 15 ms 3.5 ms
longer for nearly three times the idle CPU (``benchmarks.wakeup``).

A wake-up here is a hint: the sweep finds the row of a lost one. So a wake-up is pushed and popped, and no more. An
idle worker blocks at the list, and so has a wake-up at once. No caller waits long for a broker that is away. A queue
that no worker reads is cut before it fills the memory.
"""

from __future__ import annotations

import logging
import time
from collections import deque
from collections.abc import Iterable
from contextlib import suppress
from typing import Any

import dramatiq
import redis
from django.conf import settings
from django.db import close_old_connections, connections
from redis.backoff import NoBackoff
from redis.exceptions import RedisError
from redis.retry import Retry

from verification.core import process_figures, valkey

log = logging.getLogger(__name__)

NAMESPACE = "watchword"
# The queues: for messages, for those handed over to connections workers, and for what users do in bots.
MESSAGES, CONNECTIONS, BOTS = "messages", "connections", "bots"
KNOCK = "knock"  # a queue that tells whether the broker takes what is pushed
# Wake-ups in one queue. More wait only if no worker runs, or far too few; the oldest are then dropped, and the sweep
# finds their messages.
MAX_WAITING = 10_000
FULL_SECONDS = 0.005  # how long a consumer without room pauses before it looks again.
AWAY_SECONDS = 1.0  # how long a consumer waits after the broker did not answer.
PATIENCE_SECONDS = 5.0  # longer than a consumer ever blocks at the list; a broker that is silent for longer is gone


class ListConsumer(dramatiq.Consumer):
    """Pops as many wake-ups at once as it has room for, and blocks at the list while there are none."""

    def __init__(self, broker: ListBroker, queue_name: str, *, prefetch: int, seconds: float) -> None:
        self.broker, self.queue_name, self.prefetch, self.seconds = broker, queue_name, prefetch, seconds
        self.popped: deque[bytes] = deque()
        self.in_progress: set[str] = set()
        self.is_away = False

    def __next__(self) -> dramatiq.MessageProxy | None:
        if not self.popped:
            room = self.prefetch - len(self.in_progress)
            if room < max(1, self.prefetch // 4):  # under load, popping several at once costs less
                time.sleep(FULL_SECONDS)
                return None
            try:
                self.popped.extend(self.broker.pop(self.queue_name, room, seconds=self.seconds))
                self._note(is_away=False)
            except RedisError as error:
                self._note(is_away=True, why=valkey.reason(error))
                time.sleep(AWAY_SECONDS)
            if not self.popped:
                return None
        message = dramatiq.Message.decode(self.popped.popleft())
        self.in_progress.add(message.message_id)
        return dramatiq.MessageProxy(message)

    def ack(self, message: dramatiq.MessageProxy) -> None:
        self.in_progress.discard(message.message_id)

    nack = ack

    def requeue(self, messages: Iterable[dramatiq.MessageProxy]) -> None:
        self._put_back([message.encode() for message in messages])

    def close(self) -> None:
        self._put_back(list(self.popped))
        self.popped.clear()

    def _put_back(self, wakeups: list[bytes]) -> None:
        if wakeups:
            with suppress(RedisError):  # the sweep finds their rows
                self.broker.push(self.queue_name, wakeups)

    def _note(self, *, is_away: bool, why: str = "") -> None:
        if is_away and not self.is_away:
            log.warning("The broker hands out no wake-ups: %s. The workers' sweep delivers the messages.", why)
        if self.is_away and not is_away:
            log.info("The broker hands out wake-ups again.")
        self.is_away = is_away


class ListBroker(dramatiq.Broker):
    """The broker. A push fails after ``timeout`` seconds without an answer."""

    def __init__(self, url: str, *, timeout: float, middleware: list[dramatiq.Middleware]) -> None:
        super().__init__(middleware=middleware)
        again = Retry(NoBackoff(), 1, (redis.ConnectionError,))  # a connection of the pool may have been closed
        self.client = redis.Redis(
            connection_pool=valkey.pool(url, socket_timeout=timeout, socket_connect_timeout=timeout, retry=again)
        )
        self.patient_client = redis.Redis(
            connection_pool=valkey.pool(url, socket_timeout=PATIENCE_SECONDS, socket_connect_timeout=timeout)
        )

    def wake(self, queue_name: str, message_id: int) -> None:
        """Push one message's id for the actor that is named as the queue. Raises redis' errors."""
        self.enqueue(
            dramatiq.Message(queue_name=queue_name, actor_name=queue_name, args=(message_id,), kwargs={}, options={})
        )

    def enqueue(self, message: dramatiq.Message[Any], *, delay: int | None = None) -> dramatiq.Message[Any]:
        """Push a wake-up, at once: what is due later is a row that says so. Raises redis' errors."""
        self.push(message.queue_name, [message.encode()])
        return message

    def push(self, queue_name: str, wakeups: list[bytes]) -> None:
        if int(self.client.rpush(self._key(queue_name), *wakeups)) > MAX_WAITING:
            self.client.ltrim(self._key(queue_name), -MAX_WAITING, -1)

    def pop(self, queue_name: str, count: int, *, seconds: float) -> list[bytes]:
        """Return up to ``count`` wake-ups as soon as there is one, or none after ``seconds`` without."""
        found: Any = self.patient_client.blmpop(seconds, 1, self._key(queue_name), direction="LEFT", count=count)
        return found[1] if found else []

    def consume(self, queue_name: str, prefetch: int = 1, timeout: int = 1000) -> ListConsumer:
        return ListConsumer(self, queue_name, prefetch=prefetch, seconds=timeout / 1000)

    def declare_queue(self, queue_name: str) -> None:
        if queue_name not in self.queues:
            self.emit_before("declare_queue", queue_name)
            self.queues[queue_name] = None
            self.emit_after("declare_queue", queue_name)

    def length(self, queue_name: str) -> int:
        """Return the number of wake-ups that wait. Raises redis' errors."""
        return int(self.client.llen(self._key(queue_name)))

    def knock(self) -> None:
        """Write as a wake-up is written, to a list that nobody reads. Raises redis' errors."""
        self.push(KNOCK, [b""])

    def flush(self, queue_name: str) -> None:
        self.client.delete(self._key(queue_name))

    def _key(self, queue_name: str) -> str:
        return f"{NAMESPACE}:wake:{queue_name}"


class DatabaseConnections(dramatiq.Middleware):
    """Lets worker threads keep their database connections, drop broken ones, and close them when they end."""

    def after_process_message(self, broker: dramatiq.Broker, message: dramatiq.MessageProxy, **_: Any) -> None:
        close_old_connections()

    after_skip_message = after_process_message

    def before_worker_thread_shutdown(self, broker: dramatiq.Broker, thread: object) -> None:
        connections.close_all()


class ThreadFigures(dramatiq.Middleware):
    """Counts for the metrics how long wake-ups waited for a thread, and how many threads deliver."""

    def __init__(self, use: process_figures.ThreadUse) -> None:
        self.use = use

    def before_process_message(self, broker: dramatiq.Broker, message: dramatiq.MessageProxy) -> None:
        process_figures.count_wait_of_wake_up(message.message_timestamp)
        self.use.begin()

    def after_process_message(self, broker: dramatiq.Broker, message: dramatiq.MessageProxy, **_: Any) -> None:
        self.use.end()

    after_skip_message = after_process_message


# The broker of this process. It has no retries and no results: the message rows keep both.
broker = ListBroker(settings.BROKER_URL, timeout=settings.REDIS_TIMEOUT_SECONDS, middleware=[DatabaseConnections()])
